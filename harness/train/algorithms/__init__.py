"""Algorithms, one per file; ALGORITHM is the class."""
