"""Compare groups of runs over their seeds."""
