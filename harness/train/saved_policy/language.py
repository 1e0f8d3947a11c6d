"""The language model of a run, and what it says without any user.

Its weights are those of a checkpoint, or those that the run began with. A reply is scored by its
own tokens at temperature 1: mean log-probability a token, so that a longer one is not less likely
for its length alone. A model that thinks is scored after an empty thought.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from harness.config.run import PolicyConfig, RunConfig
from harness.errors import ConfigError
from harness.policy import huggingface, merged, tiny
from harness.policy.chat import Chat
from harness.train.engines.engine import Engine, Transformers
from harness.train.engines.scoring import drawn, head_logits, log_distribution, padded
from harness.train.loop import start as starts
from harness.train.metrics.evaluate import HeldOutUsers
from harness.train.metrics.held_out import Meeting
from harness.train.ranks.work import Work
from harness.train.rollout.speaker import TokenTrajectory
from harness.train.saved_policy.policy import Divergence, Held, Turns

SEED = 20_260_303
"""Of the draws for replies; no run has it."""
AT_ONCE = 32
"""Replies that are drawn side by side."""
THINK, NO_THOUGHT = "<think>", "\n\n</think>\n\n"


@dataclass(frozen=True)
class SavedModel:
    """A model that speaks by itself, whichever engine drew its run's conversations."""

    config: RunConfig
    work: Work

    @classmethod
    def of(cls, config: RunConfig, weights: Path | None, start_sum: str | None) -> SavedModel:
        """Load the model. See `loading.load`."""
        config = _here(config)
        torch.set_num_threads(config.trainer.threads)
        device = starts.device_of(config)
        models = starts.load(config, device, learns=False)
        if None not in (start_sum, models.sum) and models.sum != start_sum:
            raise ConfigError(
                f"policy.model: {models.name} must be the model that the run began with, sha256 "
                f"{str(start_sum)[:12]}, got {str(models.sum)[:12]}"
            )
        learner = models.learner
        if weights is not None:
            if not config.policy.lora_rank:  # both at once may be more than there is room for
                models, learner = replace(models, learner=None), None
            learner = _trained(config.policy, learner, weights, device)
        engine = Transformers(learner)
        return cls(config, Work(config, learner, models.judge, models.chat, engine))

    @cached_property
    def words(self) -> ModelWords:
        return ModelWords(self.work.learner, self.work.chat, self.work.engine, self.config.policy)

    @contextmanager
    def speaking(self) -> Iterator[None]:
        with torch.no_grad(), self.work.awake():
            yield

    def rollout(self, users: HeldOutUsers, some: Sequence[Meeting]) -> list[Held]:
        speakers = self.work.held_out_speakers(some)
        conversations = users.meet(some, speakers)
        moved = [_moved(t) for speaker in speakers.speakers for t in speaker.trajectories]
        return [Held(*one) for one in zip(some, conversations, moved, strict=True)]


def _here(config: RunConfig) -> RunConfig:
    """The config for one process of this machine: with one GPU, or without where there is none."""
    config = config.on_ranks(1)
    if config.trainer.gpus and torch.cuda.is_available():
        return config
    policy = replace(config.policy, dtype="float32")
    return replace(config, policy=policy, trainer=replace(config.trainer, gpus=0))


def _trained(policy: PolicyConfig, learner: Any, saved: Path, device: str) -> Any:
    """The learner with the weights that a checkpoint saved; of adapters `learner` has the rest."""
    if policy.kind == "tiny":
        return tiny.load_model(saved, device)
    if policy.lora_rank:
        merged.put(learner, saved)
        return learner
    return huggingface.load_model(policy, saved, device)


def _moved(trajectory: TokenTrajectory) -> Divergence:
    differences = sum(trajectory.logp) - sum(trajectory.start_logp)
    return Divergence(differences, len(trajectory.logp))


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
