"""The ledger of a language model: the effect of its updates since the last evaluation on H.

H is measured at the tokens that the policy drew at the last evaluation after the frozen prefixes.
The first order of a step's effect is measured at every step. Its noise and the remedies' effect are
measured only at evaluations and interpolated linearly in between.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.config.run import RunConfig
from harness.errors import DataError
from harness.records import atomic, plain_file
from harness.train.ledger.expansion import EntropyComponent
from harness.train.ledger.walk import weight
from harness.train.metrics.token_metrics import Metrics, ratio_mean
from harness.train.objective import registry
from harness.train.policy_gradient.advantages import FloatArray, IntArray

FILE = "language_ledger.npz"


def is_kept(config: RunConfig) -> bool:
    """Whether a run has a ledger: it needs a probe, two groups to tell signal from noise, one
    update a batch, no refits of the start weights, and all weights in one process.
    """
    trainer = config.trainer
    groups = trainer.conversations // config.algorithm.group_size
    requested = config.eval.ledger_draws > 0 and config.eval.prefixes > 0
    one_update = trainer.updates_per_batch == 1 and registry.algorithm_of(config).refit() is None
    return requested and groups > 1 and one_update and trainer.world == 1


@dataclass(frozen=True, slots=True)
class ProbeTokens:
    """The prefixes of the probe with the replies at an evaluation; lists run over prefixes."""

    ids: list[list[int]]
    own: list[list[bool]]
    """True at the reply's tokens."""

    @property
    def prefix(self) -> IntArray:
        """The prefix of each token of a reply, shape (tokens,)."""
        return np.repeat(np.arange(len(self.own)), [sum(row) for row in self.own])


@dataclass(frozen=True, slots=True)
class EntropyPace:
    """The effect of a step of weight 1 on H, averaged over batches, in nats."""

    noise: EntropyComponent
    walk: float
    """Variance over batches of the first-order effect."""
    remedy: EntropyComponent


@dataclass(frozen=True, slots=True)
class Entropies:
    """H at some tokens at an evaluation."""

    by_token: FloatArray
    """H at each token under the current weights, shape (tokens,)."""
    delivered: float
    """Mean H under the weights that momentum would lead to without further gradients."""

    @property
    def held(self) -> float:
        """Mean H under the current weights minus `delivered`."""
        return float(self.by_token.mean()) - self.delivered


@dataclass(frozen=True, slots=True)
class LanguageLedgerStart:
    """The state at an evaluation, which the next one is compared with."""

    step: int
    tokens: ProbeTokens
    entropies: Entropies
    pace: EntropyPace


@dataclass(frozen=True, slots=True)
class LanguageLedger:
    """The account since the last evaluation."""

    opening: LanguageLedgerStart | None = None
    """None before the first evaluation, while nothing is booked."""
    first: float = 0.0
    """First-order effect of the batches' gradients since `opening`, in nats."""
    rescaled: float = 0.0
    """First-order effect of changes of Adam's scaling on earlier gradients, in nats."""

    def with_update(self, first: float, rescaled: float) -> LanguageLedger:
        """Return the ledger after one more update."""
        return replace(self, first=self.first + first, rescaled=self.rescaled + rescaled)

    def metrics_at(self, now: LanguageLedgerStart, before: Entropies, beta1: float) -> Metrics:
        """Return the ledger/* metrics at the evaluation `now`; empty at the first evaluation.

        `before`: H now at the tokens of the last evaluation.
        """
        opening = self.opening
        if opening is None:
            return {}
        old_entropies = opening.entropies
        total = _mean(before.by_token - old_entropies.by_token, opening.tokens)
        visited, old = (
            _mean(now.entropies.by_token, now.tokens), _mean(before.by_token, opening.tokens)
        )  # fmt: skip
        states = EntropyComponent(visited.value - old.value, visited.variance + old.variance)
        noise, walk, remedy = _sum_between(opening, now, beta1)
        signal = EntropyComponent(self.first - remedy.value, walk + remedy.variance)
        momentum = before.held - old_entropies.held + self.rescaled
        booked = signal.value + noise.value + remedy.value + momentum
        parts = {
            "signal": signal, "noise": noise, "remedy": remedy, "states": states, "total": total
        }  # fmt: skip
        return {
            **{f"ledger/{name}": part.value for name, part in parts.items()},
            **{f"ledger/{name}_se": math.sqrt(part.variance) for name, part in parts.items()},
            "ledger/momentum": momentum,
            "ledger/closure": total.value - booked,
        }

    def save(self, folder: Path) -> None:
        """Write the ledger to `folder` for `load`; nothing before the first evaluation."""
        opening = self.opening
        if opening is None:
            return
        file, pace = io.BytesIO(), opening.pace
        arrays: dict[str, Any] = {
            "step": np.array(opening.step),
            "lengths": np.array([len(row) for row in opening.tokens.ids]),
            "ids": np.concatenate(opening.tokens.ids),
            "own": np.concatenate(opening.tokens.own),
            "by_token": opening.entropies.by_token,
            "delivered": np.array(opening.entropies.delivered),
            "noise": np.array([pace.noise.value, pace.noise.variance]),
            "walk": np.array(pace.walk),
            "remedy": np.array([pace.remedy.value, pace.remedy.variance]),
            "made": np.array([self.first, self.rescaled]),
        }
        np.savez_compressed(file, **arrays)
        atomic.write_bytes(folder / FILE, file.getbuffer(), durable=False)


