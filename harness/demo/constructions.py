"""The runs of the demo: the regime that each shows, and the settings that lead to it.

Each run differs from the default one only in the settings given here, all of which are printed. The
seeds were chosen too: the runs are examples of the regimes, and no evidence of how often a setting
leads to one.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.compose import planner
from harness.compose.plan import Point

COMMON = (
    "policy=tabular",
    "trainer.conversations=32",
    "eval.levels=[]",
    "eval.deaf=false",
)
"""Overrides of every run: small batches, evaluated only at the run's own level."""


@dataclass(frozen=True)
class Construction:
    """One run of the demo."""

    name: str
    """Name of the run's folder and of its panel."""
    because: str
    """The cause of the regime in the settings, in a few words."""
    overrides: tuple[str, ...]
    """Overrides in addition to COMMON."""
    regimes: tuple[str, ...]
    """Regimes of `fit-entropy-law`, one of which the run must show."""

    @property
    def words(self) -> tuple[str, ...]:
        """All overrides, as for `harness train`."""
        own_keys = {word.split("=")[0] for word in self.overrides}
        shared_words = (word for word in COMMON if word.split("=")[0] not in own_keys)
        return (*shared_words, *self.overrides)

    def point(self) -> Point:
        """Compose and check the run. Raises ConfigError, for example because of a user's conf/."""
        return planner.point(self.words)


LEARNS = ("difficulty=medium", "algorithm.learning_rate=2", "trainer.steps=150")
CONSTRUCTIONS = (
    Construction(
        name="learns",
        because="users who hint at what they need, and a moderate learning rate",
        overrides=LEARNS,
        regimes=("learning",),
    ),
    Construction(
        name="collapses",
        because="easy users leave little to learn, and small batches are noisy",
        overrides=(
            "difficulty=easy",
            "trainer.conversations=16",
            "trainer.steps=240",
            "seed=2",
        ),
        regimes=("collapsed",),
    ),
    Construction(
        name="starves",
        because="hard users, and a policy that sees only their last words",
        overrides=(
            "difficulty=hard",
            "policy.observation=last_words",
            "algorithm.learning_rate=1",
            "trainer.steps=150",
        ),
        regimes=("starved",),
    ),
    Construction(
        name="explodes",
        because="rewarded for advice, then overruled by an entropy bonus that grows every step",
        overrides=(
            "difficulty=medium",
            "reward.solution_bias=0.8",
            "algorithm.learning_rate=1",
            "remedy=entropy_controller",
            "remedy.methods.entropy_controller.target=20",
            "remedy.methods.entropy_controller.delta=0.008",
            "remedy.methods.entropy_controller.most=4",
            "trainer.steps=150",
        ),
        regimes=("exploded",),
    ),
    Construction(
        name="null_control",
        because="the run that learns, but with shuffled advantages: nothing to learn",
        overrides=(*LEARNS, "algorithm.null_control=true"),
        regimes=("drifting", "spent", "collapsed", "starved"),
    ),
)
