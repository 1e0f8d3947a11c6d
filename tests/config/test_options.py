"""Options of plug-ins: checked as our own keys are, by the dataclass that declares them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from harness.config import options, reference
from harness.config.ranges import Between, OneOf
from harness.config.run import DifficultyConfig, RewardConfig, SimulatorConfig
from harness.errors import ConfigError
from harness.simulator import factory
from harness.simulator.factory import SimulatorPlugIn
from harness.simulator.protocol import ConversationKey, UserSimulator
from harness.simulator.scripted.user import ScriptedSimulator
from harness.testing.commands import here
from harness.testing.options_contract import OptionsContract
from harness.testing.reward_contract import conversations
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
        ([1], "reward.options must be a mapping of its keys to values, got [1]"),
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


def test_an_unknown_name_is_refused_with_those_of_plug_ins() -> None:
    with extensions.registered("reward", "scaled", Scaled), pytest.raises(ConfigError) as caught:
        RewardConfig("scald", "scald")
    assert str(caught.value) == (
        "reward.mode must be one of terminal, delta, turns, mixed, scaled, got 'scald'; "
        "nearest: scaled"
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
