"""CPU seconds of a step with each algorithm over one with grpo, one thread.

    OMP_NUM_THREADS=1 python -m benchmarks.algorithms [repeats] [tabular|tiny|tiny_smoke ...]

One batch of conversations is held, and each algorithm in turn makes advantages of it, learns from
it once and fits its critic, again and again; nothing is kept of what is learned, so each repeat is
the same work but for the algorithm, and the least time of each counts, which a busy one disturbs
least. The denominator of the ratio is talking and learning with grpo. Left out of both sides: the
optimiser, evaluation and records, so the ratios are rather too large. Prints a Markdown table.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np

from benchmarks.remedies import Work, least
from harness.compose import planner
from harness.config.run import RunConfig
from harness.policy.tabular import TabularPolicy
from harness.train.loop import carried as carrying
from harness.train.loop import tabular_batch, tabular_rollout, tabular_update
from harness.train.objective import registry, remedy_state
from harness.train.rollout import curriculum
from harness.train.rollout.batch import ROLLOUT_STREAM, rng_of, rollout_groups
from harness.train.rollout.learning_signal import learning_signal
from harness.train.rollout.rewards import compute_rewards


def names_for(rung: str) -> list[str]:
    """The algorithms that a policy takes; extra conversations and outer steps are not timed (see
    algorithm_steps.py).
    """
    of_tabular_alone = set() if rung == "tabular" else {"reptile", "vpo"}
    return [name for name in registry.algorithm_names() if name not in of_tabular_alone]


def planned(rung: str, name: str) -> RunConfig:
    """A run in grpo's groups, so that all learn from the same conversations."""
    words = [f"policy={rung}", f"algorithm={name}", "algorithm.group_size=8"]
    (point,) = planner.plan(words + ["trainer.conversations=16"] * (rung != "tabular")).points
    return point.config


def tabular_work(configs: dict[str, RunConfig]) -> tuple[Work, dict[str, Work]]:
    """The rollout, and what each algorithm does with its batch."""
    policy, plain = TabularPolicy.start("conversation"), configs["grpo"]
    carried = carrying.begin(plain, None)
    filled, acts = tabular_rollout.filled_batch(policy, carried, 1)
    rewards = compute_rewards(filled.conversations, plain.reward)

    def learn(config: RunConfig) -> Work:
        stack = remedy_state.begin(config, None)

        def work() -> None:
            critic, replies = stack.critic(None), tabular_batch.actions_of(acts)
            signal = learning_signal(stack.algorithm, critic, rewards, replies, config, 1)
            trace = tabular_batch.trace_of(policy, acts, signal.advantages, 1.0)
            batch = tabular_batch.act_batch(
                stack, config, 1, policy, acts, trace, trace.logp, rewards.total
            )
            tabular_update.update(policy, batch, stack, 1)
            if signal.critic_batch is not None:
                signal.critic_batch.fitted_critic("benchmark")

        return work

    talk = partial(tabular_rollout.filled_batch, policy, carried, 1)
    return talk, {name: learn(config) for name, config in configs.items()}


def tiny_work(configs: dict[str, RunConfig]) -> tuple[Work, dict[str, Work]]:
    """The same two for a language model."""
    import torch

    from harness.train.engines.engine import TransformersEngine
    from harness.train.loop import language_batch, language_critic, start
    from harness.train.metrics.entropy_splits import PlanningTokens
    from harness.train.objective import language_loss
    from harness.train.objective.loss_batch import LossBatch
    from harness.train.rollout.speaker import LanguageSpeaker
    from harness.train.rollout.start_judge import judge_of

    torch.set_num_threads(1)
    plain = configs["grpo"]
    begins = start.load(plain, "cpu")

    def speak() -> LanguageSpeaker:
        engine, rng = TransformersEngine(begins.learner, False), rng_of(plain, 1, ROLLOUT_STREAM)
        count, policy = plain.trainer.conversations, plain.policy
        judge = judge_of(begins.judge, count, policy.temperature, begins.chat.end)
        return LanguageSpeaker(engine, begins.chat, policy, rng, judge)

    speaker = speak()
    conversations = rollout_groups(curriculum.begin(plain, None), speaker, 1)
    trajectories, rewards = speaker.trajectories, compute_rewards(conversations, plain.reward)
    turns = [t.row.turn for t in trajectories]
    known, touched = np.ones(len(conversations), bool), np.zeros(len(conversations), bool)

    def learn(config: RunConfig) -> Work:
        stack = remedy_state.begin(config, None)

        def work() -> None:
            critic = stack.critic(None)
            seen = language_critic.actions_of(trajectories, begins.learner) if critic else None
            signal = learning_signal(stack.algorithm, critic, rewards, seen, config, 1)
            made = language_batch.TokenBatch(trajectories, signal.advantages, touched, 2, known)
            own, ids = (
                [[turn > 0 for turn in row] for row in turns],
                [t.row.ids for t in trajectories],
            )
            batch = LossBatch(ids, own, made.advantage_lists(), None)
            how = language_batch.loss_settings(
                stack, made, config, 1, begins, PlanningTokens(begins.chat)
            )
            language_loss.accumulate_gradient(begins.learner, batch, how)
            begins.learner.zero_grad()
            if signal.critic_batch is not None:
                signal.critic_batch.fitted_critic("benchmark")

        return work

    def talk() -> None:
        rollout_groups(curriculum.begin(plain, None), speak(), 1)

    return talk, {name: learn(config) for name, config in configs.items()}


def main(repeats: int, rungs: list[str]) -> None:
    print("| policy | algorithm | talking, s | learning, s | over grpo |")
    print("|---|---|---|---|---|")
    for rung in rungs:
        configs = {name: planned(rung, name) for name in names_for(rung)}
        talk, learns = RUNGS[rung](configs)
        talking, learning = least({"talk": talk}, repeats)["talk"], least(learns, repeats)
        for name in configs:
            ratio = (talking + learning[name]) / (talking + learning["grpo"])
            row = f"{talking:.4f} | {learning[name]:.4f} | {ratio:.3f}"
            print(f"| {rung} | {name} | {row} |", flush=True)


RUNGS = {"tabular": tabular_work, "tiny": tiny_work, "tiny_smoke": tiny_work}

if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    main(numbers[0] if numbers else 20, [w for w in sys.argv[1:] if w in RUNGS] or list(RUNGS))
