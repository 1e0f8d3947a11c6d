"""Policies: tabular (numpy), tiny (a transformer built here) and Hugging Face models."""
