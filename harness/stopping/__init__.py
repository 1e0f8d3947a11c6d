"""When a run has nothing more to gain: a causal rule that runs and readers of logs share."""
