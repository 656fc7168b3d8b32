"""Sums of blocks, from the definition: the left half of a range, as a power of two, plus the right half."""


def total(values, first=0, size=None):
    """The sum of those from `first` on, of `size`, in the order of the tree."""
    if size is None:
        size = 1
        while size < len(values):
            size *= 2
    if size == 1:
        return values[first]
    half = size // 2
    left = total(values, first, half)
    return left if first + half >= len(values) else left + total(values, first + half, half)
