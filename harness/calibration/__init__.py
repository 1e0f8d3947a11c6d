"""How demanding users are, measured: a level goes in, its difficulty card comes out."""

VERSION = 1
"""Of what a difficulty card measures: one more where the same user gets another card."""
