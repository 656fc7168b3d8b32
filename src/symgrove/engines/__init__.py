"""Engines turn programs into sums and vectors: the contract, the CPU engine and its kernels."""
