"""Sentences on what was found."""
