"""The language model of a run, and its replies and scores without a simulated user.

The weights are those of a checkpoint or of the start model. The score of a reply is the mean
log-probability of its tokens at temperature 1, so that longer replies are not penalised for their
length. A thinking model is scored after an empty thought.
"""

from __future__ import annotations

import copy
import math
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
from harness.train.engines.engine import Engine, TransformersEngine
from harness.train.engines.scoring import drawn_entries, head_logits, log_distribution, pad_rows
from harness.train.loop import start as starts
from harness.train.metrics.evaluate import HeldOutUsers
from harness.train.metrics.held_out import Meeting
from harness.train.ranks.work import RankWork
from harness.train.rollout.speaker import TokenTrajectory
from harness.train.saved_policy.policy import Divergence, HeldOutConversation, Turns

SEED = 20_260_303
"""Seed of the draws for replies, which no run uses."""
AT_ONCE = 32
"""Number of replies that are drawn together."""
THINK, NO_THOUGHT = "<think>", "\n\n</think>\n\n"


@dataclass(frozen=True)
class SavedModel:
    """A language model with fixed weights, as its own engine whatever engine its run used."""

    config: RunConfig
    work: RankWork

    @classmethod
    def of(cls, config: RunConfig, weights: Path | None, start_sum: str | None) -> SavedModel:
        """Load the model; arguments and errors as in `loading.load`."""
        config = _for_one_process(config)
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
            if not config.policy.lora_rank:  # both may not fit into memory
                models, learner = replace(models, learner=None), None
            learner = _with_weights(config.policy, learner, weights, device)
        engine = TransformersEngine(learner)
        return cls(config, RankWork(config, learner, models.judge, models.chat, engine))

    @cached_property
    def words(self) -> ModelWords:
        return ModelWords(self.work.learner, self.work.chat, self.work.engine, self.config.policy)

    @contextmanager
    def speaking(self) -> Iterator[None]:
        with torch.no_grad(), self.work.awake():
            yield

    def rollout(self, users: HeldOutUsers, batch: Sequence[Meeting]) -> list[HeldOutConversation]:
        speakers = self.work.held_out_speakers(batch)
        conversations = users.meet(batch, speakers)
        divergences = [
            _divergence(t) for speaker in speakers.speakers for t in speaker.trajectories
        ]
        return [
            HeldOutConversation(*parts)
            for parts in zip(batch, conversations, divergences, strict=True)
        ]


def _for_one_process(config: RunConfig) -> RunConfig:
    """Return the config for one process on this machine: on one GPU, or in float32 on the CPU."""
    config = config.on_ranks(1)
    if config.trainer.gpus and torch.cuda.is_available():
        return config
    policy = replace(config.policy, dtype="float32")
    return replace(config, policy=policy, trainer=replace(config.trainer, gpus=0))


def _with_weights(policy: PolicyConfig, learner: Any, saved: Path, device: str) -> Any:
    """Return the learner with a checkpoint's weights; saved adapters are put into `learner`."""
    if policy.kind == "tiny":
        return tiny.load_model(saved, device)
    if policy.lora_rank:
        merged.load_adapters(learner, saved)
        return learner
    return huggingface.load_model(policy, saved, device)


def _divergence(trajectory: TokenTrajectory) -> Divergence:
    is_read = len(trajectory.start_logp) == len(trajectory.logp)
    differences = sum(trajectory.logp) - sum(trajectory.start_logp) if is_read else math.nan
    return Divergence(differences, len(trajectory.logp))


@dataclass(frozen=True)
class ModelWords:
    """The replies and scores of one model."""

    model: Any
    chat: Chat
    engine: Engine
    policy: PolicyConfig

    def replies(self, openings: Sequence[str]) -> list[str]:
        """Draw one reply to each opening at the policy's temperature.

        The random numbers depend only on the opening's index, and are the same for every policy.
        """
        texts: list[str] = []
        for start in range(0, len(openings), AT_ONCE):
            batch = openings[start : start + AT_ONCE]
            indices = range(start, start + len(batch))
            numbers = [self._uniforms(index) for index in indices]
            temperature = self.policy.temperature
            sampler = self.engine.sampler(len(batch), self.chat.end, temperature)
            prompts = [self.chat.opening(text) for text in batch]
            turns = sampler.speak(range(len(batch)), prompts, torch.from_numpy(np.stack(numbers)))
            texts += [self.chat.text(turn.ids) for turn in turns]
        return texts

    @torch.no_grad()
    def scores(self, turns: Turns, options: Sequence[str]) -> list[float]:
        """Return the mean log-probability per token of each option as the reply to `turns`, in
        nats.
        """
        ids = [self.chat.words(option) for option in options]
        states, rows = self._states(self._prompt(turns), ids)
        tokens = torch.tensor([token for option in ids for token in option], device=states.device)
        logits = head_logits(self.model.get_output_embeddings(), states)
        log_p = drawn_entries(log_distribution(logits, 1.0), tokens)
        return [float(part.mean()) for part in torch.split(log_p, rows)]

    def _states(
        self, prompt: Sequence[int], options: Sequence[Sequence[int]]
    ) -> tuple[Tensor, list[int]]:
        """Return the hidden states from which each option's tokens are drawn, and their numbers.

        The common beginning of all prompts is read once, and the rest of the prompt once for all
        options.
        """
        decoder, device = self.model.get_decoder(), self.model.device
        cache, shared = copy.deepcopy(self._frame), len(self.chat.first[0])
        remainder = torch.tensor([prompt[shared:]], device=device)
        output = decoder(input_ids=remainder, past_key_values=cache, use_cache=True)
        prompt_state, cache = output.last_hidden_state[:, -1:], output.past_key_values
        cache.batch_repeat_interleave(len(options))
        ids = pad_rows(options, fill=0).to(device)
        option_states = decoder(
            input_ids=ids, past_key_values=cache, use_cache=True
        ).last_hidden_state
        states = torch.cat(
            [prompt_state.expand(len(options), -1, -1), option_states[:, :-1]], dim=1
        )
        sizes = [len(option) for option in options]
        return torch.cat([row[:size] for row, size in zip(states, sizes, strict=True)]), sizes

    @cached_property
    def _frame(self) -> Any:
        """Keys and values of the chat template before the user's first words; None without one."""
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
        """Ids of an empty thought; some templates already open it."""
        prefix = self.chat.tokenizer.decode(self.chat.first[1]).rstrip()
        text = NO_THOUGHT if prefix.endswith(THINK) else f"{THINK}{NO_THOUGHT}"
        ids: list[int] = self.chat.tokenizer.encode(text, add_special_tokens=False)
        return ids

    def _uniforms(self, index: int) -> Any:
        return np.random.default_rng((SEED, index)).random(self.policy.max_turn_tokens)
