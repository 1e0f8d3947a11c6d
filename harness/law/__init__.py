"""The reading half: the entropy law, onset, regime and verdict of each run. No torch."""