def load(folder: Path | None) -> LanguageLedger:
    """Return the ledger saved in a checkpoint; an empty one if there is none, as before the first
    evaluation. Raises DataError for a damaged file.
    """
    if folder is None or not (folder / FILE).is_file():
        return LanguageLedger()
    try:
        with np.load(folder / FILE, allow_pickle=False) as file:
            ends = np.cumsum(file["lengths"])[:-1]
            ids, own = (
                [row.tolist() for row in np.split(file[name], ends)] for name in ("ids", "own")
            )
            noise, remedy = (
                EntropyComponent(*map(float, file[name])) for name in ("noise", "remedy")
            )
            pace = EntropyPace(noise, float(file["walk"]), remedy)
            entropies = Entropies(file["by_token"], float(file["delivered"]))
            first, rescaled = map(float, file["made"])
            opening = LanguageLedgerStart(int(file["step"]), ProbeTokens(ids, own), entropies, pace)
        return LanguageLedger(opening, first, rescaled)
    except plain_file.ARCHIVE_ERRORS as error:
        raise DataError(f"{folder / FILE}: must hold a ledger, but does not: {error}") from error


def _sum_between(
    opening: LanguageLedgerStart, now: LanguageLedgerStart, beta1: float
) -> tuple[EntropyComponent, float, EntropyComponent]:
    """Return noise, variance of the first order, and remedy, summed over the steps between two
    evaluations.

    A gradient of weight w moves the weights w times as far, so squares count w^2.
    """
    steps = np.arange(opening.step, now.step)
    weights = np.array([weight(int(step), beta1) for step in steps])
    position = (steps - opening.step) / (now.step - opening.step)
    ends = opening.pace, now.pace
    noise = _sum_interpolated(weights**2, position, [end.noise for end in ends])
    remedy = _sum_interpolated(weights, position, [end.remedy for end in ends])
    walk = float(weights**2 @ ((1 - position) * opening.pace.walk + position * now.pace.walk))
    return noise, walk, remedy


def _sum_interpolated(
    weights: FloatArray, position: FloatArray, ends: Sequence[EntropyComponent]
) -> EntropyComponent:
    """Return the sum over steps of a part that is interpolated linearly between two ends.

    `position`: that of each step between the ends, 0 to 1. The variance is chosen so that variances
    add up over a run, where each end belongs to two intervals; for a single interval it is up to
    twice too large.
    """
    shares = float(weights @ (1 - position)), float(weights @ position)
    value = sum(share * end.value for share, end in zip(shares, ends, strict=True))
    spread = sum(share * end.variance for share, end in zip(shares, ends, strict=True))
    return EntropyComponent(value, sum(shares) * spread)


def _mean(values: FloatArray, tokens: ProbeTokens) -> EntropyComponent:
    """Return the mean over tokens, with a variance clustered by prefix."""
    mean, error = ratio_mean(values, tokens.prefix)
    return EntropyComponent(
        math.nan if mean is None else mean, math.nan if error is None else error**2
    )
