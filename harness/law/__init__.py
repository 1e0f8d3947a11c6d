"""Analyse logged runs: the entropy law, onset, regime and verdict of each. Imports no torch."""
