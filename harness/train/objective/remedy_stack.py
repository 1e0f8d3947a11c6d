"""The stack of a run's remedies: the loss that they and the algorithm make together.

What the remedies choose for a step is numbers for each token, so a batch may be learned from in
pieces. They choose in numpy, once a step; the loss is computed in numpy or in torch, as its tokens
are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from harness.config.run import AlgorithmConfig, RunConfig
from harness.records import atomic
from harness.train.objective import registry
from harness.train.policy_gradient.advantages import FloatArray, IntArray
from harness.train.policy_gradient.algorithm import Algorithm
from harness.train.policy_gradient.arrays import Array, namespace
from harness.train.policy_gradient.critic import Critic
from harness.train.policy_gradient.losses import LossTokens, TokenLoss
from harness.train.policy_gradient.remedy_roles import (
    Bonus,
    Filling,
    Penalty,
    Ratio,
    Remedy,
    StepTokens,
    Term,
    Weight,
)

FILE = "remedy.json"


@dataclass(frozen=True, slots=True)
class TokenSelection:
    """The remedies' choice for a step, made before its first update; arrays of shape (tokens,)."""

    weight: Array
    """Factor of each token's policy-gradient term."""
    chosen: Array
    """The tokens that a remedy picked out."""
    touched: Array
    """Tokens of conversations that were redrawn or penalised by a remedy."""
    terms: tuple[Array, ...]
    """For each remedy that adds a term, the number it goes by at each token."""
    bonus: float = 0.0
    """Coefficient of H."""
    lost: Array | None = None
    """Tokens of conversations without a reward, which carry no gradient; None if there are none."""
    prepared: tuple[Array, ...] = ()
    """What the algorithm goes by at each token, chosen with the rest."""

    @property
    def counted(self) -> Array:
        """1 for each token that carries a gradient, 0 for the others; shape (tokens,)."""
        ones = namespace(self.weight).ones_like(self.weight)
        return ones if self.lost is None else ones * ~self.lost

    def at(self, places: slice | IntArray) -> TokenSelection:
        """The selection of the tokens at `places`."""
        return self.map(lambda column: column[places])

    def map(self, convert: Callable[[Array], Array]) -> TokenSelection:
        """The selection with each of its arrays converted, as from numpy to a device."""
        return TokenSelection(
            convert(self.weight),
            convert(self.chosen),
            convert(self.touched),
            tuple(convert(term) for term in self.terms),
            self.bonus,
            None if self.lost is None else convert(self.lost),
            tuple(convert(column) for column in self.prepared),
        )


@dataclass(frozen=True, slots=True)
class RemedyLoss:
    """A loss with remedies, and the tokens whose loss differs from the algorithm's own."""

    loss: TokenLoss
    acted: Array
    """Shape (tokens,)."""

    def at(self, places: slice) -> RemedyLoss:
        """The loss of the tokens at `places`."""
        return RemedyLoss(self.loss.at(places), self.acted[places])


@dataclass(frozen=True, slots=True)
class RemedyStack:
    """A run's algorithm and remedies, and the state that these carry from step to step."""

    algorithm: Algorithm
    config: AlgorithmConfig
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
        return self.algorithm.needs_start or any(r.needs_start for r in self.remedies)

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

    def groups(self) -> tuple[int, float | None]:
        """The size of the groups that are compared, 1 if none are, and the floor under their
        standard deviation, None if there is none.
        """
        size = self.config.group_size if self.algorithm.needs_groups else 1
        return size, self.algorithm.std_floor(self.config)

    def critic(self, checkpoint: Path | None) -> Critic | None:
        """The algorithm's critic at the start of a run, or as saved in `checkpoint`.

        Raises DataError if the checkpoint lacks it.
        """
        critic = self.algorithm.critic()
        return critic if critic is None or checkpoint is None else critic.restored(checkpoint)

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
        prepared = self.algorithm.prepare(step)
        return TokenSelection(weight, chosen, touched, tuple(terms), bonus, step.lost, prepared)

    def plain_loss(self, tokens: LossTokens, selection: TokenSelection) -> TokenLoss:
        """The loss of some tokens by the algorithm without remedies."""
        return self.algorithm.loss(replace(tokens, prepared=selection.prepared), self.config)

    def loss(self, tokens: LossTokens, selection: TokenSelection) -> RemedyLoss:
        """The loss of some tokens under the current weights, and of their selection.

        The entropy bonus is not part of it: its gradient does not go through log p.
        """
        plain = self.plain_loss(tokens, selection)
        logp, old_logp, advantage = tokens.logp, tokens.old_logp, tokens.advantage
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

    def _bonus_coefficient(self, entropy_nats: FloatArray | None) -> float:
        mean = float("nan") if entropy_nats is None else float(entropy_nats.mean())
        return self.bonus.applied(self.coefficient, mean) if self.bonus else 0.0


def begin(config: RunConfig, checkpoint: Path | None) -> RemedyStack:
    """The stack at the start of a run, or as saved in `checkpoint`. Raises ConfigError."""
    algorithm, remedies = registry.algorithm_of(config), registry.remedies_of(config)
    stack = RemedyStack(algorithm, config.algorithm, remedies)
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
