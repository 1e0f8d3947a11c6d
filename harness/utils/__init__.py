"""Helpers that are independent of runs: processes, safe text, the installation."""
