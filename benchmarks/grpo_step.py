"""CPU seconds of one GRPO step: ours against stock TRL on the same conversations, token by token.

    python -m benchmarks.grpo_step [rounds] [steps per round] [KEY=VALUE ...]

Both sides are TRL's GRPOTrainer with `rollout_func` and `env_mask`, fp32, one thread; by default
with the start model of policy=tiny and users who are pleased by any kindness. Stock TRL generates
with the trainer's own `generate`, which reads the whole conversation anew at every turn, and uses
the library's loss, with and without checkpointing of activations; it is made to say, id by id, what
our side sampled in the same round, so that prompts, turns and token counts are equal. Evaluation,
probe and start likelihoods are off. `floor` is what the matrix products of our step, attention left
out, would take at the rate of one large product: less than the step can take with these products.
Prints a Markdown table; grpo_step.md holds a dated result.
"""

from __future__ import annotations

import multiprocessing
import resource
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import PrinterCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from benchmarks.words import merged
from harness.compose import planner
from harness.config.run import RunConfig
from harness.policy.chat import Chat
from harness.records import run_folder
from harness.records.run_folder import RunFolder
from harness.simulator.factory import make
from harness.simulator.protocol import SupporterReply
from harness.train.engines.engine import TransformersEngine
from harness.train.loop import carried, trl_adapter, trl_arguments
from harness.train.loop import session as sessions
from harness.train.loop import start as starts
from harness.train.loop.language import LanguageRun
from harness.train.loop.start import StartModels
from harness.train.loop.trl_batches import RolloutBatch
from harness.train.ranks.team import Team
from harness.train.ranks.work import RankWork
from harness.train.rollout.batch import keys_of
from harness.train.rollout.conversation import rollout

WORDS = (
    "policy=tiny", "difficulty=easy", "difficulty.disclosure=free",
    "difficulty.acceptance=any_kindness", "trainer.eval_every=0",
    "trainer.checkpoint_every=1000000",
)  # fmt: skip
Turns = list[list[list[int]]]
"""Ids the policy said in one step, by conversation and turn."""


class Clock(TrainerCallback):  # type: ignore[misc]
    """CPU seconds from the start of each step to the end of it."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._began = time.process_time()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.seconds.append(time.process_time() - self._began)


class Counted(TrainerCallback):  # type: ignore[misc]
    """Floating-point operations of each step's products of matrices, forwards and backwards. torch
    counts none of attention on a CPU.
    """

    def __init__(self, counter: FlopCounterMode) -> None:
        self._counter = counter
        self.flops: list[int] = []

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._before = self._counter.get_total_flops()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.flops.append(self._counter.get_total_flops() - self._before)


class Recorded(LanguageRun):
    """Our trainer, keeping the policy's turns of every step."""

    def rollout(self, step: int) -> RolloutBatch:
        batch = super().rollout(step)
        spoken = [_turns(row.ids, row.turn) for row in batch.rows]
        self.spoken: list[Turns] = [*getattr(self, "spoken", []), spoken]
        return batch


def _turns(ids: Sequence[int], turn: Sequence[int]) -> list[list[int]]:
    return [
        [token for token, number in zip(ids, turn, strict=True) if number == n]
        for n in range(1, max(turn) + 1)
    ]


def ours(config: RunConfig) -> tuple[list[float], float, list[Turns]]:
    """Return CPU seconds of each step, the peak memory in GiB, and the policy's turns."""
    clock = Clock()
    spoken = trained(config, clock)
    return clock.seconds, peak_gib(), spoken


def floor(config: RunConfig) -> list[float]:
    """Return the CPU seconds of each step's multiplications at `flops_a_second`."""
    with FlopCounterMode(display=False) as counter:
        counted = Counted(counter)
        trained(config, counted)
    rate = flops_a_second()
    return [flops / rate for flops in counted.flops]


def flops_a_second(size: int = 2048, tries: int = 7) -> float:
    """The rate of a product of two square float32 matrices on this thread, the best of `tries`."""
    left, right = torch.randn(size, size), torch.randn(size, size)
    seconds = []
    for _ in range(tries):
        began = time.process_time()
        left @ right
        seconds.append(time.process_time() - began)
    return 2 * size**3 / min(seconds)


def trained(config: RunConfig, watching: TrainerCallback) -> list[Turns]:
    """Train our side with a callback; returns the policy's turns."""
    start = begun(config)
    tokenizer: Any = start.chat.tokenizer
    model: Any = start.learner
    with tempfile.TemporaryDirectory() as scratch:
        run = RunFolder(Path(scratch) / "run")
        run_folder.create(run, config)
        with sessions.open_session(run, config, lambda event: None) as session:
            learner = Recorded(session, start, carried.begin(config, None))
            trainer = trl_adapter.make_trainer(model, tokenizer, config, learner, run.path)
            work = RankWork(config, model, None, start.chat, TransformersEngine(model))
            learner.trainer, learner.team = trainer, Team(work)
            trainer.add_callback(watching)
            trainer.train()
    return learner.spoken


def begun(config: RunConfig) -> StartModels:
    """The policy as a run begins with it, without a judge."""
    return replace(starts.load_as(config, "cpu"), judge=None)


def peak_gib() -> float:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


