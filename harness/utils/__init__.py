"""Helpers without knowledge of runs: processes, safe text, the installation."""
