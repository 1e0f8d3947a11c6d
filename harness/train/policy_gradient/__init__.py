"""Advantages from rewards, losses from log-probabilities, and the roles of remedies."""
