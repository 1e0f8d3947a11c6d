"""The policies of a run, at its start and its checkpoints, in conversation with held-out users."""
