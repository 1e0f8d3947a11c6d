"""Executes runs as child processes: sweeps, their ledger, stop requests, retries, resumes."""
