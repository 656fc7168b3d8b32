"""Saving: fitted estimators as files and pickles, and back."""
