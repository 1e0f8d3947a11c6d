"""Sentences that state results."""
