"""The scripted user: in process, deterministic, no model."""
