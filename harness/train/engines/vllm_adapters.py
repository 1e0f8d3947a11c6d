"""An engine behind a `vllm serve` whose frozen base several runs share, each with its own adapters.

The server's weights are never changed. After each update a run saves its adapters to a folder, lets
the server load them under a new name, and drops the old ones. Name and folder must be new, since
they key vLLM's prefix cache (in 0.22 the name, in 0.32 both), which would otherwise return results
of older weights.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import torch

from harness.config import engine_choice
from harness.config.run import RunConfig
from harness.errors import ConfigError, StoppedError
from harness.policy.chat import Chat
from harness.policy.tiny import saving
from harness.records import atomic
from harness.train.engines.engine import (
    PromptedSampler,
    TurnRequest,
    TurnSampler,
    in_time,
    start_weights,
)
from harness.train.engines.sampler import SampledTurn
from harness.train.engines.scoring import log_probabilities, own_logits
from harness.train.engines.vllm_address import (
    LOAD,
    NO_ANSWER,
    UNLOAD,
    names,
    refusal,
    request_text,
    server_error,
)
from harness.train.engines.vllm_server import ServerSampler
from harness.utils.pending import AwaitableResult

MOST_APART_NATS = {torch.float32: 0.02, torch.bfloat16: 0.2}
"""Largest mean distance per token between the log-probabilities of the local base and the server's.
Rounding alone gives 1e-5 in float32, and .03 to .06 in bfloat16."""
FIRST_WORDS, SEEDS, DRAWN_TOKENS = "I failed my exam.", (1, 2, 3, 4), 8
"""The prompt and the draws with which the bases are compared."""
DROPPED_S = 30.0
"""Longest wait for a server to unload adapters; the run's next attempt unloads the rest."""


@dataclass(slots=True, eq=False)
class _BegunTurns:
    """Turns of a wave from when they are begun until they are waited for."""

    request: TurnRequest
    turns: AwaitableResult[list[SampledTurn]]
    loads: int
    """How often adapters had been loaded when the turns were begun."""

    @property
    def failed(self) -> bool:
        """Whether all of the turns are done and one of them failed."""
        return self.turns.is_ready and any(turn.exception() for turn in self.turns.futures)


