"""Readers of sentences that need a language model; the lexical one is the scripted user's own."""
