"""From rewards to advantages, and from log-probabilities to a loss."""
