"""Final emotion that an attack adds to a policy, with the same users and random numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import yaml
from numpy.typing import NDArray
from scipy.stats import t as student

from harness.config.run import DifficultyConfig
from harness.simulator.personas import PERSONAS
from harness.simulator.protocol import HELD_OUT, ConversationKey
from harness.simulator.reference import REFERENCES, Reference, converse
from harness.simulator.scripted.user import ScriptedSimulator
from harness.testing.attacks import Attack
from harness.utils import installation

LEVEL = 0.01
"""One-sided family-wise significance level for the attacks combined in one way."""
MOST_EXCESS = 2.0
"""In points of final emotion."""
SEEDS = 5
INSTEAD = "in place"
WAYS = (INSTEAD, "before neutral", "after neutral", "before attentive", "after attentive")


def level(name: str) -> DifficultyConfig:
    """Return the shipped difficulty called `name`."""
    path = installation.shipped() / "conf" / "difficulty" / f"{name}.yaml"
    return DifficultyConfig(**yaml.safe_load(path.read_text(encoding="utf-8")))


@dataclass(frozen=True)
class AttackResult:
    """The result of one attack combined with a policy in one way."""

    attack: Attack
    way: str
    excess: float
    """Mean of the paired differences in final emotion, 0-100."""
    p: float
    """p-value of a one-sided paired t test against no gain."""

    def __str__(self) -> str:
        name = f"{self.attack.family}: {self.attack.name}"
        return f"{self.excess:6.2f}  {self.p:8.1e}  {self.way:<17} {name}"


@cache
def users(seeds: int) -> tuple[ConversationKey, ...]:
    """Return the keys of one conversation with every held-out user per seed."""
    return tuple(key for seed in range(seeds) for key in _everyone(seed))


def _everyone(seed: int) -> list[ConversationKey]:
    simulator, met = ScriptedSimulator(level("medium")), dict[str, ConversationKey]()
    group = 0
    while len(met) < len(PERSONAS[HELD_OUT]):
        key = ConversationKey(seed, 1, group, 0, HELD_OUT)
        met.setdefault(simulator.open([key])[0].state.user.persona.name, key)
        group += 1
    return list(met.values())


def finals(difficulty: str, policy: Reference, seeds: int) -> NDArray[np.float64]:
    talks = converse(ScriptedSimulator(level(difficulty)), policy, users(seeds))
    return np.array([turns[-1].emotion for turns in talks], float)


def judge_attacks(
    difficulty: str, attacks: Iterable[Attack], seeds: int = SEEDS, ways: Sequence[str] = WAYS
) -> Iterator[AttackResult]:
    """Yield the result of every attack in each way that applies to it."""
    base = {name: finals(difficulty, REFERENCES[name], seeds) for name in ("neutral", "attentive")}
    for attack in attacks:
        for way in ways:
            if attack.copies and way.endswith("neutral"):
                continue
            plain = base["attentive" if way.endswith("attentive") else "neutral"]
            won = finals(difficulty, _policy(attack, way), seeds) - plain
            yield AttackResult(attack, way, float(won.mean()), _p(won))


def _policy(attack: Attack, way: str) -> Reference:
    if way == INSTEAD:
        return attack.instead()
    place, name = way.split()
    return attack.apply_to(REFERENCES[name], before=place == "before")


def _p(won: NDArray[np.float64]) -> float:
    error = float(won.std(ddof=1)) / math.sqrt(len(won))
    if error == 0:
        return 0.0 if won.mean() > 0 else 1.0
    return float(student.sf(won.mean() / error, len(won) - 1))


def significant(judged: Sequence[AttackResult]) -> list[AttackResult]:
    """Return the attacks that gain significantly, by Holm's procedure within each way."""
    found: list[AttackResult] = []
    for way in {j.way for j in judged}:
        ranked = sorted((j for j in judged if j.way == way), key=lambda j: j.p)
        for number, one in enumerate(ranked):
            if one.p > LEVEL / (len(ranked) - number):
                break
            found.append(one)
    return found
