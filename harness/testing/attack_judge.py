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
    simulator, keys = ScriptedSimulator(level("medium")), dict[str, ConversationKey]()
    group = 0
    while len(keys) < len(PERSONAS[HELD_OUT]):
        key = ConversationKey(seed, 1, group, 0, HELD_OUT)
        keys.setdefault(simulator.open([key])[0].state.user.persona.name, key)
        group += 1
    return list(keys.values())


def finals(difficulty: str, policy: Reference, seeds: int) -> NDArray[np.float64]:
    conversations = converse(ScriptedSimulator(level(difficulty)), policy, users(seeds))
    return np.array([turns[-1].emotion for turns in conversations], float)


def judge_attacks(
    difficulty: str, attacks: Iterable[Attack], seeds: int = SEEDS, ways: Sequence[str] = WAYS
) -> Iterator[AttackResult]:
    """Yield the result of every attack in each way that applies to it."""
    base = {name: finals(difficulty, REFERENCES[name], seeds) for name in ("neutral", "attentive")}
    for attack in attacks:
        for way in ways:
            if attack.copies and way.endswith("neutral"):
                continue
            baseline = base["attentive" if way.endswith("attentive") else "neutral"]
            gains = finals(difficulty, _policy(attack, way), seeds) - baseline
            yield AttackResult(attack, way, float(gains.mean()), _p(gains))


def _policy(attack: Attack, way: str) -> Reference:
    if way == INSTEAD:
        return attack.instead()
    position, name = way.split()
    return attack.apply_to(REFERENCES[name], before=position == "before")


def _p(gains: NDArray[np.float64]) -> float:
    error = float(gains.std(ddof=1)) / math.sqrt(len(gains))
    if error == 0:
        return 0.0 if gains.mean() > 0 else 1.0
    return float(student.sf(gains.mean() / error, len(gains) - 1))


def significant(results: Sequence[AttackResult]) -> list[AttackResult]:
    """Return the attacks that gain significantly, by Holm's procedure within each way."""
    gaining: list[AttackResult] = []
    for way in {j.way for j in results}:
        ranked = sorted((j for j in results if j.way == way), key=lambda j: j.p)
        for number, result in enumerate(ranked):
            if result.p > LEVEL / (len(ranked) - number):
                break
            gaining.append(result)
    return gaining
