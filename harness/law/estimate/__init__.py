"""Estimates from one run's points: the law, its interval, the onset, rivals."""
