"""Conversion of a step's conversations to TRL's format, and of its padded batches back.

TRL splits each conversation before the policy's first token, pads both halves and shuffles the
rows. This module does not import TRL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from harness.train.engines.scoring import TokenRow
from harness.train.objective.loss_batch import LossBatch


@dataclass(frozen=True, slots=True)
class RolloutBatch:
    """The conversations of one step; lists run over conversations."""

    rows: list[TokenRow]
    rewards: list[float]
    advantages: list[list[float]]
    """One advantage per own token."""
    engine_logp: list[list[float]] | None = None
    """Log-probabilities of the own tokens by the engine that drew them; None if the model did."""

    @property
    def own(self) -> list[list[bool]]:
        """True at the policy's own tokens."""
        return [row.own for row in self.rows]

    def to_trl(self) -> dict[str, Any]:
        """Return the result of TRL's `rollout_func`, with the reward of each conversation.

        Raises ValueError for a conversation without an opening or a reply, or with a mask of
        another length, which TRL would silently pad.
        """
        prompts, completions, masks = [], [], []
        for row in self.rows:
            own = row.own
            if not any(own) or own[0] or len(own) != len(row.ids):
                rule = "a conversation needs an opening, a reply and a mask as long as it"
                raise ValueError(rule)
            cut = row.prompt_length
            prompts.append(row.ids[:cut])
            completions.append(row.ids[cut:])
            masks.append([int(is_own) for is_own in own[cut:]])
        return {
            "prompt_ids": prompts,
            "completion_ids": completions,
            "logprobs": None,
            "env_mask": masks,
            "conversation_reward": self.rewards,
        }

    def fill_in(self, padded: Tensor, logps: Sequence[Tensor]) -> None:
        """Write the own tokens' log-probabilities to their positions in the padded completions."""
        for number, (row, logp) in enumerate(zip(self.rows, logps, strict=True)):
            own = row.own[row.prompt_length :]
            padded[number, [index for index, is_own in enumerate(own) if is_own]] = logp

    def loss_batch(self, inputs: Mapping[str, Any]) -> LossBatch:
        """Join TRL's padded halves, in the order of the conversations here.

        `inputs`: a batch of TRL's, with the `number` of each row's conversation.
        """
        ids, own, old = [], [], []
        logps = inputs.get("old_per_token_logps")
        for i in inputs["number"].argsort().tolist():
            prompt = inputs["prompt_ids"][i][inputs["prompt_mask"][i].bool()].tolist()
            completion = inputs["completion_mask"][i].bool()
            is_own = inputs["tool_mask"][i][completion].bool()
            ids.append(prompt + inputs["completion_ids"][i][completion].tolist())
            own.append([False] * len(prompt) + is_own.tolist())
            if logps is not None:
                old.append(logps[i][completion][is_own])
        old_logp = old if logps is not None else None
        return LossBatch(ids, own, self.advantages, old_logp, self.engine_logp)
