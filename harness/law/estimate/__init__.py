"""What one run's points say: the law, its interval, the onset, rivals."""
