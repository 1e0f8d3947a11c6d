"""CPU seconds of a step with each remedy over one without, one thread.

    OMP_NUM_THREADS=1 python -m benchmarks.remedies [repeats] [tabular|tiny ...]

One batch of conversations is held and learned from twice (trainer.updates_per_batch=2, since some
remedies ask for it) with each remedy in turn, again and again; nothing is kept of what is learned,
so each repeat is the same work but for the remedy, and the least time of each counts, which a busy
machine disturbs least. Talking is timed as well, with and without the entropies that some remedies
have noted. Left out of both sides: the optimiser, evaluation and records, so the ratios are rather
too large. `dapo` is not here: what its dynamic sampling costs is the groups it holds anew, which
`groups/drawn` counts; its other parts are. Prints a Markdown table; remedies.md holds a dated one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from harness.compose import planner
from harness.config.run import RunConfig
from harness.policy.tabular import TabularPolicy
from harness.train.loop import carried as carrying
from harness.train.loop import tabular_batch, tabular_rollout
from harness.train.loop.tabular_update import update
from harness.train.objective import registry, remedy_stack, remedy_state
from harness.train.rollout import curriculum
from harness.train.rollout.batch import ROLLOUT_STREAM, rng_of, rollout_groups
from harness.train.rollout.rewards import compute_rewards

REMEDIES = ("none", *(name for name in registry.remedy_names() if name != "dynamic_sampling"))
NOT_TABULAR = ("soft_overlong", "hicra")
Work = Callable[[], object]


def planned(rung: str, remedy: str) -> RunConfig:
    words = [f"policy={rung}", f"remedy={remedy}", "trainer.updates_per_batch=2"]
    words += ["trainer.conversations=16"] * (rung == "tiny")
    words += ["remedy.methods.entropy_controller.target=20"] * (remedy == "entropy_controller")
    (point,) = planner.plan(words).points
    return point.config


def begun(config: RunConfig) -> remedy_stack.RemedyStack:
    """Begin the remedies; an entropy bonus, where there is one, is on."""
    return replace(remedy_state.begin(config, None), coefficient=0.005)


def tabular_work(configs: dict[str, RunConfig]) -> tuple[dict[bool, Work], dict[str, Work]]:
    """Return the rollout, by whether entropies are noted, and the update, by remedy."""
    policy, plain = TabularPolicy.start("conversation"), configs["none"]
    carried = replace(carrying.begin(plain, None), stack=begun(plain))
    filled, acts = tabular_rollout.filled_batch(policy, carried, 1)
    rewards = compute_rewards(filled.conversations, plain.reward)
    advantages = carried.stack.algorithm.advantages(rewards, None, plain.algorithm)
    trace = tabular_batch.trace_of(policy, acts, advantages, 1.0)

    def learn(config: RunConfig) -> Work:
        stack, given = begun(config), (rewards.total, filled.redrawn)

        def work() -> None:
            batch = tabular_batch.act_batch(
                stack, config, 1, policy, acts, trace, trace.logp, *given
            )
            done = update(policy, batch, stack, 2)
            remedy_stack.metrics(stack, batch.selection, done.acted, filled.groups_drawn)

        return work

    talks: dict[bool, Work] = {False: partial(tabular_rollout.filled_batch, policy, carried, 1)}
    return talks, {name: learn(config) for name, config in configs.items()}


def tiny_work(configs: dict[str, RunConfig]) -> tuple[dict[bool, Work], dict[str, Work]]:
    """Return the same two for a language model."""
    import torch

    from harness.train.engines.engine import TransformersEngine
    from harness.train.loop import language_batch, start
    from harness.train.metrics.entropy_splits import PlanningTokens
    from harness.train.objective import language_loss
    from harness.train.objective.loss_batch import LossBatch
    from harness.train.rollout.speaker import LanguageSpeaker
    from harness.train.rollout.start_judge import judge_of

    torch.set_num_threads(1)
    plain = configs["none"]
    begins = start.load(plain, "cpu")

    def talk(note: bool) -> tuple[Any, Any]:
        engine, rng = TransformersEngine(begins.learner, note), rng_of(plain, 1, ROLLOUT_STREAM)
        count, policy = plain.trainer.conversations, plain.policy
        judge = judge_of(begins.judge, count, policy.temperature, begins.chat.end)
        speaker = LanguageSpeaker(engine, begins.chat, policy, rng, judge)
        return rollout_groups(curriculum.begin(plain, None), speaker, 1), speaker.trajectories

    conversations, trajectories = talk(True)
    rewards = compute_rewards(conversations, plain.reward)
    advantages = begun(plain).algorithm.advantages(rewards, None, plain.algorithm)
    reward_spread, planning = begun(plain).spread(rewards.total), PlanningTokens(begins.chat)
    turns = [t.row.turn for t in trajectories]
    by_policy = [[turn > 0 for turn in row] for row in turns]
    spread = [[a[t - 1] for t in row if t] for a, row in zip(advantages, turns, strict=True)]
    old = [torch.tensor(t.logp) for t in trajectories]
    batch = LossBatch([t.row.ids for t in trajectories], by_policy, spread, old)

    def learn(config: RunConfig) -> Work:
        mine, touched = begun(config), np.zeros(len(conversations), bool)

        def work() -> None:
            language_batch.length_penalties(mine, trajectories, config)
            has_reward = np.ones(len(conversations), bool)
            tokens = language_batch.TokenBatch(
                trajectories, advantages, touched, 2, has_reward, reward_spread
            )
            how = language_batch.loss_settings(mine, tokens, config, 1, begins, planning)
            for _ in range(2):
                language_loss.accumulate_gradient(begins.learner, batch, how)
                begins.learner.zero_grad()

        return work

    talks: dict[bool, Work] = {note: partial(talk, note) for note in (False, True)}
    return talks, {name: learn(config) for name, config in configs.items()}


def least(works: dict[Any, Work], repeats: int) -> dict[Any, float]:
    """CPU seconds of each, in turns."""
    seconds: dict[Any, float] = dict.fromkeys(works, float("inf"))
    for _ in range(repeats):
        for name, work in works.items():
            began = time.process_time()
            work()
            seconds[name] = min(seconds[name], time.process_time() - began)
    return seconds


def main(repeats: int, rungs: list[str]) -> None:
    print("| policy | remedy | talking, s | learning, s | over none |")
    print("|---|---|---|---|---|")
    for rung in rungs:
        names = [n for n in REMEDIES if rung != "tabular" or n not in NOT_TABULAR]
        configs = {name: planned(rung, name) for name in names}
        talks, learns = RUNGS[rung](configs)
        talking, learning = least(talks, repeats), least(learns, repeats)
        for name in names:
            notes = begun(configs[name]).needs_entropies and True in talking
            spent = talking[notes] + learning[name]
            ratio = spent / (talking[False] + learning["none"])
            row = f"{talking[notes]:.4f} | {learning[name]:.4f} | {ratio:.3f}"
            print(f"| {rung} | {name} | {row} |", flush=True)


RUNGS = {"tabular": tabular_work, "tiny": tiny_work}

if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    main(numbers[0] if numbers else 20, [w for w in sys.argv[1:] if w in RUNGS] or list(RUNGS))
