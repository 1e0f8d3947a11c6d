"""Measures how demanding a level's users are: a level goes in, its difficulty card comes out."""

from pathlib import Path

SHIPPED = Path(__file__).with_name("cards")
"""The cards of the named levels as shipped."""
VERSION = 4
"""Version of what a difficulty card measures: one more where the same user gets another card."""
