"""The stack of a run's remedies: which ones its config names, and the loss they make together.

Without any the loss is GRPO's clipped one. What the remedies choose for a step is numbers for each
token, so a batch may be learned from in pieces.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.config import ranges
from harness.config.run import AlgorithmConfig, RunConfig
from harness.errors import ConfigError
from harness.records import atomic
from harness.train import remedies as remedy_files
from harness.train.algorithms.advantages import FloatArray, IntArray
from harness.train.algorithms.losses import BoolArray, TokenLoss, clipped
from harness.train.algorithms.remedy_roles import (
    Bonus,
    Filling,
    Penalty,
    Ratio,
    Remedy,
    StepTokens,
    Term,
    Weight,
)
from harness.utils import extensions

FILE = "remedy.json"
ONE_ONLY = {Ratio: "the ratio's shape", Bonus: "a bonus for entropy"}
"""Roles that only one remedy of a run can play."""


@dataclass(frozen=True, slots=True)
class TokenSelection:
    """The remedies' choice for a step, made before its first update; arrays of shape (tokens,)."""

    weight: FloatArray
    """Factor of each token's policy-gradient term."""
    chosen: BoolArray
    """The tokens that a remedy picked out."""
    touched: BoolArray
    """Tokens of conversations that were redrawn or penalised by a remedy."""
    terms: tuple[FloatArray, ...]
    """For each remedy that adds a term, the number it goes by at each token."""
    bonus: float = 0.0
    """Coefficient of H."""
    lost: BoolArray | None = None
    """Tokens of conversations without a reward, which carry no gradient; None if there are none."""

    @property
    def counted(self) -> FloatArray:
        """1 for each token that carries a gradient, 0 for the others; shape (tokens,)."""
        lost = np.zeros(len(self.weight), bool) if self.lost is None else self.lost
        return np.where(lost, 0.0, 1.0)

    def at(self, places: slice | IntArray) -> TokenSelection:
        """The selection of the tokens at `places`."""
        terms = tuple(term[places] for term in self.terms)
        chosen, touched = self.chosen[places], self.touched[places]
        lost = None if self.lost is None else self.lost[places]
        return TokenSelection(self.weight[places], chosen, touched, terms, self.bonus, lost)


@dataclass(frozen=True, slots=True)
class RemedyLoss:
    """A loss with remedies, and the tokens whose loss differs from plain GRPO's."""

    loss: TokenLoss
    acted: BoolArray
    """Shape (tokens,)."""


@dataclass(frozen=True, slots=True)
class RemedyStack:
    """The remedies of a run, and the state that they carry from step to step."""

    algorithm: AlgorithmConfig
    remedies: tuple[Remedy, ...]
    coefficient: float = 0.0
    """Current coefficient of the entropy bonus, before a controller compares H with its target."""

    @property
    def needs_entropies(self) -> bool:
        """Whether `select` needs the entropies before the update."""
        return any(remedy.needs_entropies for remedy in self.remedies)

    @property
    def needs_start(self) -> bool:
        """Whether `select` needs the tokens' log-probabilities under the start policy."""
        return any(remedy.needs_start for remedy in self.remedies)

    @property
    def chooses(self) -> bool:
        """Whether a remedy picks out tokens."""
        return any(remedy.chooses for remedy in self.remedies)

    @property
    def most_tries(self) -> int:
        """Most times a group is drawn in one step while all its rewards are equal; 1 or more."""
        return max([1, *(r.most_tries() for r in self.remedies if isinstance(r, Filling))])

    @property
    def bonus(self) -> Bonus | None:
        """The remedy that adds a bonus for H; None if there is none."""
        return next((remedy for remedy in self.remedies if isinstance(remedy, Bonus)), None)

    def penalties(self, tokens: FloatArray, limit: int) -> FloatArray | None:
        """Each reply's penalty for its length, shape of `tokens`; None if no remedy penalises.

        `tokens`: length of each reply, nan where there is none; `limit`: the longest reply allowed.
        """
        penalties = [r.penalties(tokens, limit) for r in self.remedies if isinstance(r, Penalty)]
        return np.sum(penalties, axis=0) if penalties else None

    def select(self, step: StepTokens) -> TokenSelection:
        """Choose the tokens of a step, before its first update."""
        weight, chosen = np.ones(len(step.logp)), np.zeros(len(step.logp), bool)
        terms = []
        for remedy in self.remedies:
            if isinstance(remedy, Weight):
                weights = remedy.weigh(step)
                weight, chosen = weight * weights.weight, chosen | weights.chosen
            elif isinstance(remedy, Term):
                terms.append(remedy.prepare(step))
                chosen = chosen | (remedy.chooses & (terms[-1] != 0))
        touched = np.zeros_like(chosen) if step.touched is None else step.touched
        bonus = self._bonus_coefficient(step.entropy_nats)
        return TokenSelection(weight, chosen, touched, tuple(terms), bonus, step.lost)

    def loss(
        self,
        logp: FloatArray,
        old_logp: FloatArray,
        advantage: FloatArray,
        selection: TokenSelection,
    ) -> RemedyLoss:
        """The loss of some tokens under the current weights, all shapes (tokens,).

        The entropy bonus is not part of it: its gradient does not go through `logp`.
        """
        plain = self._plain(logp, old_logp, advantage)
        ratio = next((r for r in self.remedies if isinstance(r, Ratio)), None)
        shaped = ratio.surrogate(logp, old_logp, advantage) if ratio else plain
        value, slope = selection.weight * shaped.value, selection.weight * shaped.slope
        acted = selection.touched | (selection.weight != 1) | (selection.bonus > 0)
        acted = acted | (shaped.slope != plain.slope)
        adding = [remedy for remedy in self.remedies if isinstance(remedy, Term)]
        for remedy, prepared in zip(adding, selection.terms, strict=True):
            term = remedy.term(logp, old_logp, prepared)
            value, slope = value + term.value, slope + term.slope
            acted = acted | (term.slope != 0)
        return RemedyLoss(TokenLoss(value, slope, shaped.low, shaped.high), acted)

    def _plain(self, logp: FloatArray, old_logp: FloatArray, advantage: FloatArray) -> TokenLoss:
        low, high = self.algorithm.clip_low, self.algorithm.clip_high
        return clipped(logp, old_logp, advantage, low, high)

    def _bonus_coefficient(self, entropy_nats: FloatArray | None) -> float:
        mean = float("nan") if entropy_nats is None else float(entropy_nats.mean())
        return self.bonus.applied(self.coefficient, mean) if self.bonus else 0.0


