"""Law: one short formula, searched for in a library of what formulas are made of.

The search stands in search.py; what it looks for in signomials.py, multiplicative.py, additive.py and divided.py; what
it has found in findings.py; which of that is chosen in choosing.py; how a problem becomes a search in fitted.py.
"""
