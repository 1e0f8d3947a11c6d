"""Supervised training of the tiny policy: Muon on the matrices, AdamW on the rest.

With Muon (arXiv 2502.16982) the warm start takes minutes; with AdamW the model is far from fluent
after as many steps. Each batch has two halves, which are computed by one thread each and summed in
a fixed order, so that the weights do not depend on the number of cores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from harness.train.engines.scoring import by_length, log_probabilities, own_logits, pad_rows

SORTED_AT_ONCE = 8
"""Number of batches that are formed together, by sorting their rows by length."""
WARM_UP, LAST = 15, 0.02
"""Steps with a rising rate, and the smallest share of the rate while it falls."""
MAX_GRAD_NORM = 1.0
LAST_STEPS = 20


@dataclass(frozen=True, slots=True)
class WeightedRow:
    """A text as tokens with weights in the loss."""

    ids: list[int]
    own: list[bool]
    """Whether a token is the policy's; only these count in the reported loss."""
    weight: list[float]
    """Weight of each token in the minimised loss."""

    def extend(self, ids: Sequence[int], weight: float, own: bool = False) -> None:
        """Append tokens of one weight."""
        self.ids.extend(ids)
        self.own.extend([own] * len(ids))
        self.weight.extend([weight] * len(ids))


Report = Callable[[int, float], None]
"""Called after each step with its number, from 1, and the loss of the policy's tokens in nats."""


@dataclass(frozen=True, slots=True)
class TrainingSchedule:
    """Steps, rate and batch size of a supervised training."""

    steps: int
    rate: float
    batch: int
    """Rows per step."""
    constant_until: float
    """Share of the steps after which the rate falls linearly."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread, since the number of threads changes the order of sums."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def fit(
    model: Any, rows: Sequence[WeightedRow], schedule: TrainingSchedule, seed: int, report: Report
) -> float:
    """Train `model` in place on `rows`, repeated as often as needed.

    Return the mean loss of the policy's own tokens over the last LAST_STEPS steps, in nats.
    """
    optimisers = _optimisers(model, schedule.rate)
    parameters = list(model.parameters())
    losses: list[float] = []
    with one_thread(), ThreadPoolExecutor(2) as pool:
        batches = _batches(rows, schedule.batch, seed)
        for step, batch in zip(range(1, schedule.steps + 1), batches, strict=False):
            halves = [batch[0::2], batch[1::2]]
            parts = list(pool.map(lambda half: _gradient(model, parameters, half), halves))
            tokens = sum(part[1] for part in parts)
            weight = sum(part[3] for part in parts)
            for parameter, *grads in zip(parameters, *(part[2] for part in parts), strict=True):
                parameter.grad = (grads[0] + grads[1]) / weight
            torch.nn.utils.clip_grad_norm_(parameters, MAX_GRAD_NORM)
            _step(optimisers, schedule.rate * _share_of_rate(step, schedule))
            losses.append(sum(part[0] for part in parts) / tokens)
            report(step, losses[-1])
    return float(np.mean(losses[-LAST_STEPS:]))


def _gradient(
    model: Any, parameters: list[Tensor], rows: Sequence[WeightedRow]
) -> tuple[float, int, tuple[Tensor, ...], float]:
    """Return the summed loss of own tokens, their number, the gradient of the weighted sum over all
    tokens, and the sum of weights.
    """
    ids = pad_rows([row.ids for row in rows], fill=0)
    is_token = pad_rows([[1] * len(row.ids) for row in rows], fill=0).bool()
    own = pad_rows([row.own for row in rows], fill=0)[:, 1:][is_token[:, 1:]].bool()
    weight = pad_rows([row.weight for row in rows], fill=0)[:, 1:][is_token[:, 1:]]
    losses = -log_probabilities(own_logits(model, ids, is_token), ids[:, 1:][is_token[:, 1:]], 1.0)
    return (
        float(losses.detach()[own].sum()),
        int(own.sum()),
        torch.autograd.grad((losses * weight).sum(), parameters),
        float(weight.sum()),
    )


def _batches(rows: Sequence[WeightedRow], size: int, seed: int) -> Iterator[list[WeightedRow]]:
    """Yield endless batches of rows of similar length, so that there is little padding."""
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(rows)).tolist()
        for n in range(0, len(order), size * SORTED_AT_ONCE):
            stretch = [rows[i] for i in order[n : n + size * SORTED_AT_ONCE]]
            groups = by_length([len(row.ids) for row in stretch], size)
            for k in rng.permutation(len(groups)).tolist():
                if len(groups[k]) == size:
                    yield [stretch[i] for i in groups[k]]


def _optimisers(model: Any, rate: float) -> list[torch.optim.Optimizer]:
    parameters = list(model.named_parameters())
    matrices = [p for name, p in parameters if p.ndim == 2 and "embed" not in name]
    others = [p for name, p in parameters if p.ndim != 2 or "embed" in name]
    return [
        torch.optim.Muon(
            matrices, lr=rate, weight_decay=0.0, adjust_lr_fn="match_rms_adamw", ns_steps=4
        ),
        torch.optim.AdamW(others, lr=rate, betas=(0.9, 0.98), weight_decay=0.0, fused=True),
    ]


def _share_of_rate(step: int, schedule: TrainingSchedule) -> float:
    share_done = (step - 1) / schedule.steps
    falling = 1.0
    if share_done >= schedule.constant_until:
        falling = (1 - share_done) / (1 - schedule.constant_until)
    return min(1.0, step / WARM_UP) * max(LAST, falling)


def _step(optimisers: Sequence[torch.optim.Optimizer], rate: float) -> None:
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = rate
        optimiser.step()
        optimiser.zero_grad()
