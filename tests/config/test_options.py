"""Options of plug-ins: checked as our own keys are, by the dataclass that declares them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest

from harness.config import options, reference
from harness.config.ranges import Between, OneOf, Only, Unless
from harness.config.run import DifficultyConfig, RewardConfig, SimulatorConfig
from harness.errors import ConfigError
from harness.simulator import factory
from harness.simulator.factory import SimulatorPlugIn
from harness.simulator.protocol import ConversationKey, UserSimulator
from harness.simulator.scripted.user import ScriptedSimulator
from harness.testing.commands import here
from harness.testing.options_contract import OptionsContract
from harness.testing.reward_contract import conversations
from harness.train.algorithms.reinforce import Reinforce
from harness.train.policy_gradient.rewards import Rewards
from harness.train.rollout import rewards
from harness.train.rollout.conversation import Conversation
from harness.train.rollout.rewards import Reward, Terminal
from harness.utils import extensions


@dataclass(frozen=True)
class Scaled(Reward):
    """The final emotion, scaled."""

    by: Annotated[float, Between(0.5, 4)] = 1.0
    """Factor."""
    curve: Annotated[str, OneOf(("line", "square"))] = "line"
    """Shape."""
    least: Annotated[int | None, Between(0, 9)] = None
    """Fewest replies."""

    def rewards(self, conversations: Sequence[Conversation]) -> Rewards:
        ends = Terminal().rewards(conversations).total
        return Rewards.of(self.by * (ends if self.curve == "line" else ends**2))


@dataclass(frozen=True)
class Plain(SimulatorPlugIn):
    """The scripted users."""

    def users(self, difficulty: DifficultyConfig) -> UserSimulator:
        return ScriptedSimulator(difficulty)


class TestScaled(OptionsContract):
    @pytest.fixture
    def options(self) -> options.Options:
        return Scaled()


class TestPlain(OptionsContract):
    @pytest.fixture
    def options(self) -> options.Options:
        return Plain()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"bye": 1},
            "a key of reward.options must be one of by, curve, least, got 'bye'; nearest: by",
        ),
        ({"by": 5}, "reward.options.by must lie between 0.5 and 4, got 5"),
        ({"by": "x"}, "reward.options.by must be a number, got 'x'"),
        ({"by": True}, "reward.options.by must be a number, got True"),
        ({"curve": "cube"}, "reward.options.curve must be one of line, square, got 'cube'"),
        ({"least": 1.5}, "reward.options.least must be a whole number below 2^63 or null, got 1.5"),
        ([1], "reward.options must be a mapping of keys to values, got [1]"),
    ],
)
def test_a_wrong_option_is_refused_by_its_key(values: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        options.build(Scaled, values)
    assert str(caught.value).startswith(message)


def test_a_class_without_options_takes_none() -> None:
    with pytest.raises(ConfigError) as caught:
        options.build(Plain, {"by": 1})
    assert str(caught.value) == "simulator.options must be empty, as Plain has none, got 'by'"


def test_a_plug_ins_reward_is_computed_with_its_options() -> None:
    batch = conversations()
    plain = Terminal().rewards(batch).total
    with extensions.registered("reward", "scaled", Scaled):
        config = RewardConfig("scaled", "scaled", options={"by": 2})
        assert rewards.make(config) == Scaled(2)
        assert rewards.compute_rewards(batch, config).total == pytest.approx(2 * plain, nan_ok=True)
        assert rewards.card(config)["options"] == {"by": 2}
        biased = RewardConfig("scaled", "scaled", solution_bias=1.0, options={"by": 2})
        solving = rewards.compute_rewards(batch, RewardConfig(solution_bias=1.0)).total
        assert rewards.compute_rewards(batch, biased).total == pytest.approx(solving, nan_ok=True)


def test_a_plug_ins_users_have_no_temperament_of_ours() -> None:
    key, level = ConversationKey(1, 1, 0, 0), DifficultyConfig()
    with extensions.registered("simulator", "plain", Plain):
        config = SimulatorConfig("plain", "plain")
        assert isinstance(factory.make(config, level), ScriptedSimulator)
        assert factory.temperament_of(key, level, config) is None
    assert factory.temperament_of(key, level, SimulatorConfig()) is not None


@pytest.mark.parametrize("item", [7, dict, DifficultyConfig])
def test_an_extension_of_another_class_is_refused_with_what_it_must_be(item: Any) -> None:
    with extensions.registered("reward", "odd", item), pytest.raises(ConfigError) as caught:
        rewards.make(RewardConfig("odd", "odd"))
    assert str(caught.value) == (
        "harness.rewards: odd must be a frozen dataclass and a subclass of "
        f"harness.train.rollout.rewards.Reward, got {item!r}"
    )


class Undecorated(Scaled):
    """Inherits the decoration of its base."""

    more: Annotated[float, Between(0, 1)] = 0.5


@dataclass(frozen=True)
class Abstract(Reward):
    """Has no rewards."""


@dataclass(frozen=True)
class WithoutDefault(Reward):
    """Asks for a number."""

    by: Annotated[float, Between(0, 1)]
    rewards = Terminal.rewards


@dataclass(frozen=True)
class Unknown(Reward):
    """Has a type that is nowhere."""

    by: Nowhere = 1  # type: ignore[name-defined]  # noqa: F821
    rewards = Terminal.rewards


@dataclass(frozen=True)
class Elsewhere(Reward):
    """Has an option for some policies alone."""

    by: Annotated[float, Between(0, 1), Only("policy.kind", ("tabular",))] = 0.5
    rewards = Terminal.rewards


@pytest.mark.parametrize(
    ("item", "sentence"),
    [
        (
            Elsewhere,
            "must make an option depend only on its own options, got policy.kind for by of {item}",
        ),
        (
            Undecorated,
            "must be a frozen dataclass and a subclass of harness.train.rollout.rewards.Reward, "
            "got {item}",
        ),
        (Abstract, "must define rewards, got {item} without"),
        (WithoutDefault, "must have a default for each option, got none for by of {item}"),
        (
            Unknown,
            "must have annotations that can be evaluated, got NameError: name 'Nowhere' is not "
            "defined in {item}",
        ),
    ],
)
def test_a_class_that_cannot_be_made_is_refused_by_its_name(item: Any, sentence: str) -> None:
    with extensions.registered("reward", "odd", item), pytest.raises(ConfigError) as caught:
        rewards.make(RewardConfig("odd", "odd"))
    assert str(caught.value) == "harness.rewards: odd " + sentence.format(item=item)


def test_harness_config_names_a_class_that_cannot_be_made(tmp_path: Any) -> None:
    with extensions.registered("reward", "odd", Unknown):
        done = here("config", "reward", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "harness: harness.rewards: odd must have annotations that can be evaluated, got NameError"
    )


@dataclass(frozen=True)
class Dependent(Reward):
    """Has options that depend on others."""

    kind: Annotated[str, OneOf(("line", "power"))] = "line"
    """Shape."""
    power: Annotated[float, Between(0, 9), Only("reward.options.kind", ("power",))] = 2.0
    """Exponent."""
    limit: Annotated[float | None, Between(0, 9)] = None
    """Largest reward; null for none."""
    soft: Annotated[bool, Unless("reward.options.limit", (None,), "nothing is limited")] = False
    """Whether the limit is soft."""
    weights: list[float] = field(default_factory=list)
    """Weights."""
    count: Annotated[int | float, Between(0, 9)] = 1
    """Count."""
    rewards = Terminal.rewards


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            {"power": 3},
            "reward.options.power: has no effect with reward.options.kind=line; it belongs to "
            "reward.options.kind=power, got 3",
        ),
        (
            {"soft": True, "limit": None},
            "reward.options.soft: has no effect with reward.options.limit=null, since nothing is "
            "limited, got True",
        ),
        ({"power": 99}, "reward.options.power must lie between 0 and 9, got 99"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(values: Any, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        options.build(Dependent, values)
    assert str(caught.value) == sentence


def test_an_option_that_does_something_or_has_its_default_is_taken() -> None:
    assert options.build(Dependent, {"kind": "power", "power": 3}).power == 3
    assert options.build(Dependent, {"soft": True, "limit": 1}).soft
    assert options.build(Dependent, {"power": 2.0, "soft": False}) == Dependent()
    assert reference.entries(Dependent, "reward.options")[3].used_with == (
        "reward.options.limit other than null",
    )


def test_canonical_options_are_all_of_them_each_in_its_declared_type() -> None:
    given = {"limit": 3, "soft": True, "weights": [1, 2.5]}
    expected = {
        "kind": "line", "power": 2.0, "limit": 3.0, "soft": True, "weights": [1.0, 2.5], "count": 1,
    }  # fmt: skip
    whole = options.canonical(Dependent, given)
    assert whole == expected
    assert [type(v) for v in whole.values()] == [type(v) for v in expected.values()]
    assert type(whole["weights"][0]) is float
    assert list(whole) == list(expected)
    assert options.canonical(Dependent, whole) == whole
    assert options.canonical(Plain, {}) == {}
    with pytest.raises(ConfigError, match=r"^reward\.options\.limit must lie between"):
        options.canonical(Dependent, {"limit": 10})


def test_reinforce_has_no_passes_of_a_critic_that_is_not_there() -> None:
    with pytest.raises(ConfigError) as caught:
        options.build(Reinforce, {"critic_passes": 20})
    assert str(caught.value) == (
        "algorithm.options.critic_passes: has no effect with algorithm.options.critic_rate=null, "
        "since there is no critic, got 20"
    )
    assert options.build(Reinforce, {"critic_passes": 20, "critic_rate": 0.1}).critic_passes == 20


def test_an_unknown_name_is_refused_with_those_of_plug_ins() -> None:
    with extensions.registered("reward", "scaled", Scaled), pytest.raises(ConfigError) as caught:
        RewardConfig("scald", "scald")
    assert str(caught.value) == (
        "reward.mode must be one of terminal, delta, turns, mixed, ctc, warmth, "
        "alliance, scaled, got "
        "'scald'; nearest: scaled"
    )


def test_harness_config_lists_the_options_of_plug_ins(tmp_path: Any) -> None:
    with extensions.registered("reward", "scaled", Scaled):
        done = here("config", "reward", cwd=tmp_path)
        (group,) = reference.of_plug_ins("reward")
    assert done.stdout.endswith(
        "reward=scaled: The final emotion, scaled.\n\n"
        "  reward.options.by=1.0\n      number: 0.5 to 4\n      Factor.\n\n"
        "  reward.options.curve=line\n      text: line or square\n      Shape.\n\n"
        "  reward.options.least=null\n      whole number or null: 0 to 9\n      Fewest replies.\n"
    )
    assert [entry.key for entry in group.keys] == [
        "reward.options.by", "reward.options.curve", "reward.options.least",
    ]  # fmt: skip
    assert reference.of_plug_ins("trainer") == ()
