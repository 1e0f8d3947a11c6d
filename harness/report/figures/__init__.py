"""Figures, and the numbers they draw."""
