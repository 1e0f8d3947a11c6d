"""Estimate the law, its intervals, the onset and rival curves from one run's points."""
