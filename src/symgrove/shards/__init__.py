"""Rows that live on the workers of a cluster, in blocks that do not depend on it."""
