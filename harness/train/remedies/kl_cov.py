"""KL-Cov: a penalty keeps the tokens of highest covariance near the policy that sampled them.

-r A for all tokens, without a clip, plus coefficient * |log p - log p_old| at the max(1, floor(
share * N)) tokens with the largest Cov_i = (log p_i - mean)(A_i - mean) (arXiv 2505.22617,
equations 13 and 14). The defaults are those of its 7B model; the 32B model has share 2e-4. The
authors' code states the share in percent, and uses the absolute log-ratio where the paper writes a
divergence. Here the tokens are chosen once a step. With one update per batch the log-ratio is 0 and
KL-Cov has no effect (issue 1).
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from harness.config.ranges import Between
from harness.train.policy_gradient.advantages import FloatArray, token_covariances, top
from harness.train.policy_gradient.arrays import Array, namespace
from harness.train.policy_gradient.losses import TokenLoss, unclipped
from harness.train.policy_gradient.remedy_roles import Added, Ratio, StepTokens, Term


@dataclass(frozen=True)
class KlCov(Term, Ratio):
    """The share of tokens, and the weight of the term."""

    chooses: ClassVar[bool] = True
    share: Annotated[float, Between(0, 1)] = 2e-3
    """Share of tokens, those with the highest covariance, to penalise."""
    coefficient: Annotated[float, Between(0, 1e6)] = 1.0
    """Coefficient of the penalty."""

    def surrogate(self, logp: Array, old_logp: Array, advantage: Array) -> TokenLoss:
        return unclipped(logp, old_logp, advantage)

    def prepare(self, step: StepTokens) -> FloatArray:
        return top(token_covariances(step.logp, step.advantage), self.share)

    def term(self, logp: Array, old_logp: Array, prepared: Array) -> Added:
        xp, weight, log_ratio = namespace(logp), self.coefficient * prepared, logp - old_logp
        return Added(weight * xp.abs(log_ratio), weight * xp.sign(log_ratio))


REMEDY = KlCov
