"""What a saved language model says, or how likely it is to say given words, without any user.

A reply is scored by its own tokens at temperature 1: mean log-probability a token, so that a longer
one is not less likely for its length alone. A model that thinks is scored after an empty thought.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from harness.config.run import PolicyConfig
from harness.policy.chat import Chat
from harness.train.engines.engine import Engine
from harness.train.engines.scoring import drawn, head_logits, log_distribution, padded
from harness.train.saved_policy.policy import Turns

SEED = 20_260_303
"""Of the draws for replies; no run has it."""
AT_ONCE = 32
"""Replies that are drawn side by side."""
THINK, NO_THOUGHT = "<think>", "\n\n</think>\n\n"


@dataclass(frozen=True)
class ModelWords:
    """The words of one model."""

    model: Any
    chat: Chat
    engine: Engine
    policy: PolicyConfig

    def replies(self, openings: Sequence[str]) -> list[str]:
        """One reply to each opening, drawn at the policy's temperature.

        The draws for an opening depend on its place alone: another policy has the same.
        """
        said: list[str] = []
        for first in range(0, len(openings), AT_ONCE):
            some = openings[first : first + AT_ONCE]
            drawn_for = range(first, first + len(some))
            numbers = [self._uniforms(place) for place in drawn_for]
            temperature = self.policy.temperature
            sampler = self.engine.sampler(len(some), self.chat.end, temperature)
            heard = [self.chat.opening(text) for text in some]
            turns = sampler.speak(range(len(some)), heard, torch.from_numpy(np.stack(numbers)))
            said += [self.chat.text(turn.ids) for turn in turns]
        return said

    @torch.no_grad()
    def scores(self, turns: Turns, options: Sequence[str]) -> list[float]:
        """Mean log-probability a token of each option as the reply to `turns`, in nats."""
        ids = [self.chat.words(option) for option in options]
        states, rows = self._states(self._prompt(turns), ids)
        tokens = torch.tensor([token for option in ids for token in option], device=states.device)
        logits = head_logits(self.model.get_output_embeddings(), states)
        log_p = drawn(log_distribution(logits, 1.0), tokens)
        return [float(part.mean()) for part in torch.split(log_p, rows)]

    def _states(
        self, prompt: Sequence[int], options: Sequence[Sequence[int]]
    ) -> tuple[Tensor, list[int]]:
        """Hidden states from which each option's tokens are drawn, option by option.

        What all prompts begin with is read once, the rest of the prompt once for all options.
        """
        decoder, device = self.model.get_decoder(), self.model.device
        cache, shared = copy.deepcopy(self._frame), len(self.chat.first[0])
        rest = torch.tensor([prompt[shared:]], device=device)
        read = decoder(input_ids=rest, past_key_values=cache, use_cache=True)
        before, cache = read.last_hidden_state[:, -1:], read.past_key_values
        cache.batch_repeat_interleave(len(options))
        ids = padded(options, fill=0).to(device)
        after = decoder(input_ids=ids, past_key_values=cache, use_cache=True).last_hidden_state
        states = torch.cat([before.expand(len(options), -1, -1), after[:, :-1]], dim=1)
        sizes = [len(option) for option in options]
        return torch.cat([row[:size] for row, size in zip(states, sizes, strict=True)]), sizes

    @cached_property
    def _frame(self) -> Any:
        """Keys and values of what the chat template puts before the user's first words."""
        first = self.chat.first[0]
        if not first:
            return None
        ids = torch.tensor([first], device=self.model.device)
        with torch.no_grad():
            return self.model.get_decoder()(input_ids=ids, use_cache=True).past_key_values

    def _prompt(self, turns: Turns) -> list[int]:
        thought = [] if self.chat.thought is None else self._no_thought
        return [*self.chat.prefix(turns), *thought]

    @cached_property
    def _no_thought(self) -> list[int]:
        """Ids of an empty thought, which some templates have begun already."""
        before = self.chat.tokenizer.decode(self.chat.first[1]).rstrip()
        text = NO_THOUGHT if before.endswith(THINK) else f"{THINK}{NO_THOUGHT}"
        ids: list[int] = self.chat.tokenizer.encode(text, add_special_tokens=False)
        return ids

    def _uniforms(self, place: int) -> Any:
        return np.random.default_rng((SEED, place)).random(self.policy.max_turn_tokens)
