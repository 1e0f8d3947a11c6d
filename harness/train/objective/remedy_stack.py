"""The algorithm and remedies of a run, and the loss that they define together.

The remedies' selection for a step consists of numbers per token, so the loss of a batch can be
computed in pieces. Selection is in numpy, once per step; the loss is in numpy or torch, depending
on its arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from harness.config.run import AlgorithmConfig, RunConfig
from harness.train.objective.token_selection import RemedyLoss, TokenSelection
from harness.train.policy_gradient.advantages import FloatArray, group_stds
from harness.train.policy_gradient.algorithm import Algorithm
from harness.train.policy_gradient.arrays import Array
from harness.train.policy_gradient.critic import Critic
from harness.train.policy_gradient.losses import LossTokens, TokenLoss
from harness.train.policy_gradient.remedy_roles import (
    Adaptive,
    Added,
    Bonus,
    Filling,
    Penalty,
    Ratio,
    Remedy,
    Sharpening,
    Shift,
    State,
    StepTokens,
    Term,
    TokenBonus,
    Weight,
)


@dataclass(frozen=True, slots=True)
class RemedyStack:
    """A run's algorithm and remedies, and the state that remedies carry from step to step."""

    algorithm: Algorithm
    config: AlgorithmConfig
    remedies: tuple[Remedy, ...]
    coefficient: float = 0.0
    """The coefficient of the entropy bonus, before a controller compares H with its target."""
    states: Mapping[str, State] = field(default_factory=dict)
    """The numbers of each remedy that carries some, after the last step, by the remedy's name."""

    @property
    def needs_entropies(self) -> bool:
        """Whether `select` needs the entropies before the update."""
        return any(remedy.needs_entropies for remedy in self.remedies)

    @property
    def needs_logp(self) -> bool:
        """Whether `select` may need the log-probabilities of the tokens when they were drawn."""
        return self.algorithm.needs_logp or bool(self.remedies)

    @property
    def needs_start(self) -> bool:
        """Whether `select` needs the tokens' log-probabilities under the start policy."""
        return self.algorithm.needs_start or any(r.needs_start for r in self.remedies)

    @property
    def needs_mismatched(self) -> bool:
        """Whether `select` needs `StepTokens.mismatched_ratio`."""
        return self.algorithm.needs_mismatched()

    @property
    def needs_planning(self) -> bool:
        """Whether `select` needs to know which tokens open a strategy."""
        return any(remedy.needs_planning for remedy in self.remedies)

    @property
    def needs_distribution(self) -> bool:
        """Whether `select` needs `StepTokens.mean_discriminant`."""
        return any(remedy.needs_distribution for remedy in self.remedies)

    @property
    def chooses(self) -> bool:
        """Whether a remedy selects tokens."""
        return any(remedy.chooses for remedy in self.remedies)

    @property
    def most_tries(self) -> int:
        """Maximum number of draws of a group with equal rewards per step; at least 1."""
        return max([1, *(r.most_tries() for r in self.remedies if isinstance(r, Filling))])

    @property
    def bonus(self) -> Bonus | None:
        """The remedy that adds an entropy bonus; None if there is none."""
        return next((remedy for remedy in self.remedies if isinstance(remedy, Bonus)), None)

    def groups(self) -> tuple[int, float | None]:
        """Return the size of compared groups and the floor of their standard deviation.

        The size is 1 if no groups are compared; the floor is None if there is none.
        """
        size = self.config.group_size if self.algorithm.needs_groups else 1
        return size, self.algorithm.std_floor(self.config)

    def spread(self, rewards: FloatArray) -> FloatArray | None:
        """Return the standard deviation of rewards in the group of each conversation.

        Shape (conversations,); 0 if unknown. None if the algorithm compares no groups.
        """
        if not self.algorithm.needs_groups:
            return None
        stds = np.nan_to_num(group_stds(rewards, self.config.group_size))
        return np.repeat(stds, self.config.group_size)

    def critic(self, checkpoint: Path | None) -> Critic | None:
        """Return the algorithm's critic at the start of a run, or as saved in `checkpoint`.

        None if the algorithm has no critic. Raises DataError if the checkpoint lacks it.
        """
        critic = self.algorithm.critic()
        return critic if critic is None or checkpoint is None else critic.restored(checkpoint)

    def penalties(self, tokens: FloatArray, limit: int) -> FloatArray | None:
        """Return each reply's length penalty, in the shape of `tokens`; None without such a remedy.

        `tokens`: length of each reply, nan where there is none; `limit`: the maximum length.
        """
        penalties = [r.penalties(tokens, limit) for r in self.remedies if isinstance(r, Penalty)]
        return np.sum(penalties, axis=0) if penalties else None

    def select(self, step: StepTokens) -> TokenSelection:
        """Return the remedies' selection for a step, made before its first update."""
        weight, chosen = np.ones(len(step.logp)), np.zeros(len(step.logp), bool)
        states, terms, shifts, factors = {}, [], [], []
        for remedy in self.remedies:
            remedy_step = step
            if isinstance(remedy, Adaptive):
                states[remedy.name()] = remedy.observed(self.states.get(remedy.name(), {}), step)
                remedy_step = replace(step, state=states[remedy.name()])
            if isinstance(remedy, Weight):
                weights = remedy.weigh(remedy_step)
                weight, chosen = weight * weights.weight, chosen | weights.chosen
            if isinstance(remedy, Term):
                terms.append(remedy.prepare(remedy_step))
                chosen = chosen | (remedy.chooses & (terms[-1] != 0))
            if isinstance(remedy, Shift):
                shifts.append(remedy.shift(remedy_step))
            if isinstance(remedy, Sharpening):
                factors.append(remedy.factors(remedy_step))
                chosen = chosen | (factors[-1] != 1)
        return TokenSelection(
            weight,
            chosen,
            np.zeros_like(chosen) if step.touched is None else step.touched,
            tuple(terms),
            self._bonus_coefficient(step, states),
            step.lost,
            np.sum(shifts, axis=0) if shifts else None,
            np.prod(factors, axis=0) if factors else None,
            states,
            step.progress,
            self.algorithm.prepare(step),
        )

    def plain_loss(self, tokens: LossTokens, selection: TokenSelection) -> TokenLoss:
        """Return the loss of some tokens by the algorithm without remedies."""
        return self.algorithm.loss(replace(tokens, prepared=selection.prepared), self.config)

    def loss(self, tokens: LossTokens, selection: TokenSelection) -> RemedyLoss:
        """Return the loss of some tokens and their selection under the current weights.

        The entropy bonus is not included, since its gradient does not pass through log p.
        """
        plain = self.plain_loss(tokens, selection)
        shifted = tokens
        if selection.shift is not None:
            shifted = replace(tokens, advantage=tokens.advantage + selection.shift)
        shaped = self._shape_loss(shifted, selection, plain if shifted is tokens else None)
        weighed = replace(
            shaped, value=selection.weight * shaped.value, slope=selection.weight * shaped.slope
        )
        acted = selection.touched | (selection.weight != 1) | (shaped.slope != plain.slope)
        if selection.has_bonus:
            acted = acted | (selection.bonus != 0)
        if selection.factor is not None:
            acted = acted | ((selection.factor != 1) & (weighed.slope != 0))
        added = self._sum_terms(tokens, selection)
        if added is not None:
            acted = acted | (added.slope != 0)
        return RemedyLoss(weighed, added, acted)

    def _shape_loss(
        self, tokens: LossTokens, selection: TokenSelection, plain: TokenLoss | None
    ) -> TokenLoss:
        """Return the policy-gradient term before weighting; `plain`: the algorithm's, if known."""
        ratio = next((r for r in self.remedies if isinstance(r, Ratio)), None)
        if ratio is None:
            return self.plain_loss(tokens, selection) if plain is None else plain
        if isinstance(ratio, Adaptive):
            ratio = ratio.at(selection.states[ratio.name()])
        return ratio.surrogate(tokens.logp, tokens.old_logp, tokens.advantage)

    def _sum_terms(self, tokens: LossTokens, selection: TokenSelection) -> Added | None:
        """Return the sum of the terms that remedies add to each token's loss; None without any."""
        added = None
        term_remedies = [remedy for remedy in self.remedies if isinstance(remedy, Term)]
        for remedy, prepared in zip(term_remedies, selection.terms, strict=True):
            term = remedy.term(tokens.logp, tokens.old_logp, prepared)
            if added is not None:
                term = Added(added.value + term.value, added.slope + term.slope)
            added = term
        return added

    def _bonus_coefficient(self, step: StepTokens, states: Mapping[str, State]) -> Array | float:
        """Return the coefficient of H in a step: one number, or one per token."""
        by_token = next((r for r in self.remedies if isinstance(r, TokenBonus)), None)
        if by_token is not None:
            state = states.get(by_token.name(), {})
            coefficients = by_token.coefficients(replace(step, state=state))
            return coefficients if coefficients.any() else 0.0
        if self.bonus is None:
            return 0.0
        mean = float("nan") if step.entropy_nats is None else float(step.entropy_nats.mean())
        return self.bonus.scheduled(step.progress).applied(self.coefficient, mean)


def progress(config: RunConfig, step: int) -> float:
    """Return the share of a run's steps before `step`: 0 in the first, 1 in the last."""
    return (step - 1) / max(1, config.trainer.steps - 1)


def metrics(
    stack: RemedyStack, selection: TokenSelection, acted: Sequence[float], groups: int
) -> dict[str, float | None]:
    """Return the remedies' metrics of a step.

    `acted`: share of tokens that remedies change in each update; `groups`: number of groups drawn.
    """
    has_bonus = any(isinstance(remedy, Bonus | TokenBonus) for remedy in stack.remedies)
    return {
        "groups/drawn": groups if stack.most_tries > 1 else None,
        "remedy/acted": float(np.mean(acted)) if stack.remedies else None,
        "remedy/chosen": float(selection.chosen.mean()) if stack.chooses else None,
        "entropy_coef": float(np.mean(selection.bonus)) if has_bonus else None,
    }
