"""Selection turns errors into indices: pure functions of the errors matrix and a generator."""
