"""Measures how demanding the users of a difficulty level are; the result is a difficulty card."""

from pathlib import Path

SHIPPED = Path(__file__).with_name("cards")
"""Folder of the shipped cards of the named levels."""
VERSION = 4
"""Version of difficulty cards. Increase it whenever the same user gets a different card."""
