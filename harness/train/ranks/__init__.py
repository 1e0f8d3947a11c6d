"""The ranks of a run: processes that share its work, each with a copy of the model or a part of it.

Rank 0 is the run's own process. It owns the folder, the optimiser and every decision. The others
draw conversations, hold evaluations and compute gradients for it, and keep no state of the run.
"""
