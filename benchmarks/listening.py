"""Does listening pay? Scores of the reference policies and of the optimum, on each level.

python benchmarks/listening.py [CONVERSATIONS]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import yaml

from harness.config import LEVELS, DifficultyConfig
from harness.simulator import blind, optimum
from harness.simulator.protocol import ConversationKey
from harness.simulator.reference import REFERENCES, Reference, fixed_cycle, spoken_schedule, talk
from harness.simulator.reference_phrases import FIXED
from harness.simulator.scripted import ScriptedSimulator
from harness.simulator.strategy_game import Game

CONF = Path(__file__).parents[1] / "conf" / "difficulty"
GROUP = 2


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    for level in LEVELS:
        difficulty = DifficultyConfig(**yaml.safe_load((CONF / f"{level}.yaml").read_text()))
        print(
            f"\n{level}: final emotion, 95% interval; share of replies that helped; flagged; left\n"
        )
        _references(difficulty, count)
        _game(difficulty, count)


def _references(difficulty: DifficultyConfig, count: int) -> None:
    best = max(FIXED, key=lambda s: np.mean(_finals(difficulty, fixed_cycle(s), count // 4)))
    _row(difficulty, f"best fixed sentence ({best})", fixed_cycle(best), count)
    for name, reference in REFERENCES.items():
        _row(difficulty, name, reference, count)


def _game(difficulty: DifficultyConfig, count: int) -> None:
    game = Game(difficulty)
    chance, ceiling = optimum.uniform(game), optimum.knowing_user(game)
    print(f"  strategy game: optimum {100 * ceiling:.1f}, chance {100 * chance:.1f}")
    found = {f"cycle of {n}": blind.best_cycle(game, n) for n in (1, 2, 3)}
    found["best blind schedule"] = blind.best_schedule(game)
    for name, schedule in found.items():
        share = (schedule.value - chance) / (ceiling - chance)
        said = ", ".join(schedule.strategies)
        print(f"  {name}: {100 * schedule.value:.1f} ({share:.0%} of the gain): {said}")
        _row(difficulty, f"spoken: {name}", spoken_schedule(schedule.strategies), count)


def _row(difficulty: DifficultyConfig, name: str, reference: Reference, count: int) -> None:
    talks = talk(ScriptedSimulator(difficulty), reference, _keys(count))
    finals = np.array([t[-1].emotion for t in talks], float)
    answers = [turn for t in talks for turn in t[1:]]
    half = 1.96 * finals.reshape(-1, GROUP).mean(axis=1).std(ddof=1) / (count / GROUP) ** 0.5
    helped = np.mean([(turn.change or 0) > 0 for turn in answers])
    flagged = np.mean([turn.flagged for turn in answers])
    left = np.mean([t[-1].ended == "left" for t in talks])
    print(
        f"  {name:<52} {finals.mean():5.1f} +-{half:4.1f}  {helped:.3f}  {flagged:.3f}  {left:.3f}",
        flush=True,
    )


def _finals(difficulty: DifficultyConfig, reference: Reference, count: int) -> list[int]:
    return [t[-1].emotion for t in talk(ScriptedSimulator(difficulty), reference, _keys(count))]


def _keys(count: int) -> list[ConversationKey]:
    return [ConversationKey(1, 1, n // GROUP, n % GROUP) for n in range(count)]


if __name__ == "__main__":
    main()
