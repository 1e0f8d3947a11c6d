"""The public API: `import harness`, then data frames from run folders and their law."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Protocol, runtime_checkable

import matplotlib.figure
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import harness
from harness.api import Run
from harness.compose import planner
from harness.errors import ConfigError, DataError
from harness.testing.commands import here

NOTEBOOK = Path(__file__).parents[1] / "examples" / "read_a_sweep.ipynb"
SWEEP = ("policy=tabular", "difficulty=easy,hard", "seed=1,2", "algorithm.null_control=false")
SMALL = ("trainer.steps=20", "trainer.eval_every=10", "trainer.conversations=8",
         "trainer.conversations_every=10", "eval.users=4", "eval.prefixes=4")  # fmt: skip


@runtime_checkable
class ShownInNotebooks(Protocol):
    """An object that a notebook shows as an image."""

    def _repr_png_(self) -> bytes: ...


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of four runs, and a log of another program beside it."""
    folder = tmp_path_factory.mktemp("api")
    assert here("sweep", *SWEEP, *SMALL, "hydra/launcher=basic", cwd=folder).returncode == 0
    rows = [{"step": n, "entropy": 2 / n, "reward": 1 - 1 / n} for n in range(1, 31)]
    (folder / "other.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture(scope="module")
def runs(root: Path) -> harness.Runs:
    return harness.load(root / "runs")


@pytest.fixture(scope="module")
def law(runs: harness.Runs) -> harness.Law:
    return harness.fit(runs)


def rows_on_disk(root: Path) -> list[dict[str, object]]:
    logs = sorted((root / "runs").rglob("metrics.jsonl"))
    return [json.loads(line) for log in logs for line in log.read_text().splitlines()]


def test_the_metrics_are_the_rows_on_disk_with_run_and_axes(root: Path, runs: harness.Runs) -> None:
    frame = runs.metrics()
    assert list(frame.columns[:4]) == ["run", "difficulty", "seed", "step"]
    rows = rows_on_disk(root)
    assert len(frame) == len(rows) == 80
    for column in ("step", "entropy", "reward", "eval/reward"):
        expected = pd.Series([row[column] for row in rows], dtype=float)
        assert frame[column].astype(float).equals(expected), column
    assert frame["eval/reward"].isna().sum() == 4 * 17
    assert set(zip(frame["difficulty"], frame["seed"], strict=True)) == {
        ("easy", 1), ("easy", 2), ("hard", 1), ("hard", 2),
    }  # fmt: skip
    assert "crc32" not in frame


def test_a_swept_reward_is_a_column_beside_the_reward(root: Path) -> None:
    log = root / "other.jsonl"
    made = [Run(kind, None, log, None, None, "done", {"reward": kind, "seed": 1})
            for kind in ("terminal", "delta")]  # fmt: skip
    frame = harness.Runs(tuple(made), (root,)).metrics()
    assert frame["reward.name"].tolist() == ["terminal"] * 30 + ["delta"] * 30
    assert frame["reward"].tolist() == pytest.approx([1 - 1 / n for n in range(1, 31)] * 2)


def csv_log(path: Path, head: str, *rows: str) -> Path:
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


def test_a_swept_list_stands_in_each_row_of_its_run(tmp_path: Path) -> None:
    log = csv_log(tmp_path / "a.csv", "step,entropy,reward", "1,2,0.1", "2,1,0.2", "3,1,0.3")
    lists = [["venting", "praise"], ["advice", "growth", "motives"], None]
    made = [Run(str(i), None, log, None, None, "done", {"difficulty.intentions": value})
            for i, value in enumerate(lists)]  # fmt: skip
    frame = harness.Runs(tuple(made), (log,)).metrics()
    assert frame["difficulty.intentions"].tolist() == [value for value in lists for _ in range(3)]


def test_a_column_run_of_a_log_does_not_stand_for_the_run(tmp_path: Path) -> None:
    logs = [csv_log(tmp_path / f"{n}.csv", "run,step,entropy,reward", f"{n},1,2,0.1")
            for n in (7, 8)]  # fmt: skip
    frame = harness.load(logs).metrics()
    assert frame["run"].tolist() == list(map(str, logs))
    assert frame["log.run"].tolist() == [7, 8]


@pytest.mark.parametrize("steps", [[0.25, 0.5, 1.0], [1e300, 2e300], [1.0, 2.0]])
def test_steps_are_those_of_the_log(steps: list[float], tmp_path: Path) -> None:
    log = csv_log(tmp_path / "a.csv", "step,entropy,reward", *(f"{s},2,0.1" for s in steps))
    assert harness.load(log).metrics()["step"].tolist() == steps


def test_one_kind_of_file_may_be_named_by_one_word(tmp_path: Path) -> None:
    rows = (f"{n},{2 / n},{1 - 1 / n}" for n in range(1, 31))
    law = harness.fit(csv_log(tmp_path / "a.csv", "step,entropy,reward", *rows))
    written = {path.name for path in law.save(tmp_path / "law", formats="tex,md")}
    assert {"law.tex", "law.md"} < written
    assert not any(name.endswith((".png", ".svg")) for name in written)


def test_the_table_has_a_row_for_a_run_without_metrics(root: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    log = root / "other.jsonl"
    loaded = harness.load([log, tmp_path / "empty.jsonl"])
    assert len(loaded) == 2
    problems = loaded.table()["problem"].tolist()
    assert pd.isna(problems[0])
    assert problems[1].startswith(f"{tmp_path}/empty.jsonl: ")
    assert problems[1].endswith(", but is empty")
    assert loaded.metrics()["run"].unique().tolist() == [str(log)]
    assert loaded.metrics()["step"].tolist() == list(range(1, 31))


def test_conversations_are_those_of_the_step(runs: harness.Runs) -> None:
    turns = runs.conversations(step=20)
    assert set(turns["step"]) == {20}
    assert turns.groupby(["run", "group", "sample"]).ngroups == 4 * 8
    assert {"user", "policy"} == set(turns["speaker"])
    assert set(runs.conversations()["step"]) == {1, 10, 20}
    assert runs.conversations(step=19).empty


def test_a_damaged_file_of_conversations_is_named(root: Path, tmp_path: Path) -> None:
    shutil.copytree(next((root / "runs").glob("*/0-*")), tmp_path / "run")
    (tmp_path / "run" / "conversations" / "step-mine.parquet").write_text("not of a run")
    assert set(harness.load(tmp_path / "run").conversations()["step"]) == {1, 10, 20}
    path = tmp_path / "run" / "conversations" / "step-00020.parquet"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DataError, match=r"step-00020\.parquet: must be a parquet file of conv"):
        harness.load(tmp_path / "run").conversations()


def test_a_part_without_name_or_effect_is_left_out(root: Path, tmp_path: Path) -> None:
    shutil.copytree(next((root / "runs").glob("*/0-*")), tmp_path / "run")
    path = tmp_path / "run" / "conversations" / "step-00020.parquet"
    table = pq.read_table(path)
    turns = table.to_pylist()
    one, other = [turn["why"] for turn in turns if turn["why"]][:2]
    one[0]["part"] = other[0]["effect"] = None
    pq.write_table(pa.Table.from_pylist(turns, schema=table.schema), path)
    why = harness.load(tmp_path / "run").conversations(step=20).filter(like="why_")
    effects = [turn["why"] for turn in turns if turn["why"]]
    assert (why.drop(columns="why_unit").abs() > 0).sum().sum() == sum(map(len, effects)) - 2


def test_the_law_is_that_of_the_command(root: Path, law: harness.Law) -> None:
    assert here("fit-entropy-law", "runs", "--figures", "none", cwd=root).returncode == 0
    written = json.loads((root / "runs" / "law" / "law.json").read_text())
    assert [run["verdict"] for run in written["runs"]] == law.runs["verdict"].tolist()
    assert [run["a"]["low"] for run in written["runs"]] == law.runs["a_low"].tolist()
    assert len(law.groups) == len(written["groups"]) == 2
    assert law.groups["difficulty"].tolist() == ["easy", "hard"]
    contrasts = [c for group in written["groups"] for c in group["contrasts"]]
    assert law.contrasts["decision"].tolist() == [c["decision"] for c in contrasts]
    assert set(law.contrasts["with"]) == {"difficulty=easy"}
    assert repr(law).startswith("Law(4 runs; ")


def test_what_seeds_say_of_a_level_is_one_row_a_number(law: harness.Law) -> None:
    assert set(law.levels["group"]) == {"difficulty=easy", "difficulty=hard"}
    ends = law.levels[law.levels["kind"] == "before_end"]
    written = [group["population"]["onset"]["before_end"] for group in law.to_json()["groups"]]
    assert ends["high"].tolist() == [end["high"] for end in written]
    assert "population" not in law.groups


def test_every_figure_can_be_drawn_and_another_name_lists_them(law: harness.Law) -> None:
    for name in ("entropy_law", "entropy_curves", "residuals", "levels", "forest"):
        figure = law.plot(name)
        assert isinstance(figure, matplotlib.figure.Figure)
        assert isinstance(figure, ShownInNotebooks)
        assert figure._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(ConfigError, match=r"plot: must be one of entropy_law, .*got 'pie'"):
        law.plot("pie")
    why = (
        r"got 'onset_by_difficulty', for which these runs have nothing to show \(docs/figures.md\)"
    )
    with pytest.raises(ConfigError, match=why):
        law.plot("onset_by_difficulty")


def test_results_are_saved_where_they_were_asked_for(law: harness.Law, tmp_path: Path) -> None:
    written = {path.name for path in law.save(tmp_path / "law")}
    assert {"law.json", "law.csv", "contrasts.csv", "entropy_law.png"} <= written


def test_a_sweep_leaves_no_launcher_of_its_own_behind(root: Path) -> None:
    with pytest.raises(ConfigError, match="must be one of") as caught:
        planner.plan(["hydra/launcher=nope"])
    assert "harness_" not in str(caught.value)


def test_a_path_without_runs_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=rf"{tmp_path}/nowhere: "):
        harness.load(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"a run holds run\.json or metrics\.jsonl"):
        harness.load(tmp_path)


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import harness; print(set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "{'harness'}"


def test_what_is_public_is_documented_and_there() -> None:
    for name in harness.__all__:
        assert getattr(harness, name) is not None
        assert name == "__version__" or getattr(harness, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        _ = harness.lode
    assert (Path(harness.__file__).parent / "py.typed").is_file()


def test_the_notebook_runs(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cell after cell, on a smaller sweep than the one whose outputs it shows."""
    monkeypatch.chdir(root)
    names: dict[str, object] = {}
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert sum(len(cell.splitlines()) for cell in code) <= 14
    for cell in code:
        exec(cell.replace("step=150", "step=20"), names)
    assert isinstance(names["law"], harness.Law)
    assert all(cell["outputs"] for cell in cells if cell["cell_type"] == "code")


@pytest.mark.parametrize(
    "given", [(1, 0), (0,), "0,1", ("0", "1"), (0, float("inf")), (0.0, float("nan"))]
)
def test_a_range_of_rewards_is_two_numbers(runs: harness.Runs, given: object) -> None:
    rule = "^reward_range: must be the lowest and the highest value that R can take"
    with pytest.raises(ConfigError, match=rule):
        harness.fit(runs, reward_range=given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"gian": 0.1}, "margins: a key must be one of a, ceiling, onset, gain, fall, got 'gian'"),
        ({"gain": -1}, "margins: gain must be a finite number above 0, got -1"),
        ({"gain": "small"}, "margins: gain must be a finite number above 0, got 'small'"),
    ],
)
def test_a_margin_is_of_a_quantity_and_above_0(
    runs: harness.Runs, given: dict[str, float], rule: str
) -> None:
    with pytest.raises(ConfigError, match=f"^{rule}$"):
        harness.fit(runs, margins=given)


def test_a_primary_quantity_that_is_none_is_named_as_python_does(runs: harness.Runs) -> None:
    with pytest.raises(
        ConfigError, match=r"^primary: must be a quantity of contrasts, .*got 'foo'"
    ):
        harness.fit(runs, primary="foo")
