"""Probes measure what a trained policy does, in conversations with held-out users or on items.

A probe simulates the same conversations, with the same draws, for the start policy of a run and for
its checkpoints, and reports what changed, with confidence intervals over users.
"""
