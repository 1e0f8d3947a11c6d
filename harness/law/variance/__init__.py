"""How much of the spread of an outcome is of what: variance components, and what n they ask for."""
