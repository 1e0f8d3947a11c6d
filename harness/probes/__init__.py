"""Probes: what a trained policy does, measured in conversations with held-out users.

A probe holds the same conversations, with the same draws, with the policy that a run began with and
with those of its checkpoints, and says what changed, with intervals over users.
"""
