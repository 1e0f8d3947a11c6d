"""Sentence readers that use a language model. The lexical reader is in simulator/scripted."""
