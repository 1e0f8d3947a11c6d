"""Runs as child processes: a sweep, its ledger, stops, retries, resumes."""
