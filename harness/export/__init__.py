"""A trained policy as a Hugging Face folder: which checkpoint, which files, and its model card."""
