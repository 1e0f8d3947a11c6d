"""Runs on known ground: each is constructed to show one regime (`harness demo`)."""
