"""Reference KL: a term keeps the policy near the start policy, at every token.

coefficient * (exp(d) - d - 1), d = log p_start - log p (GRPO, arXiv 2402.03300, equation 4; its
coefficient 0.04). In value this estimates KL(policy || start); the mean of its slope 1 - exp(d) is
the gradient of KL(start || policy). The sweep of arXiv 2505.22617 (0.001 to 0.1) found entropy
steadied and reward lowered. At step 1 the policy is the start and nothing happens.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from harness.config.ranges import Between
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.arrays import Array, namespace
from harness.train.policy_gradient.remedy_roles import Added, StepTokens, Term


@dataclass(frozen=True)
class ReferenceKl(Term):
    """The weight of the term."""

    needs_start: ClassVar[bool] = True
    coefficient: Annotated[float, Between(0, 1e6)] = 0.04
    """Weight of the term."""

    def prepare(self, step: StepTokens) -> FloatArray:
        assert step.start_logp is not None
        return step.start_logp

    def term(self, logp: Array, old_logp: Array, prepared: Array) -> Added:
        away = prepared - logp
        likelier = namespace(logp).exp(away)
        return Added(self.coefficient * (likelier - away - 1), self.coefficient * (1 - likelier))


REMEDY = ReferenceKl
