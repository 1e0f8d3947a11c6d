"""The producing half: rollouts, losses, measurement. The only place of trl and vllm."""
