"""A critic: the reward to expect from an action, given what the policy read before it. An action is
a reply, or a token for algorithms with token values.

The critic has its own parameters, optimiser and metrics, and shares only features with the policy:
the features of the tabular policy's observation, or a language model's hidden state at the token
before the action. No gradient flows back through the features here; `objective/value_term.py` sends
one if the algorithm asks for it.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from harness.errors import DataError, DivergedError
from harness.records import atomic, plain_file
from harness.records.checkpoints import CRITIC
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.arrays import Array, namespace

BETA1, BETA2, EPSILON = 0.9, 0.99, 1e-8
MOST_ERROR = 1e3
"""Largest mean squared error allowed on a batch, before or after learning from it, relative to
max(1, mean squared target). At sane learning rates the error is below 1; beyond this limit the
advantages would be noise."""
EMPTY: FloatArray = np.zeros((3, 0))
CRITIC_RATE = "algorithm.options.critic_rate"


class Critic(Protocol):
    """An immutable critic between two steps: learning returns a new one."""

    @property
    def clip(self) -> float | None:
        """How far a value may move on one batch before its loss is clipped; None for no limit."""
        ...

    def head(self, width: int) -> FloatArray:
        """Return the weights of `width` features with the bias last, shape (width + 1,)."""
        ...

    def values(self, features: FloatArray) -> FloatArray:
        """Return the expected reward of each action, shape (actions,).

        `features`: shape (actions, features).
        """
        ...

    def fitted(self, features: FloatArray, targets: FloatArray) -> Critic:
        """Return the critic after learning from one batch; `targets`: shape (actions,).

        Raises DivergedError if its state is not finite afterwards, or if its values before or after
        are far from the targets.
        """
        ...

    def save(self, folder: Path) -> None:
        """Write the parameters and the optimiser's state to `folder`."""
        ...

    def restored(self, folder: Path) -> Critic:
        """Return the critic that `save` wrote. Raises DataError for a missing or damaged file."""
        ...


