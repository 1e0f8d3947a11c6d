"""What a run's remedies make of a batch: the methods of its config, put together.

Without any this is GRPO's clipped loss. All that is chosen for a step is numbers a token, so that
a batch may be learned from in pieces.
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
from harness.train import remedies
from harness.train.algorithms.advantages import FloatArray, IntArray
from harness.train.algorithms.losses import BoolArray, TokenLoss, clipped
from harness.train.algorithms.remedy_roles import (
    Bonus,
    Filling,
    Method,
    Penalty,
    Ratio,
    StepTokens,
    Term,
    Weight,
)

FILE = "remedy.json"


@dataclass(frozen=True, slots=True)
class Marks:
    """What was chosen for a step before its first update; arrays of shape (tokens,)."""

    weight: FloatArray
    chosen: BoolArray
    """The tokens that a method picked out."""
    touched: BoolArray
    """Those of conversations that a remedy had held, or that lost something by one."""
    terms: tuple[FloatArray, ...]
    """What each added term goes by."""
    bonus: float = 0.0
    """What H is multiplied by."""
    lost: BoolArray | None = None
    """Those of conversations without a reward, which nothing is learned from; None for none."""

    @property
    def counted(self) -> FloatArray:
        """1, but 0 where nothing is learned from the token."""
        lost = np.zeros(len(self.weight), bool) if self.lost is None else self.lost
        return np.where(lost, 0.0, 1.0)

    def at(self, places: slice | IntArray) -> Marks:
        """Those of some of the tokens."""
        terms = tuple(marks[places] for marks in self.terms)
        chosen, touched = self.chosen[places], self.touched[places]
        lost = None if self.lost is None else self.lost[places]
        return Marks(self.weight[places], chosen, touched, terms, self.bonus, lost)


@dataclass(frozen=True, slots=True)
class Treated:
    """A loss, and which tokens are learned from otherwise than by plain GRPO; shape (tokens,)."""

    loss: TokenLoss
    acted: BoolArray


@dataclass(frozen=True, slots=True)
class Treatment:
    """The remedies of a run, and where it stands with them."""

    algorithm: AlgorithmConfig
    methods: tuple[Method, ...]
    coefficient: float = 0.0
    """Of the entropy bonus, before a controller has looked at H."""

    @property
    def needs_entropies(self) -> bool:
        """Whether `mark` asks for the entropies before the update."""
        return any(method.needs_entropies for method in self.methods)

    @property
    def needs_start(self) -> bool:
        """Whether `mark` asks for what the start policy thinks of the tokens."""
        return any(method.needs_start for method in self.methods)

    @property
    def chooses(self) -> bool:
        """Whether one of the methods picks out tokens."""
        return any(method.chooses for method in self.methods)

    @property
    def most_tries(self) -> int:
        """How often a group is held at most while it teaches nothing."""
        return max([1, *(m.most_tries() for m in self.methods if isinstance(m, Filling))])

    def penalties(self, tokens: FloatArray, limit: int) -> FloatArray | None:
        """What each reply loses for its tokens, shape of `tokens`; None where nothing is asked."""
        found = [m.penalties(tokens, limit) for m in self.methods if isinstance(m, Penalty)]
        return np.sum(found, axis=0) if found else None

    def mark(self, step: StepTokens) -> Marks:
        """Choose the tokens of a step, before its first update."""
        weight, chosen = np.ones(len(step.logp)), np.zeros(len(step.logp), bool)
        terms = []
        for method in self.methods:
            if isinstance(method, Weight):
                found = method.weigh(step)
                weight, chosen = weight * found.weight, chosen | found.chosen
            elif isinstance(method, Term):
                terms.append(method.mark(step))
                chosen = chosen | (method.chooses & (terms[-1] != 0))
        touched = np.zeros_like(chosen) if step.touched is None else step.touched
        bonus = self._bonus(step.entropy_nats)
        return Marks(weight, chosen, touched, tuple(terms), bonus, step.lost)

    def loss(
        self, logp: FloatArray, old_logp: FloatArray, advantage: FloatArray, marks: Marks
    ) -> Treated:
        """The loss of some tokens under the weights as they are; H comes on top of it."""
        plain = self._plain(logp, old_logp, advantage)
        shape = next((m for m in self.methods if isinstance(m, Ratio)), None)
        shaped = shape.surrogate(logp, old_logp, advantage) if shape else plain
        value, slope = marks.weight * shaped.value, marks.weight * shaped.slope
        acted = marks.touched | (marks.weight != 1) | (marks.bonus > 0)
        acted = acted | (shaped.slope != plain.slope)
        added = [method for method in self.methods if isinstance(method, Term)]
        for method, mark in zip(added, marks.terms, strict=True):
            term = method.term(logp, old_logp, mark)
            value, slope = value + term.value, slope + term.slope
            acted = acted | (term.slope != 0)
        return Treated(TokenLoss(value, slope, shaped.low, shaped.high), acted)

    def _plain(self, logp: FloatArray, old_logp: FloatArray, advantage: FloatArray) -> TokenLoss:
        low, high = self.algorithm.clip_low, self.algorithm.clip_high
        return clipped(logp, old_logp, advantage, low, high)

    def _bonus(self, entropy_nats: FloatArray | None) -> float:
        mean = float("nan") if entropy_nats is None else float(entropy_nats.mean())
        bonus = self.bonus
        return bonus.applied(self.coefficient, mean) if bonus else 0.0

    @property
    def bonus(self) -> Bonus | None:
        """The one that adds H to what is gained."""
        return next((method for method in self.methods if isinstance(method, Bonus)), None)


def begin(config: RunConfig, checkpoint: Path | None) -> Treatment:
    """At the start of a run, or as it stood when `checkpoint` was written. Raises ConfigError."""
    treatment = Treatment(config.algorithm, methods_of(config))
    bonus = treatment.bonus
    if bonus is None:
        return treatment
    if checkpoint is None:
        return replace(treatment, coefficient=bonus.start())
    kept = json.loads((checkpoint / FILE).read_text(encoding="utf-8"))
    return replace(treatment, coefficient=float(kept["coefficient"]))


def advanced(treatment: Treatment, entropy_nats: float) -> Treatment:
    """After a step whose H before the update was `entropy_nats`."""
    bonus = treatment.bonus
    if bonus is None:
        return treatment
    return replace(treatment, coefficient=bonus.next(treatment.coefficient, entropy_nats))


def save(treatment: Treatment, folder: Path) -> None:
    """What `begin` needs of a checkpoint; nothing where all is in the config."""
    if treatment.bonus is not None:
        text = json.dumps({"coefficient": treatment.coefficient})
        atomic.write_text(folder / FILE, text, durable=False)  # which the checkpoint sees to


def metrics(
    treatment: Treatment, marks: Marks, acted: Sequence[float], groups: int
) -> dict[str, float | None]:
    """`acted`: the share of tokens acted upon, in each update of a step; `groups`: held in all."""
    return {
        "groups/drawn": groups if treatment.most_tries > 1 else None,
        "remedy/acted": float(np.mean(acted)) if treatment.methods else None,
        "remedy/chosen": float(marks.chosen.mean()) if treatment.chooses else None,
        "entropy_coef": marks.bonus if treatment.bonus else None,
    }


ONE_ONLY = {Ratio: "the ratio's shape", Bonus: "a bonus for entropy"}
"""Roles that one method of a run can play."""


def names() -> list[str]:
    """Every method, by the name of its file."""
    return sorted(module.name for module in pkgutil.iter_modules(remedies.__path__))


def methods_of(config: RunConfig) -> tuple[Method, ...]:
    """Raises ConfigError, naming the dotted key, for what is no method, knob or combination."""
    made = tuple(_made(name, knobs) for name, knobs in config.remedy.methods.items())
    for role, what in ONE_ONLY.items():
        same = [method.name() for method in made if isinstance(method, role)]
        if len(same) > 1:
            raise ConfigError(
                f"remedy.methods must have one method at most that sets {what}, "
                f"got {' and '.join(same)}"
            )
    return made


def check(config: RunConfig) -> None:
    """Raises ConfigError too where none of a run's methods could ever act."""
    reasons = [method.idle(config) for method in methods_of(config)]
    if reasons and all(reasons):
        raise ConfigError(str(reasons[0]))


def _made(name: str, knobs: Any) -> Method:
    ranges.one_of("remedy.methods", name, names())
    method: type[Method] = importlib.import_module(f"{remedies.__name__}.{name}").METHOD
    key = f"remedy.methods.{name}"
    if not isinstance(knobs, Mapping):
        raise ConfigError(f"{key} must be a mapping of its keys to values, got {knobs!r}")
    allowed = [part.name for part in dataclasses.fields(method)]
    for given in knobs:
        ranges.one_of(f"a key of {key}", str(given), allowed)
    return method(**knobs)
