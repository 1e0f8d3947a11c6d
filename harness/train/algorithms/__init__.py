"""Algorithms: one file each, whose ALGORITHM is the class."""
