"""Estimate of the GPU memory of a language model's run, made before anything is loaded."""
