"""Permissions to send secrets to hosts."""
