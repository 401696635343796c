"""Kernels of answers that consist of items: ranked lists, and sets of labels or spans."""
