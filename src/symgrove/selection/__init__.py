"""Selection turns errors into indices: pure functions of the errors matrix and a generator."""

from symgrove.selection.named import NAMES, Candidates, Partition, PartitionLexicase, Tournament, Truncation

__all__ = ["NAMES", "Candidates", "Partition", "PartitionLexicase", "Tournament", "Truncation"]
