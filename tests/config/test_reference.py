"""The reference of config keys: the command, the page, and the source that both come from."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import config as command
from harness.compose import planner, search_path
from harness.config import keys, reference
from harness.config.run import LevelsConfig, RunConfig
from harness.errors import ConfigError
from harness.testing.commands import here
from harness.train.objective import registry
from harness.utils import extensions, installation
from tests.conftest import Install

PAGE = Path(__file__).parents[2] / "docs" / "config.md"
DECLARED = ("remedy.methods.", "algorithm.options.")
"""Keys that the files of remedies and algorithms declare."""
ENTRIES = [entry for group in reference.groups() for entry in group.keys]


def test_the_page_is_what_the_fields_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference.markdown(command.groups(plug_ins=False)), (
        "python -m harness.cli.config > docs/config.md"
    )


def test_the_page_has_nothing_of_plug_ins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: Install
) -> None:
    """Not even where one of them cannot be imported."""
    points = "".join(f"[{extensions.group(kind)}]\nmine = a:A\n" for kind in extensions.KINDS)
    installed(points)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-m", "harness.cli.config"], capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == (PAGE.read_text(encoding="utf-8"), "")


def test_the_reference_has_every_key_once_with_a_sentence() -> None:
    assert [entry.key for entry in ENTRIES] == list(keys.keys())
    assert [entry.key for entry in ENTRIES if not re.search(r"^\S.*\.$", entry.meaning)] == []
    assert [entry.key for entry in ENTRIES if "  " in entry.meaning] == []


def test_the_defaults_are_those_of_a_run_without_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (point,) = planner.plan([]).points
    (of_policy,) = (entry for entry in ENTRIES if entry.key == "eval.users")
    assert "Options of language models set 24" in of_policy.meaning
    for entry in ENTRIES:
        default = 24 if entry is of_policy else entry.default
        assert keys.value_at(point.config, entry.key) == default, entry.key


def test_the_options_are_those_that_the_command_line_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for group in reference.groups()[1:]:
        assert list(group.options) == search_path.options(group.name) != []


def test_the_command_prints_all_keys_in_80_columns(tmp_path: Path) -> None:
    done = here("config", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
    shown = re.findall(r"^  ([a-z0-9_.]+)=", done.stdout, re.M)
    assert [key for key in shown if not key.startswith(DECLARED)] == list(keys.keys())


def test_the_group_of_remedies_lists_the_keys_of_each_method(tmp_path: Path) -> None:
    done = here("config", "remedy", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        "remedy.methods.gppo: GPPO: tokens beyond a clip bound keep the gradient that\n"
        "they have at the bound.\n"
        "\n"
        "  remedy.methods.gppo.clip_low=0.2\n"
        "      number: 0 to 1\n"
    ) in done.stdout
    assert "  remedy.methods.dynamic_sampling.tries=10\n      whole number: 1 to" in done.stdout
    assert "  remedy.methods.forking_tokens.normalise_by_all=false\n      true or false\n" in (
        done.stdout
    )
    listed = re.findall(r"^remedy\.methods\.(\w+): ", done.stdout, re.M)
    assert listed == registry.remedy_names()
    json_of = json.loads(here("config", "remedy", "--json", cwd=tmp_path).stdout)["groups"]
    assert [group["group"] for group in json_of] == [
        "remedy", *(f"remedy.methods.{name}" for name in listed)
    ]  # fmt: skip


def test_a_methods_key_is_listed_with_the_range_and_default_that_a_run_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (group,) = (g for g in command.groups("remedy") if g.name == "remedy.methods.soft_overlong")
    listed = {entry.key: (entry.default, entry.range) for entry in group.keys}
    buffer, weight = "remedy.methods.soft_overlong.buffer", "remedy.methods.soft_overlong.weight"
    assert listed == {buffer: (0.2, "0.001 to 1"), weight: (0.5, "0 to 1e+06")}
    chosen = planner.point(["policy=tiny", "remedy=soft_overlong"]).config.remedy.methods
    assert chosen == {"soft_overlong": {"buffer": 0.2, "weight": 0.5}}
    with pytest.raises(ConfigError, match=f"{buffer} must lie between 0.001 and 1, got 1.5"):
        planner.plan(["policy=tiny", "remedy=soft_overlong", f"{buffer}=1.5"])


def test_a_group_alone_is_printed_with_type_range_default_unit_and_kind(tmp_path: Path) -> None:
    done = here("config", "curriculum", cwd=tmp_path)
    assert "\n  curriculum.hard_from=null\n      whole number or null (step): 1 to 10000000\n" in (
        done.stdout
    )
    assert "      Only with curriculum.kind=staged.\n" in done.stdout
    assert "      Set by curriculum=NAME only.\n" in done.stdout
    assert "options: adaptive, mixed, none, reverse, staged\n" in done.stdout
    assert "trainer." not in done.stdout


def test_the_json_reference_holds_the_same_keys(tmp_path: Path) -> None:
    groups = json.loads(here("config", "--json", cwd=tmp_path).stdout)["groups"]
    listed = [key["key"] for group in groups for key in group["keys"]]
    assert [key for key in listed if not key.startswith(DECLARED)] == list(keys.keys())
    (trainer,) = json.loads(here("config", "trainer", "--json", cwd=tmp_path).stdout)["groups"]
    assert trainer in groups
    assert next(key for key in trainer["keys"] if key["key"] == "trainer.grace_s") == {
        "key": "trainer.grace_s",
        "type": "number",
        "range": "0.1 to 86400",
        "default": 30.0,
        "unit": "seconds",
        "used_with": [],
        "set_by_option": False,
        "meaning": "Time that a run has to save a checkpoint after a stop request before it is "
        "killed.",
    }


def test_a_group_that_does_not_exist_ends_2_naming_the_nearest(tmp_path: Path) -> None:
    done = here("config", "trainr", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("trainer, eval, got 'trainr'; nearest: trainer\n")
    assert "harness: GROUP must be one of run, difficulty, policy" in done.stderr


def test_every_seconds_key_has_its_unit() -> None:
    assert [
        entry.key for entry in ENTRIES if entry.key.endswith("_s") != (entry.unit == "seconds")
    ] == []


def test_levels_are_no_group_since_nobody_may_set_them() -> None:
    names = [group.name for group in reference.groups()]
    assert names[0] == reference.RUN
    assert set(names[1:]) == keys.parts(RunConfig).keys() - {"levels"}
    assert keys.parts(RunConfig)["levels"] is LevelsConfig
    assert (installation.shipped() / "conf" / "levels").exists() is False
