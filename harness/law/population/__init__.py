"""Estimate the distribution over all seeds of a level from the seeds that were run."""
