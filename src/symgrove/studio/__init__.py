"""A local page where people watch formulas evolve.

The server (server.py, behind guard.py) only reads and writes a folder (folder.py); each run has a process of its own
that writes what happens into a log (events.py), which the page follows.
"""
