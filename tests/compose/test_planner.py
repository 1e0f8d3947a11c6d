"""The Hydra boundary: its override grammar, and what a plan is named and leaves alone."""

import logging
from pathlib import Path
from typing import Any

import pytest
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.global_hydra import GlobalHydra

from harness.compose import planner
from harness.errors import ConfigError


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


GRAMMAR: dict[str, tuple[list[str], list[tuple[str, int]], dict[str, tuple[str | int, ...]]]] = {
    "nothing": ([], [("medium", 1)], {}),
    "list": (
        ["difficulty=easy,hard"],
        [("easy", 1), ("hard", 1)],
        {"difficulty": ("easy", "hard")},
    ),
    "product": (
        ["difficulty=easy,hard", "seed=1,2"],
        [("easy", 1), ("easy", 2), ("hard", 1), ("hard", 2)],
        {"difficulty": ("easy", "hard"), "seed": (1, 2)},
    ),
    "range": (["seed=range(1,4)"], [("medium", n) for n in (1, 2, 3)], {"seed": (1, 2, 3)}),
    "choice": (
        ["difficulty=choice(hard,easy)"],
        [("hard", 1), ("easy", 1)],
        {"difficulty": ("hard", "easy")},
    ),
    "glob": (
        ["difficulty=glob(*,exclude=[a*,h*])"],
        [("easy", 1), ("medium", 1)],
        {"difficulty": ("easy", "medium")},
    ),
    "force": (["++seed=4"], [("medium", 4)], {}),
    "delete": (["~seed"], [("medium", 1)], {}),
    "sweep_file": (
        ["+sweeps=difficulty_ladder", "seed=7"],
        [("easy", 7), ("medium", 7), ("hard", 7)],
        {"difficulty": ("easy", "medium", "hard")},
    ),
    "no_axis_left": (
        ["+sweeps=difficulty_ladder", "seed=7", "difficulty=hard"],
        [("hard", 7)],
        {},
    ),
    "launcher": (
        ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2", "seed=1,2"],
        [("medium", 1), ("medium", 2)],
        {"seed": (1, 2)},
    ),
    "one_value": (["seed=choice(5)"], [("medium", 5)], {"seed": (5,)}),
}


@pytest.mark.parametrize("name", GRAMMAR)
def test_each_form_of_an_override_gives_its_points_and_axes(name: str) -> None:
    words, points, axes = GRAMMAR[name]
    plan = planner.plan(words)
    assert [(p.config.difficulty.name, p.config.seed) for p in plan.points] == points
    assert plan.axes == axes


def test_axes_keep_their_own_types_and_order() -> None:
    words = ["algorithm.std_floor=0.1,null", "algorithm.null_control=true,false"]
    plan = planner.plan(words)
    assert repr(dict(plan.axes)) == repr(
        {"algorithm.std_floor": (0.1, None), "algorithm.null_control": (True, False)}
    )
    assert plan.points[1].overrides == (
        "algorithm.std_floor=0.1",
        "algorithm.null_control=False",
    )


def test_lists_sweep_as_lists() -> None:
    plan = planner.plan(["difficulty.intentions=['praise'],[advice,'venting']"])
    assert plan.axes == {"difficulty.intentions": (["praise"], ["advice", "venting"])}
    assert plan.names[1] == "1-medium-seed1-intentions_advice_venting_"


@pytest.mark.slow
def test_a_points_own_words_make_the_same_point() -> None:
    plan = planner.plan(["+sweeps=difficulty_ladder", "seed=3", "trainer.eval_every=5"])
    point = plan.points[-1]
    (again,) = planner.plan(point.overrides).points
    assert again.config == point.config


def test_no_point_of_a_product_has_a_value_of_another() -> None:
    words = ["policy=tabular", "difficulty=easy,hard", "eval.levels=[easy],[],[medium,hard]",
             "remedy=none,entropy_bonus", "eval.repeats=1,2", "seed=1,2"]  # fmt: skip
    points = planner.plan(words).points
    assert len(points) == 2 * 3 * 2 * 2 * 2
    for point in points[::11]:  # each value of each axis, beside different others
        assert planner.point(point.overrides).config == point.config


def test_names_say_number_level_seed_and_what_else_is_swept() -> None:
    plan = planner.plan(["difficulty=easy", "algorithm.learning_rate=0.5,1e-3"])
    assert plan.names == ("0-easy-seed1-learning_rate0.5", "1-easy-seed1-learning_rate0.001")


@pytest.mark.slow
def test_a_swept_group_is_named_by_its_option() -> None:
    names = planner.plan(["policy=tabular,tiny"]).names
    assert names == ("0-medium-seed1-tabular", "1-medium-seed1-tiny")


def test_a_value_may_refer_to_another_key() -> None:
    (point,) = planner.plan(["trainer.checkpoint_every=${trainer.steps}"]).points
    assert point.config.trainer.checkpoint_every == point.config.trainer.steps


def test_two_ways_to_write_one_run_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"runs 0 and 1 of the sweep are the same: .*=5\.0"):
        planner.plan(["trainer.grace_s=5,5.0"])


def test_the_evaluations_of_the_default_typed_as_a_number_are_the_same_run() -> None:
    with pytest.raises(ConfigError, match=r"runs 0 and 1 of the sweep are the same: .*=5"):
        planner.plan(["trainer.steps=100", "trainer.eval_every=null,5"])
    assert len(planner.plan(["trainer.steps=100,200", "trainer.eval_every=null"]).points) == 2


def test_planning_leaves_loggers_the_folder_and_hydra_as_they_were() -> None:
    before, where = list(logging.getLogger().handlers), Path.cwd()
    planner.plan(["seed=1,2"])
    assert logging.getLogger().handlers == before
    assert Path.cwd() == where
    assert not list(Path().iterdir())
    assert not GlobalHydra.instance().is_initialized()


def test_a_shuffled_value_stays_with_the_word_that_names_it() -> None:
    points = planner.plan(["seed=shuffle(range(1,12))"]).points
    assert sorted(point.config.seed for point in points) == list(range(1, 12))
    assert [point.overrides for point in points] == [
        (f"seed={point.config.seed}",) for point in points
    ]
    for _ in range(2):
        points = planner.plan(["difficulty=shuffle(easy,medium,hard)"]).points
        assert {point.overrides for point in points} == {
            (f"difficulty={name}",) for name in ("easy", "medium", "hard")
        }
        assert [point.overrides for point in points] == [
            (f"difficulty={point.config.difficulty.name}",) for point in points
        ]


@pytest.mark.parametrize(
    ("words", "times"),
    [("seed=1", 1), ("seed=range(1,31)", 1), ("difficulty=easy,medium,hard seed=range(1,11)", 3)],
)
def test_hydra_composes_once_for_each_choice_of_options(
    words: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Composing is what takes time, so a plan of many seeds may not compose each of them."""
    composed: list[dict[str, Any]] = []
    load = ConfigLoaderImpl.load_configuration

    def counted(self: ConfigLoaderImpl, **given: Any) -> Any:
        composed.append(given)
        return load(self, **given)

    monkeypatch.setattr(ConfigLoaderImpl, "load_configuration", counted)
    planner.plan(words.split())
    assert len(composed) == times
