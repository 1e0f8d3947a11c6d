"""Engines that draw a language model's turns, and the scoring of tokens."""
