"""Of vLLM, for a stand-in."""


def cleanup_dist_env_and_memory() -> None:
    """Do nothing."""
