"""The runs of the demo: what each is to show, and the settings that make it do so.

Each run differs from the plain one in the settings named here alone, and all of them are printed.
The seeds are chosen too: these are examples of the regimes, and no evidence of how often a setting
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
"""Of every run: small batches, evaluated at the run's own level alone."""


@dataclass(frozen=True)
class Construction:
    """One run of the demo."""

    name: str
    """Name of its folder, and of its panel."""
    because: str
    """What in its settings makes it so, in a few words."""
    overrides: tuple[str, ...]
    """The words that make it, beside COMMON."""
    regimes: tuple[str, ...]
    """The regimes of `fit-entropy-law` of which it must show one."""

    @property
    def words(self) -> tuple[str, ...]:
        """All words, as `harness train` takes them."""
        own = {word.split("=")[0] for word in self.overrides}
        shared = (word for word in COMMON if word.split("=")[0] not in own)
        return (*shared, *self.overrides)

    def point(self) -> Point:
        """The run, composed and checked. Raises ConfigError, as for words that somebody typed."""
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
        because="hard users, and a policy that hears no more than their last words",
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
        because="paid for advice, then overruled by an entropy bonus that grows every step",
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
        because="the run that learns, with its advantages shuffled: nothing to learn",
        overrides=(*LEARNS, "algorithm.null_control=true"),
        regimes=("drifting", "spent", "collapsed", "starved"),
    ),
)
