"""Training: rollouts, losses and metrics. Only this package imports trl and vllm."""
