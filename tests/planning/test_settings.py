"""The words that are typed, the words of a pilot, and the words of a design."""

from __future__ import annotations

import pytest

from harness.compose import planner
from harness.errors import ConfigError
from harness.planning import settings
from tests.planning.made import SHORT, asked


def test_levels_are_named_as_they_are_typed() -> None:
    levels = asked("policy=tabular", "algorithm.std_floor=0.1,null", "eval.deaf=true")
    assert levels.names == ("algorithm.std_floor=0.1", "algorithm.std_floor=null")
    lists = asked("policy=tabular", "difficulty.intentions=[venting,praise],[advice]")
    assert lists.names[0] == "difficulty.intentions=[venting,praise]"


def test_levels_are_named_and_paired_by_what_is_swept() -> None:
    two = asked("policy=tabular", "difficulty=easy,hard", "curriculum=none,adaptive")
    assert two.names[0] == "difficulty=easy, curriculum=none"
    assert two.axes == ("difficulty", "curriculum")
    assert sorted(two.pairs) == [(1, 0), (2, 0), (3, 1), (3, 2)]


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ((), "needs at least two levels to compare, as difficulty=easy,hard; got no level"),
        (("difficulty=easy",), "got difficulty=easy"),
        (("difficulty=easy,hard", "seed=1,2"), "seed: must not be given, since a plan determines"),
        (("difficulty=easy,hard", "eval.users=32,64"), "eval.users: a plan needs one value"),
        (("sweeps=seeds",), "sweeps: must not be given; name the levels"),
    ],
)
def test_what_cannot_be_planned_is_refused(words: tuple[str, ...], rule: str) -> None:
    with pytest.raises(ConfigError) as refused:
        settings.parse_levels(words)
    assert rule in str(refused.value)


@pytest.mark.parametrize(
    "words",
    [
        ("policy=tabular", "difficulty=hard", "trainer.eval_every=25"),
        ("difficulty=hard", "difficulty.threshold=1.2", "algorithm.std_floor=null"),
        ("policy=tabular", "curriculum=staged", "algorithm.learning_rate=1.5"),
        ("policy=tabular", "eval.levels=[medium]", "reward=delta"),
        ("policy=tabular", "algorithm=reptile", "algorithm.options.inner_steps=20"),
        (
            "policy=tabular",
            "remedy=entropy_controller",
            "remedy.methods.entropy_controller.target_end=0.2",
        ),
    ],
)
def test_the_words_of_a_run_make_it_again(words: tuple[str, ...]) -> None:
    config = settings.flat(planner.point(words).config)
    again = settings.words_of(config, frozenset())
    assert settings.differing_settings(settings.flat(planner.point(again).config), config) == []


@pytest.mark.parametrize(
    "text",
    ["12e5678", "0012", "1_000", "null", "true", "nan", "", "it's", "a\\", "a\\'b", "-x", "a,b c"],
)
def test_a_text_stays_the_text_that_it_is(text: str) -> None:
    config = settings.flat(planner.point(["policy=hf", "policy.model=a/b"]).config)
    config["policy.system_prompt"] = text
    again = planner.point(settings.words_of(config, frozenset())).config
    assert again.policy.system_prompt == text


def test_what_is_typed_is_not_taken_from_the_pilot() -> None:
    config = settings.flat(planner.point(SHORT_HARD).config)
    words = settings.words_of(config, frozenset({"difficulty", "trainer.steps"}))
    assert not any(word.startswith(("difficulty", "trainer.steps")) for word in words)
    assert "trainer.conversations=16" in words


SHORT_HARD = ("policy=tabular", "difficulty=hard", "trainer.steps=100", "trainer.conversations=16")


def test_a_design_replaces_the_words_of_its_sizes_and_keeps_the_rest() -> None:
    sizes = {"trainer.steps": 100, "eval.users": 128, "trainer.eval_every": 10}
    assert settings.with_sizes(asked(*SHORT), sizes) == [
        "policy=tabular", "difficulty=easy,hard", "trainer.steps=100", "trainer.conversations=16",
        "eval.users=128", "trainer.eval_every=10",
    ]  # fmt: skip


def test_a_command_is_quoted_for_a_shell() -> None:
    line = settings.command("harness sweep", ["difficulty=easy,hard", "eval.levels=[medium]"], 4, 3)
    assert line == "harness sweep difficulty=easy,hard 'eval.levels=[medium]' 'seed=range(4,7)'"
