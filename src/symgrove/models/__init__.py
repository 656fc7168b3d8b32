"""Models: finished ensembles of programs, with what is needed to predict and to show them."""
