"""Policy tokens a second in conversations, over the same engine's in single turns.

    python -m benchmarks.rollout [KEY=VALUE ...]

Multi-turn: the conversations of a step with the scripted user, to their ends, users' time and all;
nobody judges, nothing is learnt. Single turns: each conversation's opening answered once, all of
them in one batch, by transformers' own `generate` or by vLLM; prompts are shorter there and nothing
has to be read again. Rounds alternate and the median ratio counts. Prefill is reading what is new,
decode drawing one token after the other; vLLM does not tell them apart. The bound is what reading
all weights once a token from memory allows, at the bandwidth a large copy reaches here.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.words import merged
from harness.compose import planner
from harness.config import engine_choice
from harness.config.run import RunConfig
from harness.simulator.factory import make
from harness.train.engines.engine import Engine, TransformersEngine, TurnRequest
from harness.train.engines.sampler import Sampler
from harness.train.engines.scoring import pad_rows
from harness.train.loop import start as starts
from harness.train.ranks.work import precision
from harness.train.rollout.batch import keys_of
from harness.train.rollout.conversation import rollout
from harness.train.rollout.speaker import LanguageSpeaker

ROUNDS = 5
WORDS = ("policy=tiny", "trainer.conversations=256")
COPY_BYTES = 2**28


@dataclass(frozen=True)
class Rate:
    """The tokens of one side in one round, and the time they took."""

    tokens: int
    seconds: float
    forwards: int = 0
    """One token in every live conversation each."""

    @property
    def per_s(self) -> float:
        return self.tokens / self.seconds


def main(words: Sequence[str]) -> None:
    config = planner.point(merged(WORDS, words)).config
    torch.set_num_threads(config.trainer.threads)
    device = "cuda" if config.trainer.gpus else "cpu"
    start = starts.load(config, device)
    start.learner.eval()
    engine, single = _sides(config, start)
    print("| round | multi-turn, tokens/s | single turns, tokens/s | ratio | users | prefill |")
    print("|---|---|---|---|---|---|")
    ratios, rates = [], []
    with engine.awake(), precision(config.policy, device):
        for number in range(ROUNDS + 1):  # the first warms up
            parts = Parts()
            many, once = conversations(config, start, engine, number, parts), single(number)
            if number:
                ratios.append(many.per_s / once.per_s)
                rates.append(many)
                print(
                    f"| {number} | {many.per_s:,.0f} | {once.per_s:,.0f} | {ratios[-1]:.2f} | "
                    f"{parts.users_s / many.seconds:.1%} | {parts.prefill_s / many.seconds:.1%} |",
                    flush=True,
                )
    print(f"\nmedian ratio {statistics.median(ratios):.2f}")
    _bound(start.learner, device, rates)


class Parts:
    """Seconds within one round."""

    users_s = 0.0
    prefill_s = 0.0
    forwards = 0


def conversations(
    config: RunConfig, start: starts.StartModels, engine: Engine, step: int, parts: Parts
) -> Rate:
    """The conversations of `step`."""
    users = make(config.simulator, config.difficulty)
    timed = _Timed(users, parts)
    speaker = LanguageSpeaker(engine, start.chat, config.policy, np.random.default_rng(step))
    read, draw = Sampler._read_new, Sampler._draw

    def timed_read(
        self: Sampler, live: Sequence[int], new_ids: Sequence[Sequence[int]]
    ) -> torch.Tensor:
        began = _now(start.learner)
        states = read(self, live, new_ids)
        parts.prefill_s += _now(start.learner) - began
        return states

    def counted_draw(
        self: Sampler, logits: torch.Tensor, uniform: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, list[float]]:
        parts.forwards += 1
        return draw(self, logits, uniform)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Sampler, "_read_new", timed_read)
        patch.setattr(Sampler, "_draw", counted_draw)
        began = _now(start.learner)
        rollout(timed, speaker, keys_of(config, step + 1))
        seconds = _now(start.learner) - began
    tokens = sum(len(t.logp) for t in speaker.trajectories)
    return Rate(tokens, seconds, parts.forwards)


class _Timed:
    """Users whose time is counted."""

    def __init__(self, users: Any, parts: Parts) -> None:
        self._users, self._parts = users, parts

    def open(self, keys: Any) -> Any:
        return self._counted(self._users.open, keys)

    def answer(self, turns: Any, replies: Any) -> Any:
        return self._counted(self._users.answer, turns, replies)

    def _counted(self, work: Callable[..., Any], *arguments: Any) -> Any:
        began = time.perf_counter()
        try:
            return work(*arguments)
        finally:
            self._parts.users_s += time.perf_counter() - began


def _sides(config: RunConfig, start: starts.StartModels) -> tuple[Engine, Callable[[int], Rate]]:
    """The engine of the conversations, and its own single turns."""
    if engine_choice.engine_of(config) == engine_choice.TRANSFORMERS:
        return TransformersEngine(start.learner), lambda number: _generate(config, start, number)
    from harness.train.engines.vllm_engine import ColocatedEngine

    engine = ColocatedEngine(start.learner, config, lambda why: sys.exit(why))

    def single(number: int) -> Rate:
        prompts = _openings(config, start, number)
        seeds = list(range(len(prompts)))
        ask = TurnRequest(
            prompts, seeds, config.policy.max_turn_tokens, start.chat.end, config.policy.temperature
        )
        began = _now(start.learner)
        turns = engine.begin(ask)()
        return Rate(sum(len(turn.ids) for turn in turns), _now(start.learner) - began)

    return engine, single


def _openings(config: RunConfig, start: starts.StartModels, number: int) -> list[list[int]]:
    users = make(config.simulator, config.difficulty)
    return [start.chat.opening(turn.text) for turn in users.open(keys_of(config, number + 1))]


def _generate(config: RunConfig, start: starts.StartModels, number: int) -> Rate:
    """transformers' own sampling; tokens after a reply's end are not counted."""
    rows = _openings(config, start, number)
    longest = max(map(len, rows))
    left = [[start.chat.pad] * (longest - len(row)) + row for row in rows]
    seen = [[0] * (longest - len(row)) + [1] * len(row) for row in rows]
    model, end = start.learner, start.chat.end
    ids, mask = (pad_rows(part, fill=0).to(model.device) for part in (left, seen))
    began = _now(model)
    out = model.generate(
        ids, attention_mask=mask, do_sample=True, temperature=config.policy.temperature, top_k=0,
        top_p=1.0, max_new_tokens=config.policy.max_turn_tokens, eos_token_id=end, pad_token_id=end,
    )  # fmt: skip
    seconds = _now(model) - began
    tokens = out[:, longest:]
    ended = (tokens == end).int().cumsum(dim=1)
    return Rate(int(((ended == 0) | ((ended == 1) & (tokens == end))).sum()), seconds)


def _now(model: Any) -> float:
    if model.device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def _bound(model: Any, device: str, rates: Sequence[Rate]) -> None:
    """Tokens a second if every forward took no longer than its weights take to be read."""
    forwards = sum(rate.forwards for rate in rates)
    if not forwards:
        return
    source = torch.zeros(COPY_BYTES, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    best = min(_copy_s(model, source, target) for _ in range(5))
    weights = sum(p.numel() * p.element_size() for p in model.parameters())
    live = sum(rate.tokens for rate in rates) / forwards
    bytes_per_s = 2 * COPY_BYTES / best
    print(
        f"bound by memory: {live * bytes_per_s / weights:,.0f} tokens/s at {live:.0f} live "
        f"conversations, {weights / 1e6:.1f} MB of weights and {bytes_per_s / 1e9:.1f} GB/s"
    )


def _copy_s(model: Any, source: torch.Tensor, target: torch.Tensor) -> float:
    began = _now(model)
    target.copy_(source)
    return _now(model) - began


if __name__ == "__main__":
    main(sys.argv[1:])
