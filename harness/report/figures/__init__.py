"""Figures and their numbers."""
