"""harness: difficulty-sweep studies for reinforcement learning on an empathy reward."""

__version__ = "0.1.0"
