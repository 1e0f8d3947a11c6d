"""Discover runs, read their logs and clean the rows."""
