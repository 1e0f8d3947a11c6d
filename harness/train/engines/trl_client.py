"""The other file that knows a name of TRL's: its client puts weights into a vLLM server, by NCCL.

Untried here: it takes two GPUs. TRL follows the three ways in which vLLM has had this done.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from torch import Tensor
from trl.generation.vllm_client import VLLMClient


class WeightLine:
    """From the trainer's GPU to those of a server."""

    def __init__(self, url: str, device: Any, weights: Callable[[], Iterator[tuple[str, Tensor]]]):
        """`weights` is asked anew each time they are sent, first for what they are like."""
        self._weights = weights
        # TRL's transport would send what ~/.netrc holds for the host that a config names
        os.environ["NETRC"] = os.devnull
        self._client = VLLMClient(base_url=url)
        self._client.init_communicator(device)
        self._like = [
            (name, str(weight.dtype).removeprefix("torch."), list(weight.shape))
            for name, weight in weights()
        ]

    def send(self) -> None:
        """Put the weights in as they are; what was computed with the last ones is forgotten."""
        self._client.update_named_params(self._like, self._weights())
        self._client.reset_prefix_cache()

    def close(self) -> None:
        self._client.close_communicator()
