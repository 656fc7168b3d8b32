"""Programs: the primitive table, the shared graph, random programs, text and simplification."""
