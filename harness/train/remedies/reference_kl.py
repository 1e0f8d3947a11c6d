"""Reference KL: a penalty at every token keeps the policy near the start policy.

The term is coefficient * k3, k3 = exp(d) - d - 1 with d = log p_start - log p (GRPO, arXiv
2402.03300, equation 4; its coefficient 0.04). Its value estimates KL(policy || start), but the mean
of its slope 1 - exp(d) is the gradient of KL(start || policy). With `unbiased` the term is r k3,
r = p / p_old (DeepSeek-V3.2, arXiv 2512.02556; the default of TRL 1.16, `use_bias_correction_kl`).
Its slope is -r d, whose mean is the gradient of KL(policy || start), also with one update per
batch. As in TRL, neither is multiplied by an importance weight for the engine that drew the tokens.
In the sweep of arXiv 2505.22617 (0.001 to 0.1) the term stabilised entropy and lowered reward. At
step 1 the policy is the start policy and the term has no effect.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from harness.config.ranges import Between
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.arrays import Array, namespace
from harness.train.policy_gradient.remedy_roles import Added, StepTokens, Term


@dataclass(frozen=True)
class ReferenceKl(Term):
    """The weight of the term, and the choice of its gradient."""

    needs_start: ClassVar[bool] = True
    coefficient: Annotated[float, Between(0, 1e6)] = 0.04
    """Coefficient of the penalty."""
    unbiased: bool = False
    """Multiply the penalty by the ratio, so that its gradient is that of KL(policy || start)."""

    def prepare(self, step: StepTokens) -> FloatArray:
        assert step.start_logp is not None
        return step.start_logp

    def term(self, logp: Array, old_logp: Array, prepared: Array) -> Added:
        exp, log_ratio = namespace(logp).exp, prepared - logp
        k3, slope = exp(log_ratio) - log_ratio - 1, 1 - exp(log_ratio)
        if self.unbiased:
            ratio = exp(logp - old_logp)
            k3, slope = ratio * k3, -ratio * log_ratio
        return Added(self.coefficient * k3, self.coefficient * slope)


REMEDY = ReferenceKl
