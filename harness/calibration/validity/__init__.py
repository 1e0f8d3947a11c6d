"""Validity of a level: whether its user prefers kindness to cruelty, and hears what was said."""
