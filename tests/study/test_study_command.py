"""`harness study` on real runs, small ones, and what it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from harness.compose import search_path
from harness.report.text import link_words
from harness.study import file
from harness.testing.commands import here, ledger
from tests.study.made import SMALL, written


@pytest.mark.slow
def test_a_study_is_run_judged_written_down_and_gone_on_with(tmp_path: Path) -> None:
    written(tmp_path)
    done = here("study", "mine", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    root = Path(value["dir"])
    assert root.parent == tmp_path / "runs"
    assert root.name.startswith("study-mine-")
    assert (value["verdict"], value["seeds_needed"]) == ("undecided", None)
    assert value["links"][0]["why"].startswith("too few seeds with a number for each run")
    assert value["arms"]["hard"]["planned"] == 2
    assert "4 runs of 3 steps: about" in done.stderr
    assert [row["status"] for row in ledger(root)] == ["done"] * 4
    results = {path.name for path in (root / "study").iterdir()}
    assert results == {"result.json", "links.png", "links.svg", "links.csv"}
    assert json.loads((root / "study" / "result.json").read_text()) == value

    shutil.rmtree(root / "3-hard-seed2")
    kept = (root / "0-medium-seed1" / "run.json").stat().st_mtime_ns
    text = SMALL.replace("margin: 0.05", "margin: 0.02")
    written(tmp_path, text)
    again = here("study", "mine", cwd=tmp_path, COLUMNS="100")
    assert again.returncode == 0, again.stderr
    assert "mine: undecided" in again.stdout
    assert "; the seeds needed are not known" in again.stdout
    assert "gain of reward on eval/medium/reward is less in hard" in again.stdout
    changed = "links.hard gains less.margin: 0.05 became 0.02"
    assert f"changed since the first runs were planned: {changed}" in again.stderr
    assert json.loads((root / "study" / "result.json").read_text())["changed"] == [changed]
    assert [row["status"] for row in ledger(root)] == ["done"] * 4
    assert (root / "0-medium-seed1" / "run.json").stat().st_mtime_ns == kept


@pytest.mark.slow
def test_more_seeds_are_added_to_the_same_study_and_told(tmp_path: Path) -> None:
    written(tmp_path)
    assert here("study", "mine", "seed=1", "trainer.steps=1", cwd=tmp_path).returncode == 0
    done = here("study", "mine", "seed=1,2", "trainer.steps=1", "--json", cwd=tmp_path)
    value = json.loads(done.stdout)
    assert value["changed"] == ["seeds: 1 became 1 2"]
    rows = ledger(Path(value["dir"]))
    assert [row["name"] for row in rows] == [
        "0-medium-seed1", "1-hard-seed1", "2-medium-seed2", "3-hard-seed2",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_dry_run_says_what_would_be_run_and_creates_nothing(tmp_path: Path) -> None:
    written(tmp_path)
    done = here("study", "mine", "seed=range(1,6)", "--dry-run", cwd=tmp_path)
    assert "10 runs of 3 steps" in done.stdout
    assert "link, hard gains less: gain of reward on eval/medium/reward is less in" in done.stdout
    value = json.loads(here("study", "mine", "--dry-run", "--json", cwd=tmp_path).stdout)
    assert (value["runs"], value["seeds"]) == (4, [1, 2])
    assert [path.name for path in tmp_path.iterdir()] == ["sweeps"]


@pytest.mark.slow
def test_null_controls_of_all_arms_are_one_word(tmp_path: Path) -> None:
    written(tmp_path, SMALL.replace("links:", "null_controls: true\nlinks:"))
    value = json.loads(here("study", "mine", "--dry-run", "--json", cwd=tmp_path).stdout)
    assert list(value["arms"]) == ["medium", "hard", "medium_null", "hard_null"]
    assert value["arms"]["hard_null"] == ["difficulty=hard", "algorithm.null_control=true"]
    assert value["runs"] == 8


@pytest.mark.slow
def test_null_controls_of_some_arms_are_named(tmp_path: Path) -> None:
    written(tmp_path, SMALL.replace("links:", "null_controls: [hard]\nlinks:"))
    value = json.loads(here("study", "mine", "--dry-run", "--json", cwd=tmp_path).stdout)
    assert list(value["arms"]) == ["medium", "hard", "hard_null"]


@pytest.mark.slow
def test_arms_that_are_alike_share_their_runs(tmp_path: Path) -> None:
    written(tmp_path, SMALL.replace("hard: [difficulty=hard]", "hard: [difficulty=medium]"))
    value = json.loads(here("study", "mine", "--dry-run", "--json", cwd=tmp_path).stdout)
    assert value["runs"] == 2


WORDS = {
    "an arm's own key": (["difficulty=easy"], "difficulty is set by the arms of"),
    "several values": (["trainer.steps=3,4"], "several values only of seed"),
    "a glob": (["seed=glob(*)"], "seed=glob(*): glob() selects several options of a group, which"),
    "no such key": (["trainer.stps=3"], "nearest: trainer.steps"),
    "out of range": (
        ["trainer.steps=-3"],
        "harness: command line: trainer.steps must lie between 1 and 10000000, got -3\n",
    ),
    "no number": (
        ["trainer.steps=abc"],
        "harness: command line: trainer.steps must be a whole number, got 'abc'\n",
    ),
    "a wrong seed": (["seed=-1"], "harness: command line: seed must lie between 0 and 2147483647"),
    "no such launcher": (
        ["hydra/launcher=nope"],
        "harness: command line: hydra/launcher must be one of basic, ",
    ),
    "a sweep file": (["+sweeps=seeds"], "must be in its own file"),
}


@pytest.mark.parametrize("case", WORDS)
def test_a_word_that_cannot_be_right_ends_2_with_a_sentence(case: str, tmp_path: Path) -> None:
    written(tmp_path)
    words, said = WORDS[case]
    refused(tmp_path, ["mine", *words], said)


def test_a_word_that_one_arm_alone_cannot_be_run_with_is_the_command_lines(tmp_path: Path) -> None:
    written(tmp_path, SMALL.replace("[difficulty=hard]", "[algorithm.group_size=4]"))
    word = "trainer.conversations=24"
    assert here("study", "mine", word, "--dry-run", cwd=tmp_path).returncode == 0
    written(tmp_path, SMALL.replace("[difficulty=hard]", "[algorithm.group_size=3]"))
    rule = "trainer.conversations must be a multiple of algorithm.group_size (3), got 8"
    refused(tmp_path, ["mine", "trainer.steps=4"], f"sweeps/studies/mine.yaml: arms.hard: {rule}")
    written(tmp_path, SMALL.replace("[difficulty=hard]", "[algorithm.group_size=4]"))
    rule = "trainer.conversations must be a multiple of algorithm.group_size (16), got 24"
    text = SMALL.replace("[difficulty=hard]", "[algorithm.group_size=16]")
    written(tmp_path, text.replace("trainer.conversations=8", "trainer.conversations=16"))
    refused(tmp_path, ["mine", word], f"harness: command line: in arms.hard: {rule}")


@pytest.mark.parametrize("words", [[], ["--dry-run"], ["--json"]])
def test_a_study_without_a_name_says_which_there_are(words: list[str], tmp_path: Path) -> None:
    written(tmp_path)
    written(tmp_path, "", "broken")
    done = here("study", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    names = sorted([*search_path.study_names(), "mine", "broken"])
    if "--json" in words:
        assert [one["name"] for one in json.loads(done.stdout)["studies"]] == names
    else:
        *lines, last = done.stdout.splitlines()
        assert [line.split()[0] for line in lines] == names
        assert f"{'mine':{max(map(len, names))}}  Do hard users teach less?" in lines
        assert "broken.yaml: must be a mapping of names to values, got an empty file" in done.stdout
        assert last == "`harness study NAME --dry-run` shows the runs of a study and their cost"
    shown = "`harness study NAME --dry-run` shows its runs"
    refused(tmp_path, ["seed=1", *words], f"; got 'seed=1': write the study's name first; {shown}")
    first = "harness: study: the first word must be the name of a study, one of "
    refused(tmp_path, ["--dir", "x", *words], first)


CHECK = "quantity: gain, arm: hard, direction: less, margin: 1"
FILES = {
    "unknown key": (("question:", "questoin:"), "a key must be one of question"),
    "no question": (("Do hard users teach less?", "''"), "question must be text, got ''"),
    "a number of seeds": (
        ("seeds: 1,2", "seeds: [1, 2]"),
        "seeds must be text like the value of `seed=`, such as range(1,4) or '1', got [1, 2]",
    ),
    "an empty file": ((SMALL, ""), "must be a mapping of names to values, got an empty file"),
    "unknown quantity": (("quantity: gain", "quantity: gian"), "nearest: gain"),
    "unknown arm": (("against: medium", "against: easy"), "against must be one of medium, hard"),
    "the same arm": (("against: medium", "against: hard"), "must be another arm than hard"),
    "no margin": ((", margin: 0.05", ""), "margin is required"),
    "margin 0": (("margin: 0.05", "margin: 0"), "margin must be a finite number above 0, got 0"),
    "margin text": (("margin: 0.05", "margin: x"), "margin must be a number, got 'x'"),
    "a direction of another word": (
        ("direction: less", "direction: fewer"),
        "hard gains less.direction must be one of less, more, earlier, got 'fewer'\n",
    ),
    "a mistyped direction": (("direction: less", "direction: les"), "got 'les'; nearest: less\n"),
    "earlier gain": (
        ("direction: less", "direction: earlier"),
        "less or more, except for an onset",
    ),
    "a check on itself": (
        ("links:", f"checks:\n  c: {{{CHECK}, given: c}}\nlinks:"),
        "c.given must be an earlier check, got 'c'",
    ),
    "a check named like a link": (
        ("links:", f"checks:\n  hard gains less: {{{CHECK}}}\nlinks:"),
        "checks: a check must have another name than each link, got 'hard gains less'",
    ),
    "no such check": (
        ("margin: 0.05}", f"margin: 0.05, given: nothing}}\nchecks: {{c: {{{CHECK}}}}}"),
        "hard gains less.given must be one of c, got 'nothing'",
    ),
    "no checks at all": (
        ("margin: 0.05", "margin: 0.05, given: l"),
        "hard gains less.given must name a check, but the file has no checks, got 'l'",
    ),
    "a contrast's": (("quantity: gain", "quantity: fall"), "quantity must be one of gain, final"),
    "net onset": (
        ("gain, arm", "probe_onset, net_of_null: true, arm"),
        "must be false, except for",
    ),
    "no word": (("difficulty=hard", "hard"), "arms.hard: 'hard' cannot be read"),
    "an arm of several": (
        ("difficulty=hard", "'difficulty=hard,easy'"),
        "an arm must have one value",
    ),
    "a wrong arm": (("difficulty=hard", "difficulty=hrd"), "arms.hard: difficulty must be one of"),
    "no arms": (("arms:", "arms: 3 #"), "cannot be read as YAML"),
    "nothing decides": (("links:", "deciding: []\nlinks:"), "deciding must name at least one"),
    "no such link": (("links:", "deciding: [no]\nlinks:"), "deciding must be one of hard gains"),
    "best of none": (("links:", "best: {top: [easy]}\nlinks:"), "best.top must be one of medium"),
    "best is an arm": (
        ("links:", "best: {hard: [hard]}\nlinks:"),
        "must be valid for an arm and not used",
    ),
    "no truth": (("links:", "null_controls: 3\nlinks:"), "must be true, false or a list of arms"),
    "a null control of no arm": (
        ("links:", "null_controls: [hrd]\nlinks:"),
        "null_controls must be one of medium, hard, got 'hrd'; nearest: hard",
    ),
    "a null control twice": (
        ("  hard: [", "  medium_null: []\nnull_controls: true\n#"),
        "makes an arm of that name",
    ),
    "net of no null": (
        ("margin: 0.05", "margin: 0.05, net_of_null: true"),
        "hard gains less: net_of_null needs null controls of hard and medium, got no such arm; "
        "null_controls: true adds them",
    ),
    "an arm twice": (
        ("  hard: [", "  medium: []\n  hard: ["),
        ":8: must have each key once, got m",
    ),
    "a link twice": (
        ("links:", f"links:\n  hard gains less: {{{CHECK}}}"),
        ":11: must have each key once, got hard gains less twice",
    ),
    "a link's number": (("  hard gains less:", "  1:"), "links: a name must be text, got 1"),
    "a folder's name": (("  hard: [", "  Hard!: ["), "since it names folders, got 'Hard!'"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_that_cannot_be_right_ends_2_and_is_named(case: str, tmp_path: Path) -> None:
    (old, new), said = FILES[case]
    assert old in SMALL
    written(tmp_path, SMALL.replace(old, new, 1))
    refused(tmp_path, ["mine"], said)


def test_a_dry_run_shows_hostile_text_as_escapes(tmp_path: Path) -> None:
    text = SMALL.replace("Do hard users", '"\\e[31mDo').replace("less?", 'less?"')
    written(tmp_path, text.replace("hard gains less", '"\\u202egains"'))
    done = here("study", "mine", "--dry-run", cwd=tmp_path)
    assert done.stdout.startswith("\\x1b[31mDo teach less?\n"), done.stderr
    assert "link, \\u202egains: gain of reward" in done.stdout


OLD = {
    "entropy_fall": ("less", "fall of H on the probe is less in hard than in medium"),
    "onset": ("earlier", "onset of collapse on the probe is earlier in hard than in medium"),
}


@pytest.mark.parametrize("name", OLD)
def test_the_names_that_quantities_had_are_still_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    direction, statement = OLD[name]
    stated = f"quantity: {name}, arm: hard, against: medium, direction: {direction}"
    text = SMALL.replace("quantity: gain, arm: hard, against: medium, direction: less", stated)
    written(tmp_path, text)
    monkeypatch.chdir(tmp_path)
    (link,) = file.read("mine").links
    assert link.quantity == name
    assert link_words.statement(link) == statement


def test_a_study_that_is_not_there_names_those_that_are(tmp_path: Path) -> None:
    refused(tmp_path, ["does_colapse_explain"], "nearest: does_collapse_explain")
    refused(tmp_path, ["../mine"], "study must be one of")


@pytest.mark.slow
def test_a_folder_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.tex").write_text("dear")
    refused(tmp_path, ["mine", "--dir", "taken"], "must be empty or hold this study")


def refused(cwd: Path, words: list[str], said: str) -> None:
    done = here("study", *words, cwd=cwd)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (cwd / "runs").exists()
