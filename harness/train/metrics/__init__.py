"""What is measured of a step: entropies, strategies, evaluations."""
