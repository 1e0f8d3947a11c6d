"""Does listening pay? Scores of the reference policies and of the optimum, on each level.

python benchmarks/listening.py [CONVERSATIONS]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import yaml

from harness.calibration import optimum, schedules
from harness.calibration.strategy_game import StrategyGame
from harness.config.run import LEVELS, STRATEGIES, DifficultyConfig
from harness.simulator.draws import uniforms
from harness.simulator.listening import listen
from harness.simulator.protocol import ConversationKey, SupporterReply, UserTurn
from harness.simulator.reference import (
    FIXED,
    REFERENCES,
    Reference,
    attentive,
    converse,
    fixed_cycle,
    phrase,
    random_supporter,
    spoken_schedule,
)
from harness.simulator.scripted.user import ScriptedSimulator

CONF = Path(__file__).parents[1] / "conf" / "difficulty"
GROUP = 2
Context = tuple[UserTurn, Sequence[str], Sequence[str]]
"""A turn to be replied to, what the user said so far, what was replied."""


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    contexts = _contexts(_level("medium"), 60)
    for level in LEVELS:
        difficulty = _level(level)
        accepted = _accepted(difficulty, contexts)
        half = 1.96 * (accepted * (1 - accepted) / (len(contexts) * len(STRATEGIES))) ** 0.5
        print(
            f"\n{level}: acceptance of all strategies in fixed contexts {accepted:.3f} +-{half:.3f}"
        )
        print(f"  {'':<52} final emotion  helped flagged left")
        _references(difficulty, count)
        _game(difficulty, count)


def _level(name: str) -> DifficultyConfig:
    return DifficultyConfig(**yaml.safe_load((CONF / f"{name}.yaml").read_text()))


def _contexts(difficulty: DifficultyConfig, count: int) -> list[Context]:
    """Return the contexts of a listener and of a random supporter before each of their replies."""
    asked: list[tuple[Sequence[str], Sequence[str]]] = []
    turns: list[UserTurn] = []
    for reference in (attentive, random_supporter):
        talks = converse(ScriptedSimulator(difficulty), _noting(reference, asked), _keys(count))
        turns += [turn for t in talks for turn in t[:-1]]
    return [(turn, *words) for turn, words in zip(turns, asked, strict=True)]


def _noting(reference: Reference, asked: list[tuple[Sequence[str], Sequence[str]]]) -> Reference:
    def reply(heard: Sequence[str], said: Sequence[str], u: Sequence[float]) -> str:
        asked.append((tuple(heard), tuple(said)))
        return reference(heard, said, u)

    return reply


def _accepted(difficulty: DifficultyConfig, contexts: list[Context]) -> float:
    """Share of replies that help, over every strategy in every context."""
    simulator = ScriptedSimulator(difficulty)
    helped = []
    for number, (turn, heard, replies) in enumerate(contexts):
        for strategy in STRATEGIES:
            u = uniforms("accepted", number, strategy)
            reply = SupporterReply(phrase(strategy, listen(heard), replies, u, newest=True))
            helped.append((simulator.answer([turn], [reply])[0].change or 0) > 0)
    return float(np.mean(helped))


def _references(difficulty: DifficultyConfig, count: int) -> None:
    best = max(FIXED, key=lambda s: np.mean(_finals(difficulty, fixed_cycle(s), count // 4)))
    _row(difficulty, f"best fixed sentence ({best})", fixed_cycle(best), count)
    for name, reference in REFERENCES.items():
        _row(difficulty, name, reference, count)


def _game(difficulty: DifficultyConfig, count: int) -> None:
    game = StrategyGame(difficulty)
    chance, ceiling = optimum.uniform(game), optimum.knowing_user(game)
    print(f"  strategy game: optimum {100 * ceiling:.1f}, chance {100 * chance:.1f}")
    schedules_by_name = {f"cycle of {n}": schedules.best_cycle(game, n) for n in (1, 2, 3)}
    schedules_by_name["best blind schedule"] = schedules.best_schedule(game)
    for name, schedule in schedules_by_name.items():
        share = (schedule.value - chance) / (ceiling - chance)
        strategies = ", ".join(schedule.strategies)
        print(f"  {name}: {100 * schedule.value:.1f} ({share:.0%} of the gain): {strategies}")
        _row(difficulty, f"spoken: {name}", spoken_schedule(schedule.strategies), count)


def _row(difficulty: DifficultyConfig, name: str, reference: Reference, count: int) -> None:
    talks = converse(ScriptedSimulator(difficulty), reference, _keys(count))
    finals = np.array([t[-1].emotion for t in talks], float)
    answers = [turn for t in talks for turn in t[1:]]
    half = 1.96 * finals.reshape(-1, GROUP).mean(axis=1).std(ddof=1) / (count / GROUP) ** 0.5
    helped = np.mean([(turn.change or 0) > 0 for turn in answers])
    flagged = np.mean([turn.flagged for turn in answers])
    left = np.mean([t[-1].ended == "left" for t in talks])
    print(
        f"  {name:<52} {finals.mean():5.1f} +-{half:4.1f}   {helped:.3f}  {flagged:.3f} {left:.3f}",
        flush=True,
    )


def _finals(difficulty: DifficultyConfig, reference: Reference, count: int) -> list[int]:
    return [t[-1].emotion for t in converse(ScriptedSimulator(difficulty), reference, _keys(count))]


def _keys(count: int) -> list[ConversationKey]:
    return [ConversationKey(1, 1, n // GROUP, n % GROUP) for n in range(count)]


if __name__ == "__main__":
    main()
