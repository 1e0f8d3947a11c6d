"""Estimate the variance components of an outcome, and the sample sizes they require."""
