"""Several processes that share the work of one run, each with a copy of the model: its ranks.

Rank 0 is the run's own process: it owns the folder, the optimiser and every decision. The others
draw conversations, hold evaluations and compute gradients for it, and know nothing of the step.
"""