class AdapterEngine:
    """The engine of one of the runs that share a server."""

    corrected = True
    together = True

    def __init__(
        self,
        model: Any,
        config: RunConfig,
        chat: Chat,
        folder: Path,
        on_hang: Callable[[str], None],
    ) -> None:
        """`folder`: the folder for this run's adapters; `on_hang` ends the run.

        Raises StoppedError if the server is unreachable, ConfigError if it has another base.
        """
        self._model, self._config, self._on_hang = model, config, on_hang
        self._opening, self._end = chat.opening(FIRST_WORDS), chat.end
        self._url, self._folder = engine_choice.address(config).rstrip("/"), folder.resolve()
        self._deadline_s = config.trainer.engine_deadline_s
        self._prefix = f"harness-{hashlib.sha256(str(self._folder).encode()).hexdigest()[:16]}-"
        self._attempt, self._count, self._name = secrets.token_hex(4), 0, ""
        self._loads = 0
        self._at_server: list[str] = []
        self._begun: list[_BegunTurns] = []
        shutil.rmtree(self._folder, ignore_errors=True)  # left by an attempt that was killed
        with self._in_time():
            self._drop([name for name in self._names() if name.startswith(self._prefix)])
            self._draw = ServerSampler(self._url, self._deadline_s, on_hang)
            self._check_base()

    @contextlib.contextmanager
    def awake(self) -> Iterator[None]:
        """Let the server load the current adapters and drop the previous ones."""
        previous = list(self._at_server)
        with self._in_time():
            if not set(previous) <= set(self._names()):  # restarted, perhaps with another base
                self._check_base()
            self._save()
            self._load()
            self._drop(previous)
            for name in previous:
                shutil.rmtree(self._folder / name, ignore_errors=True)
        yield

    def sampler(self, count: int, end: int, temperature: float) -> TurnSampler:
        return PromptedSampler(self._begin, count, end, temperature)

    def speaking(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def close(self) -> None:
        """Drop the adapters from the server, if it still runs, and delete their folder."""
        self._draw.close()
        self._drop(list(self._at_server))
        shutil.rmtree(self._folder, ignore_errors=True)

    def _begin(self, request: TurnRequest) -> AwaitableResult[list[SampledTurn]]:
        """Begin every turn; draw again if the server was restarted and has lost the adapters."""
        begun = _BegunTurns(request, self._draw.begin(request), self._loads)
        self._begun.append(begun)

        def wait() -> list[SampledTurn]:
            try:
                return begun.turns()
            except StoppedError as error:
                if begun.loads == self._loads:  # else it has been loaded again for another wave
                    self._load_again(error)
                self._begin_again()
                return begun.turns()
            finally:
                self._begun.remove(begun)

        return replace(begun.turns, wait=wait)

    def _load_again(self, error: StoppedError) -> None:
        """Let a restarted server load the adapters; raise `error` if it still has them."""
        with self._in_time():
            if self._name in self._names():
                raise error
            self._check_base()
            self._load()

    def _begin_again(self) -> None:
        """Begin the turns of all waves again that failed before the adapters were loaded."""
        for begun in self._begun:
            if begun.loads < self._loads and begun.failed:
                begun.turns, begun.loads = self._draw.begin(begun.request), self._loads

    def _save(self) -> None:
        """Save the current adapters under a name that no attempt of the run has used."""
        self._count += 1
        self._name = f"{self._prefix}{self._attempt}-{self._count}"
        path = self._folder / self._name
        with atomic.storage_errors(path), saving():
            path.mkdir(mode=0o700, parents=True)
            self._model.save_pretrained(path, save_embedding_layers=False)

    def _load(self) -> None:
        """Let the server load the saved adapters.

        Raises ConfigError if the server refuses them, StoppedError if it does not answer.
        """
        path = self._folder / self._name
        self._at_server.append(self._name)
        try:
            body = {"lora_name": self._name, "lora_path": str(path)}
            request_text(f"{self._url}/{LOAD}", self._deadline_s, body)
        except HTTPError as error:
            raise ConfigError(
                f"trainer.engine_url: {self._url} must load adapters of "
                f"policy.lora_rank={self._config.policy.lora_rank} from {path} (its "
                f"--max-lora-rank, and leave to read), got: {refusal(error)}"
            ) from error
        except NO_ANSWER as error:
            raise server_error(self._url, error) from error
        self._draw.model = self._name
        self._loads += 1

    def _drop(self, adapters: Sequence[str]) -> None:
        """Let the server unload adapters; errors, as from a server without them, are ignored."""
        for name in adapters:
            with contextlib.suppress(*NO_ANSWER):
                request_text(f"{self._url}/{UNLOAD}", DROPPED_S, {"lora_name": name})
        self._at_server = [name for name in self._at_server if name not in adapters]

    def _names(self) -> list[str]:
        """Return the names of base and adapters, with a long timeout for a busy server."""
        return names(self._url, self._deadline_s)

    def _check_base(self) -> None:
        """Raise ConfigError unless the server's base gives the same log-probabilities as ours."""
        temperature = self._config.policy.temperature
        self._draw.model = self._names()[0]
        request = TurnRequest(
            [self._opening] * len(SEEDS), list(SEEDS), DRAWN_TOKENS, self._end, temperature
        )
        distances_nats = [self._distance(turn, temperature) for turn in self._draw(request)]
        mean_nats = sum(distances_nats) / len(distances_nats)
        dtype = self._model.dtype
        limit_nats = MOST_APART_NATS.get(dtype, MOST_APART_NATS[torch.bfloat16])
        if not mean_nats <= limit_nats:
            raise ConfigError(
                f"trainer.engine_url: {self._url} must serve the policy's own base (with --dtype "
                f"{str(dtype).removeprefix('torch.')} and --logprobs-mode processed_logprobs), "
                f"within {limit_nats:g} nats a token, got {self._draw.model}, whose "
                f"log-probabilities are {mean_nats:.2g} away"
            )

    @torch.no_grad()
    def _distance(self, turn: SampledTurn, temperature: float) -> float:
        """Return the mean distance of a turn's log-probabilities from those of the local base."""
        ids = torch.tensor([[*self._opening, *turn.ids]], device=self._model.device)
        own = torch.arange(ids.shape[1], device=ids.device)[None] >= len(self._opening)
        with start_weights(self._model):
            logits = own_logits(self._model, ids, own)
        local = log_probabilities(logits, ids[own], temperature)
        return float((local.cpu() - torch.tensor(turn.logp)).abs().mean())

    def _in_time(self) -> contextlib.AbstractContextManager[None]:
        return in_time(self._deadline_s, self._on_hang)