def begin(config: RunConfig, checkpoint: Path | None) -> RemedyStack:
    """The stack at the start of a run, or as saved in `checkpoint`. Raises ConfigError."""
    stack = RemedyStack(config.algorithm, remedies_of(config))
    bonus = stack.bonus
    if bonus is None:
        return stack
    if checkpoint is None:
        return replace(stack, coefficient=bonus.start())
    saved = json.loads((checkpoint / FILE).read_text(encoding="utf-8"))
    return replace(stack, coefficient=float(saved["coefficient"]))


def advanced(stack: RemedyStack, entropy_nats: float) -> RemedyStack:
    """The stack after a step whose H before the update was `entropy_nats`."""
    bonus = stack.bonus
    if bonus is None:
        return stack
    return replace(stack, coefficient=bonus.next(stack.coefficient, entropy_nats))


def save(stack: RemedyStack, folder: Path) -> None:
    """Write to `folder` what `begin` reads; nothing if the config determines everything."""
    if stack.bonus is not None:
        text = json.dumps({"coefficient": stack.coefficient})
        atomic.write_text(folder / FILE, text, durable=False)  # which the checkpoint sees to


def metrics(
    stack: RemedyStack, selection: TokenSelection, acted: Sequence[float], groups: int
) -> dict[str, float | None]:
    """The remedies' columns of a step's row.

    `acted`: share of tokens acted on in each update of the step; `groups`: groups drawn in all.
    """
    return {
        "groups/drawn": groups if stack.most_tries > 1 else None,
        "remedy/acted": float(np.mean(acted)) if stack.remedies else None,
        "remedy/chosen": float(selection.chosen.mean()) if stack.chooses else None,
        "entropy_coef": selection.bonus if stack.bonus else None,
    }


def names() -> list[str]:
    """The name of every remedy: that of its file in harness/train/remedies/, and of extensions."""
    return sorted({*_own_names(), *extensions.names("remedy")})


def _own_names() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(remedy_files.__path__)]


def remedies_of(config: RunConfig) -> tuple[Remedy, ...]:
    """The remedies in `config.remedy.methods`.

    Raises ConfigError, naming the dotted key, for an unknown remedy or key, a value out of range,
    or two remedies that exclude each other.
    """
    remedies = tuple(_remedy(name, values) for name, values in config.remedy.methods.items())
    for role, what in ONE_ONLY.items():
        same = [remedy.name() for remedy in remedies if isinstance(remedy, role)]
        if len(same) > 1:
            raise ConfigError(
                f"remedy.methods must have one method at most that sets {what}, "
                f"got {' and '.join(same)}"
            )
    return remedies


def check(config: RunConfig) -> None:
    """Raise ConfigError as `remedies_of` does, and where none of the remedies could ever act."""
    reasons = [remedy.idle(config) for remedy in remedies_of(config)]
    if reasons and all(reasons):
        raise ConfigError(str(reasons[0]))


def _remedy(name: str, values: Any) -> Remedy:
    ranges.one_of("remedy.methods", name, names())
    remedy: type[Remedy]
    if name in _own_names():
        remedy = importlib.import_module(f"{remedy_files.__name__}.{name}").REMEDY
    else:
        remedy = extensions.load("remedy", name)
    key = f"remedy.methods.{name}"
    if not isinstance(values, Mapping):
        raise ConfigError(f"{key} must be a mapping of its keys to values, got {values!r}")
    allowed = [part.name for part in dataclasses.fields(remedy)]
    for word in values:
        ranges.one_of(f"a key of {key}", str(word), allowed)
    return remedy(**values)
