"""Validity of a user: whether it prefers kindness to cruelty, and answers what was said."""
