"""remedy= as a user chooses it: refused in one line before anything is made, or acting."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from harness.compose import planner, search_path
from harness.config.run import AlgorithmConfig, RemedyConfig, RunConfig
from harness.errors import DataError
from harness.records.run_folder import RunFolder
from harness.testing import remedy_contract
from harness.testing.commands import here
from harness.train import remedies
from harness.train.objective import registry, remedy_state
from harness.train.policy_gradient.remedy_roles import StepTokens, Weight, Weights
from harness.train.remedies.clip_cov import ClipCov
from harness.train.remedies.reference_kl import ReferenceKl
from tests.train.made import go_on, stack_of, tabular, tokens_of
from tests.train.made_remedies import made_of, refused, rows_of

TWICE = "trainer.updates_per_batch=2"
INERT_ALONE = ("ce_gppo", "clip_higher", "gppo", "kl_cov")


def test_every_method_is_an_option_with_the_defaults_of_its_file() -> None:
    for name in registry.remedy_names():
        file = search_path.option_file("remedy", name)
        assert file is not None, name
        chosen = RemedyConfig(**yaml.safe_load(file.read_text()))
        (remedy,) = registry.remedies_of(replace(tabular(), remedy=chosen))
        assert (remedy.name(), remedy) == (name, type(remedy)())
        assert "arXiv" in (Path(remedies.__path__[0]) / f"{name}.py").read_text()
    assert "none" in search_path.options("remedy")


def test_a_remedy_that_could_do_nothing_is_refused_before_the_first_run(tmp_path: Path) -> None:
    done = here("sweep", "remedy=none,kl_cov", "policy=tabular", "seed=1,2", cwd=tmp_path)
    rule = "must be 2 or more, since with one update a batch every ratio is 1"
    assert done.returncode == 2
    assert done.stderr == (
        f"harness: trainer.updates_per_batch {rule} and kl_cov does nothing, got 1\n"
    )
    assert not list(tmp_path.iterdir())
    for name in INERT_ALONE:
        assert refused(f"remedy={name}").endswith(f"{rule} and {name} does nothing, got 1")


def test_one_method_that_can_act_is_enough() -> None:
    both = RemedyConfig("two", {"clip_higher": {}, "reference_kl": {}})
    registry.check(replace(tabular(), remedy=both))


def test_a_clip_that_a_remedy_replaces_is_refused_unless_another_run_has_it() -> None:
    assert refused("remedy=dppo", TWICE, "algorithm.clip_high=0.5") == (
        "algorithm.clip_high: has no effect with remedy.methods.dppo, which replaces the clip, "
        "got 0.5"
    )
    assert refused("remedy=clip_higher,gppo", TWICE, "algorithm.clip_low=0.1").startswith(
        "algorithm.clip_low: has no effect with remedy.methods.clip_higher, "
    )
    for remedies_ in ("none,dppo", "w_reinforce"):
        words = ["policy=tabular", f"remedy={remedies_}", TWICE, "algorithm.clip_high=0.5"]
        assert planner.plan(words).points


def test_a_mistake_names_its_key() -> None:
    share = "remedy.methods.clip_cov.share"
    assert refused("remedy=clip_cov", f"{share}=2") == f"{share} must lie between 0 and 1, got 2"
    assert refused("remedy=clip_cov", f"{share}=no") == f"{share} must be a number, got 'no'"
    assert refused("remedy=clip_cov", "remedy.methods.clip_cov.shar=0.1") == (
        "a key of remedy.methods.clip_cov must be one of share, low, high, clip_low, clip_high, "
        "got 'shar'; nearest: share"
    )
    assert refused("remedy=none", f"{share}=0.1") == (
        "remedy.methods must be empty with remedy=none and name a method with any other, "
        "got clip_cov with none"
    )
    assert refused("remedy=gppo", "remedy.methods.gppo=1", TWICE) == (
        "remedy.methods.gppo must be a mapping of keys to values, got 1"
    )


@dataclass(frozen=True)
class Halved(ReferenceKl, Weight):
    """A remedy of two roles."""

    def weigh(self, step: StepTokens) -> Weights:
        return Weights(np.full(len(step.logp), 0.5), np.ones(len(step.logp), bool))


def test_a_remedy_plays_each_of_its_roles() -> None:
    tokens = remedy_contract.step()
    both, added = (stack_of(AlgorithmConfig(), remedy) for remedy in (Halved(), ReferenceKl()))
    given = tokens_of(tokens.logp, tokens.logp, tokens.advantage)
    two, one = (stack.loss(given, stack.select(tokens)) for stack in (both, added))
    np.testing.assert_allclose(two.policy.slope, 0.5 * one.policy.slope)
    assert two.added is not None
    assert one.added is not None
    np.testing.assert_array_equal(two.added.slope, one.added.slope)


def test_a_second_method_is_added_by_a_word() -> None:
    words = ["remedy=clip_cov", "remedy.methods.reference_kl.coefficient=0.01"]
    (point,) = planner.plan(words).points
    assert [m.name() for m in registry.remedies_of(point.config)] == [
        "clip_cov",
        "reference_kl",
    ]


def test_a_swept_number_reaches_its_method() -> None:
    words = ["remedy=clip_cov", "policy=tabular", "remedy.methods.clip_cov.share=1e-3,1e-2"]
    methods = [registry.remedies_of(p.config)[0] for p in planner.plan(words).points]
    assert methods == [ClipCov(share=0.001), ClipCov(share=0.01)]


@pytest.mark.slow
def test_two_shapes_of_the_ratio_are_one_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    option = tmp_path / "conf" / "remedy" / "mine.yaml"
    option.parent.mkdir(parents=True)
    option.write_text("name: mine\nmethods: {gppo: {}, kl_cov: {}}\n")
    assert refused("remedy=mine", TWICE) == (
        "remedy.methods must have one method at most that sets the ratio's shape, "
        "got gppo and kl_cov"
    )
    option.write_text("name: mine\nmethods: {gpo: {}}\n")
    assert refused("remedy=mine", TWICE).startswith("remedy.methods must be one of adapo, ce_gppo,")
    option.write_text("name: mine\n")
    assert refused("remedy=mine", TWICE) == (
        "remedy.methods must be empty with remedy=none and name a method with any other, "
        "got none with mine"
    )
    option.write_text("name: mine\nmethods: {gppo: {}, reference_kl: {coefficient: 0.01}}\n")
    (point,) = planner.plan(["remedy=mine", TWICE]).points
    assert [m.name() for m in registry.remedies_of(point.config)] == ["gppo", "reference_kl"]


def test_two_files_make_the_remedy_that_the_docs_add(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it is written there, its method in a folder of methods and its option in conf/remedy."""
    docs = Path(__file__).parents[2] / "docs" / "remedies.md"
    method, option = re.findall(r"```(?:python|yaml)\n(.*?)```", docs.read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(remedies, "__path__", [*remedies.__path__, str(tmp_path)])
    (tmp_path / "sure_tokens.py").write_text(method)
    (tmp_path / "conf" / "remedy").mkdir(parents=True)
    (tmp_path / "conf" / "remedy" / "sure_tokens.yaml").write_text(option)
    words = ["remedy=sure_tokens", "remedy.methods.sure_tokens.above=-1.9"]
    (point,) = planner.plan(words).points
    run = made_of(tmp_path / "run", point.config.remedy, steps=2)
    assert go_on(run)[0] == 0
    for row in rows_of(run):
        assert 0 < row["remedy/acted"] == row["remedy/chosen"] < 1


def treated(path: Path, steps: int, **controller: float) -> RunFolder:
    """With an entropy controller, not begun."""
    return made_of(path, RemedyConfig("test", {"entropy_controller": controller}), steps)


def test_a_remedy_that_never_acts_is_reported_once(tmp_path: Path) -> None:
    run = treated(tmp_path, steps=22, target=0.01)
    code, _, err = go_on(run)
    assert code == 0
    assert [row["remedy/acted"] for row in rows_of(run)] == [0] * 22
    assert err.count("remedy=test has acted on no token in 20 steps") == 1
    assert run.events.read_text().count("remedy_inactive") == 1


def test_a_resumed_controller_goes_on_with_its_coefficient(tmp_path: Path) -> None:
    whole, cut = (
        treated(tmp_path / name, steps=6, target=2.0, delta=0.01, most=0.03)
        for name in ("whole", "cut")
    )
    assert go_on(whole)[0] == 0
    assert go_on(cut, stop_after=2)[0] == 75
    assert go_on(cut)[0] == 0
    rows = rows_of(whole)
    assert [row["entropy_coef"] for row in rows] == [0, 0.01, 0.02, 0.03, 0.03, 0.03]
    assert [row["remedy/acted"] for row in rows] == [0, 1, 1, 1, 1, 1]
    assert cut.metrics.read_bytes() == whole.metrics.read_bytes()


@pytest.mark.parametrize(
    ("text", "got"),
    [
        (None, "FileNotFoundError("),
        ("{", "JSONDecodeError("),
        ("[]", "AttributeError("),
        ('{"states": {}}', "KeyError('coefficient')"),
        ('{"coefficient": "x"}', "ValueError(\"'x' in the place of a finite number\")"),
        ('{"coefficient": 0, "states": {"repo_r": {"zeta": NaN}}}', "ValueError('nan in the place"),
        ('{"coefficient": 0, "states": {"repo_r": 1}}', "AttributeError("),
    ],
)
def test_a_checkpoint_without_what_remedies_carry_is_named(
    tmp_path: Path, text: str | None, got: str
) -> None:
    config = RunConfig(remedy=RemedyConfig("repo_r", {"repo_r": {}}))
    file = tmp_path / "remedy.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(DataError) as error:
        remedy_state.begin(config, tmp_path)
    assert str(error.value).startswith(f"{file}: must hold the remedies' numbers, got {got}")
