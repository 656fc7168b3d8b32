"""Hypothesis without deadlines: the first example of a test may compile kernels."""

from hypothesis import settings

settings.register_profile("symgrove", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("symgrove")
