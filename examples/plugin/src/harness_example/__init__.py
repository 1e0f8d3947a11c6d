"""One extension of each kind for empathy-harness; pyproject.toml says which is where."""
