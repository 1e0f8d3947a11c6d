"""Measures of a step: entropies, conversations, evaluations."""