@dataclass(frozen=True)
class LinearCritic:
    """A linear critic: one weight per feature and a bias, fitted by Adam to the mean squared error.

    With `clip` the loss of a value is max((v - target)^2, (v_clipped - target)^2) / 2, where
    v_clipped is v limited to within `clip` of the value before the batch (PPO's value clipping, as
    in arXiv 2006.05990). A value that has moved that far towards its target learns no more from
    this batch.
    """

    rate: float
    passes: int
    """Updates on each batch."""
    state: FloatArray
    """Weights (the bias last) and Adam's first and second moments, shape (3, features + 1); shape
    (3, 0) before the first batch."""
    updates: int = 0
    clip: float | None = None
    key: str = CRITIC_RATE
    """The config key of `rate`, for messages."""

    @classmethod
    def start(
        cls, rate: float, passes: int, clip: float | None = None, key: str = CRITIC_RATE
    ) -> LinearCritic:
        """Return a critic that expects 0 from every action."""
        return cls(rate, passes, EMPTY, clip=clip, key=key)

    def head(self, width: int) -> FloatArray:
        weights: FloatArray = self._state_for(width)[0]
        return weights

    def values(self, features: FloatArray) -> FloatArray:
        values: FloatArray = _with_bias(features) @ self.head(features.shape[1])
        return values

    def fitted(self, features: FloatArray, targets: FloatArray) -> LinearCritic:
        x, (weights, first, second) = _with_bias(features), self._state_for(features.shape[1])
        updates, old_values = self.updates, x @ weights
        with np.errstate(all="ignore"):  # non-finite numbers raise below
            for _ in range(self.passes):
                errors = value_slopes(x @ weights, old_values, targets, self.clip)
                gradient = x.T @ errors / len(targets)
                updates += 1
                first = BETA1 * first + (1 - BETA1) * gradient
                second = BETA2 * second + (1 - BETA2) * gradient**2
                size = np.sqrt(second / (1 - BETA2**updates)) + EPSILON
                weights = weights - self.rate * first / (1 - BETA1**updates) / size
            state = np.stack([weights, first, second])
            # a critic that fits this batch well can still have been far off before the fit
            errors_after = {
                count: float(((predicted - targets) ** 2).mean())
                for count, predicted in ((updates, x @ weights), (self.updates, old_values))
            }
            limit = MOST_ERROR * max(1.0, float((targets**2).mean()))
        for count, error in errors_after.items():
            if not (np.isfinite(state).all() and error <= limit):
                raise DivergedError(
                    f"the critic must stay near the rewards, and is off by {error**0.5:.3g} (root "
                    f"mean square) after {count} updates at {self.key}={self.rate:g}; lower the "
                    "rate"
                )
        return replace(self, state=state, updates=updates)

    def save(self, folder: Path) -> None:
        file = io.BytesIO()
        np.savez(file, state=self.state, updates=np.array(self.updates))
        atomic.write_bytes(folder / CRITIC, file.getbuffer(), durable=False)

    def restored(self, folder: Path) -> LinearCritic:
        path = folder / CRITIC
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
                state, updates = file["state"], file["updates"]
        except plain_file.ARCHIVE_ERRORS as error:
            raise DataError(f"{path}: must hold the critic of the run, got {error}") from error
        if state.ndim != 2 or len(state) != 3 or state.dtype != np.float64:
            got = f"{state.dtype} of shape {state.shape}"
            raise DataError(f"{path}: must hold float64 of shape (3, features + 1), got {got}")
        count = int(updates) if updates.shape == () and updates.dtype.kind == "i" else -1
        if count < 0 or not np.isfinite(state).all():
            rule = "must hold finite numbers and how many updates made them"
            raise DataError(f"{path}: {rule}, got {updates} updates")
        return replace(self, state=state, updates=count)

    def _state_for(self, width: int) -> FloatArray:
        if not self.state.size:
            return np.zeros((3, width + 1))
        if self.state.shape[1] != width + 1:
            raise DataError(
                f"{CRITIC}: must hold a critic of {width} features, as this run's actions have, "
                f"got {self.state.shape[1] - 1}"
            )
        return self.state


def value_losses(values: Array, old_values: Array, targets: Array, clip: float | None) -> Array:
    """Return the loss of each value, shape (actions,); `old_values`: those before the batch."""
    errors = (values - targets) ** 2
    if clip is not None:
        clipped = old_values + (values - old_values).clip(-clip, clip)
        errors = namespace(values).maximum(errors, (clipped - targets) ** 2)
    return errors / 2


def value_slopes(
    values: FloatArray, old_values: FloatArray, targets: FloatArray, clip: float | None
) -> FloatArray:
    """Return the derivative of `value_losses` by the values, shape (actions,)."""
    slopes = values - targets
    if clip is None:
        return slopes
    clipped = old_values + np.clip(values - old_values, -clip, clip)
    is_clipped = (np.abs(values - old_values) > clip) & ((clipped - targets) ** 2 > slopes**2)
    return np.where(is_clipped, 0.0, slopes)


def fit_metrics(values: FloatArray, targets: FloatArray) -> dict[str, float | None]:
    """Return how well a critic's values predicted a batch's targets before it learnt from them.

    Explained variance is 1 - var(target - value) / var(target): 0 for constant values, negative
    for worse ones, None if all targets are equal.
    """
    # in floating point the variance of equal numbers need not be 0
    errors, differ = targets - values, targets.min() < targets.max()
    return {
        "value/mean": float(values.mean()),
        "value/loss": float((errors**2).mean() / 2),
        "value/explained_variance": 1 - float(errors.var() / targets.var()) if differ else None,
    }


def _with_bias(features: FloatArray) -> FloatArray:
    return np.column_stack([features, np.ones(len(features))])
