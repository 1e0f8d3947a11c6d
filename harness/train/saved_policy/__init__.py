"""The policies of a run, at its start and at its checkpoints, talking with held-out users."""
