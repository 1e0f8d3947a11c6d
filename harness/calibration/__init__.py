"""Measures how demanding a level's users are: a level goes in, its difficulty card comes out."""

VERSION = 3
"""Version of what a difficulty card measures: one more where the same user gets another card."""
