"""Variation makes new programs from old ones: forest in, root ids out."""
