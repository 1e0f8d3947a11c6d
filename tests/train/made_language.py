"""A small random model, and conversations for its loss."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from harness.config.run import AlgorithmConfig, PolicyConfig
from harness.train.algorithms.grpo import Grpo
from harness.train.objective.loss_batch import LossBatch, LossSettings
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.algorithm import Algorithm
from harness.train.policy_gradient.losses import LossTokens, TokenLoss, unclipped
from harness.train.policy_gradient.rewards import Rewards
from tests.train.made import stack_of, unselective

WORDS = 24


def small_model(**options: Any) -> Any:
    """A Qwen3 of two layers with random weights, whose logits differ."""
    torch.manual_seed(3)
    made = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=WORDS, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=1, head_dim=8, tie_word_embeddings=True,
            **options,
        )
    ).eval()  # fmt: skip
    with torch.no_grad():
        made.get_input_embeddings().weight.mul_(10)
    return made


@pytest.fixture
def model() -> Any:
    return small_model()


def batch(old: bool = False) -> LossBatch:
    """Eleven conversations of different lengths, some tokens the policy's own."""
    rng = np.random.default_rng(1)
    ids = [rng.integers(0, WORDS, n).tolist() for n in rng.integers(5, 40, 11)]
    own = [[bool(n > 2 and rng.random() < 0.5) for n in range(len(row))] for row in ids]
    own = [[*row[:-1], True] for row in own]
    logps = [torch.from_numpy(rng.normal(-2.5, 1, sum(row))).float() for row in own]
    return LossBatch(
        ids, own, [rng.normal(0, 1, sum(row)).tolist() for row in own], logps if old else None
    )


def plainly(conversations: LossBatch, low: float, high: float, temperature: float) -> LossSettings:
    """GRPO's clipped loss, a mean over tokens."""
    count = sum(map(sum, conversations.own))
    plain = stack_of(AlgorithmConfig(clip_low=low, clip_high=high))
    return LossSettings(plain, unselective(count), temperature, count)


def alone(model: Any, conversations: LossBatch, temperature: float) -> list[torch.Tensor]:
    """Log-probabilities of each conversation's own tokens, one conversation at a time."""
    logps = []
    for ids, own in zip(conversations.ids, conversations.own, strict=True):
        logits = model(input_ids=torch.tensor([ids])).logits[0, :-1] / temperature
        logp = torch.log_softmax(logits, -1).gather(-1, torch.tensor(ids[1:])[:, None])[:, 0]
        logps.append(logp[torch.tensor(own[1:])])
    return logps


QUICK = PolicyConfig(
    hidden_size=32, layers=1, attention_heads=2, vocabulary=600, warm_start_copy_steps=2,
    warm_start_steps=4, max_turn_tokens=8,
)  # fmt: skip


@dataclass(frozen=True)
class OfSequences(Algorithm):
    """GSPO's ratio, one for a whole conversation (arXiv 2507.18071, equation 6), unclipped."""

    by_conversation: ClassVar[bool] = True

    @classmethod
    def name(cls) -> str:
        return "sequences"

    def advantages(
        self, rewards: Rewards, values: FloatArray | None, config: AlgorithmConfig
    ) -> FloatArray:
        return Grpo().advantages(rewards, values, config)

    def loss(self, tokens: LossTokens, config: AlgorithmConfig) -> TokenLoss:
        mean_gap = tokens.mean_by_conversation(tokens.logp - tokens.old_logp)
        # each token's ratio is that of its conversation, so its slope is of a mean over those
        plain = unclipped(mean_gap, mean_gap * 0, tokens.advantage)
        slope = tokens.mean_by_conversation(plain.value)
        return TokenLoss(plain.value, slope, plain.low, plain.high)