@dataclass
class Stock:
    """Stock TRL's rollout: the trainer generates, we put the words into its mouth."""

    config: RunConfig
    chat: Chat
    spoken: list[Turns]
    step: int = 0

    def __call__(self, prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:
        self.step += 1
        speaker = StockSpeaker(trainer, self.chat, self.spoken[self.step - 1])
        users = make(self.config.simulator, self.config.difficulty)
        conversations = rollout(users, speaker, keys_of(self.config, self.step))
        return {
            "prompt_ids": speaker.prompts,
            "completion_ids": speaker.ids,
            "logprobs": None,
            "env_mask": speaker.mask,
            "conversation_reward": [c.reward for c in conversations],
        }


class StockSpeaker:
    """Speaks through the trainer's own generation, forced to the recorded ids."""

    def __init__(self, trainer: Any, chat: Chat, said: Turns) -> None:
        self._trainer, self._chat, self._said = trainer, chat, said

    def begin(self, count: int) -> None:
        self.prompts: list[list[int]] = [[] for _ in range(count)]
        self.ids: list[list[int]] = [[] for _ in range(count)]
        self.mask: list[list[int]] = [[] for _ in range(count)]
        self._turn = 0

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        for i, text in zip(live, heard, strict=True):
            if self._turn == 0:
                self.prompts[i] = self._chat.opening(text)
            else:
                new = self._chat.following(text)
                self.ids[i] += new
                self.mask[i] += [0] * len(new)
        wanted = [self._said[i][self._turn] for i in live]
        outs = generate(self._trainer, [self.prompts[i] + self.ids[i] for i in live], wanted)
        if outs != wanted:
            raise ValueError("stock TRL did not say what was recorded")
        self._turn += 1
        replies = []
        for i, out in zip(live, outs, strict=True):
            cut = out[-1] != self._chat.end
            self.ids[i] += [*out, *([self._chat.end] if cut else [])]
            self.mask[i] += [1] * len(out) + [0] * cut
            replies.append(SupporterReply(self._chat.text(out), cut))
        return replies


def generate(trainer: Any, ids: list[list[int]], wanted: list[list[int]]) -> list[list[int]]:
    """The trainer's own turn, with a logits processor that leaves one choice a row."""
    end = trainer.processing_class.eos_token_id
    longest = max(map(len, wanted))
    table = torch.tensor([[*row, *[end] * (longest - len(row))] for row in wanted])
    start = max(map(len, ids))

    def force(so_far: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        forced = torch.full_like(scores, -torch.inf)
        return forced.scatter_(1, table[:, so_far.shape[1] - start, None], 0.0)

    model = trainer.model
    plain = type(model).generate

    def forced_generate(*args: Any, **given: Any) -> Any:
        return plain(model, *args, logits_processor=[force], **given)

    limit = trainer._config_turn_tokens
    trainer.generation_config.max_new_tokens = limit
    trainer.generation_kwargs["max_new_tokens"] = limit
    model.generate = forced_generate
    try:
        outs: list[list[int]] = trainer._generate_single_turn(ids, None, {}, 1)[0]
    finally:
        del model.generate
    return outs


def stock(config: RunConfig, said: list[Turns], checkpointing: bool) -> tuple[list[float], float]:
    """CPU seconds of each step of stock TRL on the recorded conversations, and its peak memory."""
    start, clock = begun(config), Clock()
    with tempfile.TemporaryDirectory() as scratch:
        arguments = GRPOConfig(**trl_arguments.arguments(config, Path(scratch)))
        arguments.activation_checkpointing = arguments.gradient_checkpointing = checkpointing
        trainer = GRPOTrainer(
            model=start.learner,
            reward_funcs=lambda conversation_reward, **_: conversation_reward,
            args=arguments,
            train_dataset=trl_arguments.dataset(config),
            processing_class=start.chat.tokenizer,
            rollout_func=Stock(config, start.chat, said),
            callbacks=[clock],
        )
        trainer.remove_callback(PrinterCallback)
        trainer._config_turn_tokens = config.policy.max_turn_tokens
        trainer.train()
    return clock.seconds, peak_gib()


def alone(side: Callable[..., Any], *given: Any) -> Any:
    """`side` in a process of its own, one thread: neither profits from what the other cached."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn, initializer=_one_thread) as pool:
        return pool.submit(side, *given).result()


def _one_thread() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", FutureWarning)


def main(rounds: int, steps: int, words: Sequence[str]) -> None:
    length = [f"trainer.steps={steps + 1}"]  # the first step warms up
    config = planner.point(merged((*WORDS, *length), words)).config
    columns = ("round", "tokens said", "floor", "ours", "stock TRL", "stock, checkpointing",
               "ratio", "GiB: ours", "stock")  # fmt: skip
    print(f"| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|")
    ratios, shares = [], []
    for number in range(rounds):
        seeded = replace(config, seed=1000 + number)
        our_seconds, our_gib, turns = alone(ours, seeded)
        least = statistics.median(alone(floor, seeded)[1:])
        others = [alone(stock, seeded, turns, checkpointing) for checkpointing in (False, True)]
        mine, *theirs = (
            statistics.median(seconds[1:]) for seconds in (our_seconds, *(o[0] for o in others))
        )
        tokens = statistics.mean(sum(len(t) for c in step for t in c) for step in turns[1:])
        least_gib = min(gib for _, gib in others)
        ratios.append(mine / min(theirs))
        shares.append(our_gib / least_gib)
        print(
            f"| {number + 1} | {tokens:.0f} | {least:.2f} | {mine:.2f} | {theirs[0]:.2f} | "
            f"{theirs[1]:.2f} | {ratios[-1]:.2f} | {our_gib:.2f} | {least_gib:.2f} |",
            flush=True,
        )
    medians = statistics.median(ratios), statistics.median(shares)
    print(f"\nmedian ratio {medians[0]:.2f} of CPU seconds and {medians[1]:.2f} of peak memory")


if __name__ == "__main__":
    sizes = [int(word) for word in sys.argv[1:] if word.isdigit()]
    asked = [word for word in sys.argv[1:] if "=" in word]
    rounds, steps = sizes + [5, 6][len(sizes) :]
    main(rounds, steps, asked)
