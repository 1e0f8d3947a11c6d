"""What speaks: tabular (numpy) and tiny (a transformer built here)."""
