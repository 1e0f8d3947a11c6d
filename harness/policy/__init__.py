"""Policies: tabular (numpy), tiny (a small transformer) and Hugging Face models."""
