"""The scripted user: in process, deterministic, without a model."""
