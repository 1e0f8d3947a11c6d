"""The loss of a batch on a language model."""
