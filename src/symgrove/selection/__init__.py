"""Selection turns errors into indices: pure functions of the errors matrix and a generator."""

from symgrove.selection.named import NAMES, Partition, PartitionLexicase, Tournament, Truncation

__all__ = ["NAMES", "Partition", "PartitionLexicase", "Tournament", "Truncation"]
