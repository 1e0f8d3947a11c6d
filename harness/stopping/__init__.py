"""The rule that stops a run with nothing left to gain; it uses past rows only.

Training runs and the analysis of logs share it.
"""
