"""How Sphinx builds the site. tools/make_site.py puts the sources together and runs Sphinx; why: docs/adr/0024."""

import os

import symgrove

project = "symgrove"
author = "the symgrove developers"
copyright = author  # the name that Sphinx reads
release = version = symgrove.__version__
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_gallery.gen_gallery"]
root_doc = "index"
exclude_patterns = ["gallery_source", "tutorials_source"]

# Headings have the anchors that forges give them, so that links work in both places.
myst_heading_anchors = 4
smartquotes = False  # -- is an option
# Single backticks in docstrings are code, as in the other documents.
default_role = "code"
autodoc_typehints = "none"
napoleon_google_docstring = False
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = f"symgrove {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {page: [] for page in ("index", "start", "when-not")}

os.environ["MPLBACKEND"] = "agg"  # no screen
sphinx_gallery_conf = {
    "examples_dirs": ["tutorials_source", "gallery_source"],
    "gallery_dirs": ["tutorials", "gallery"],
    "filename_pattern": "/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_",),
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 0,
    "write_computation_times": False,
}
# "label" in a docstring is a kind of value, not the attributes of displays that have this name.
suppress_warnings = ["ref.python"]
