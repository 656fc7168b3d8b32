"""Compression: smaller models from fitted ones."""
