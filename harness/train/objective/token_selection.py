"""The remedies' selection among a step's tokens, and the resulting loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from harness.train.policy_gradient.advantages import IntArray
from harness.train.policy_gradient.arrays import Array, namespace
from harness.train.policy_gradient.losses import TokenLoss
from harness.train.policy_gradient.remedy_roles import Added, State


@dataclass(frozen=True, slots=True)
class TokenSelection:
    """The remedies' per-token settings of a step, chosen before its first update.

    Arrays have shape (tokens,).
    """

    weight: Array
    """Factor of each token's policy-gradient term."""
    chosen: Array
    """The tokens that a remedy selected."""
    touched: Array
    """Tokens of conversations that were redrawn or penalised by a remedy."""
    terms: tuple[Array, ...]
    """For each remedy that adds a term, its prepared input at each token."""
    bonus: Array | float = 0.0
    """Coefficient of H, per token or the same for all."""
    lost: Array | None = None
    """Tokens of conversations without a reward, which carry no gradient; None if there are none."""
    shift: Array | None = None
    """The number added to each advantage; None if no remedy adds any."""
    factor: Array | None = None
    """Factor of the logits in each token's policy-gradient term; None if all are 1."""
    states: Mapping[str, State] = field(default_factory=dict)
    """The state of each remedy that carries one, by its name."""
    progress: float = 0.0
    """Share of the run's steps before this one."""
    prepared: tuple[Array, ...] = ()
    """The arrays that the algorithm's `prepare` returned."""

    @property
    def has_bonus(self) -> bool:
        """Whether H has a coefficient other than 0 somewhere."""
        return not isinstance(self.bonus, float) or self.bonus != 0

    @property
    def counted(self) -> Array:
        """1 for each token that carries a gradient, 0 for the others; shape (tokens,)."""
        ones = namespace(self.weight).ones_like(self.weight)
        return ones if self.lost is None else ones * ~self.lost

    def at(self, indices: slice | IntArray) -> TokenSelection:
        """Return the selection of the tokens at `indices`."""
        return self.map(lambda column: column[indices])

    def map(self, convert: Callable[[Array], Array]) -> TokenSelection:
        """Return the selection with all arrays converted, for example from numpy to a device."""

        def maybe(column: Array | None) -> Array | None:
            return None if column is None else convert(column)

        return replace(
            self,
            weight=convert(self.weight),
            chosen=convert(self.chosen),
            touched=convert(self.touched),
            terms=tuple(convert(term) for term in self.terms),
            bonus=self.bonus if isinstance(self.bonus, float) else convert(self.bonus),
            lost=maybe(self.lost),
            shift=maybe(self.shift),
            factor=maybe(self.factor),
            prepared=tuple(convert(column) for column in self.prepared),
        )


@dataclass(frozen=True, slots=True)
class RemedyLoss:
    """A loss with remedies, and the tokens whose loss differs from the algorithm's own."""

    policy: TokenLoss
    """The policy-gradient term, which importance weights multiply."""
    added: Added | None
    """The sum of the terms that remedies add; None if none does."""
    acted: Array
    """The tokens whose loss differs, shape (tokens,)."""

    @property
    def loss(self) -> TokenLoss:
        """The sum of both terms."""
        if self.added is None:
            return self.policy
        value, slope = self.policy.value + self.added.value, self.policy.slope + self.added.slope
        return replace(self.policy, value=value, slope=slope)

    def at(self, indices: slice) -> RemedyLoss:
        """Return the loss of the tokens at `indices`."""
        added = self.added and Added(self.added.value[indices], self.added.slope[indices])
        return RemedyLoss(self.policy.at(indices), added, self.acted[indices])
