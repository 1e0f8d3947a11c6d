"""What a reader sees of the yardsticks: table, CSV, sentences; nothing of logs of before."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.law import analysis
from harness.report.tables import listening, summary
from harness.report.text import explain
from harness.report.write import write_results
from harness.testing import run_folders, synthetic

GOLDEN = """\
trained on  reward       share        listening    deaf reward  references    policy
──────────────────────────────────────────────────────────────────────────────────────────
easy        0.75         0.50         1.20         0.55         schedule      listens in 2
            [0.62,       [-0.77,      [1.20,       [0.55,       0.70
            0.88]        1.77]        1.20]        0.55]        attentive
                                      (1.62)                    0.79
                                                                optimum 0.80
medium      0.50         -0.50        0.02         0.50         schedule      template in
            [0.50,       [-0.50,      [0.02,       [0.50,       0.60          2
            0.50]        -0.50]       0.02]        0.50]        attentive
                                      (1.45)                    0.77
                                                                optimum 0.80
"""


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sweep")
    course = synthetic.exponential(0.8)
    ends = {"easy": (0.75, 1.20, 0.55), "medium": (0.50, 0.02, 0.50)}
    for level, (reward, heard, deaf) in ends.items():
        for seed, more in ((1, -0.01), (2, 0.01)):
            rows: list[dict[str, Any]] = synthetic.rows(
                synthetic.lawful(seed, 40, synthetic.NONE, course)
            )
            more = more if level == "easy" else 0.0
            rows = synthetic.evaluated(
                rows, reward=reward + more, listening=heard, deaf_reward=deaf
            )
            rows = synthetic.evaluated(rows, "hard", reward=0.2, listening_share=-0.2)
            run_folders.write_run(root / f"{level}-{seed}", rows, seed=seed, level=level)
    levels = {
        "easy": run_folders.anchors(0.70, 0.79, 1.62, 0.80),
        "medium": run_folders.anchors(0.60, 0.77, 1.45, 0.80),
    }
    run_folders.write_cards(root, levels)
    return root


def shown(root: Path, width: int = 110) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=False)
    summary.print_analysis(analysis.analyse([root]), console, explained=False)
    return stream.getvalue()


def test_the_table_is_the_golden_one(sweep: Path) -> None:
    stream = io.StringIO()
    heard = listening.rows(analysis.analyse([sweep]), ("own",))
    Console(file=stream, width=90, force_terminal=False).print(listening.table(heard))
    assert "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n" == GOLDEN


def test_the_analysis_says_that_a_policy_is_a_template(sweep: Path) -> None:
    said = shown(sweep)
    law = "law holds (form open) in both runs (same batch in both runs)"
    assert f"{law}, policy a template in both runs" in said
    assert "schedule: the best fixed sequence of strategies" in said
    (run,) = [r for r in analysis.analyse([sweep]).runs if r.run.endswith("medium-1")]
    (sentence,) = [s for s in explain.explain_run(run) if s.startswith("Policy")]
    assert sentence == (
        "Policy: template (diverse and deaf: H ends above half of its start, but listening is "
        "below a tenth of the attentive reference's). Listening 0.02 nats (attentive reference: "
        "1.45); reward 0.50, deaf reward 0.50, best deaf schedule "
        "0.60, listening share -0.50."
    )


def test_the_files_have_every_level(sweep: Path, tmp_path: Path) -> None:
    write_results(analysis.analyse([sweep]), tmp_path / "law", "none")
    lines = list(csv.DictReader((tmp_path / "law" / "listening.csv").read_text().splitlines()))
    assert [(line["trained_on"], line["level"]) for line in lines] == [
        ("easy", "own"),
        ("easy", "hard"),
        ("medium", "own"),
        ("medium", "hard"),
    ]
    medium, hard = lines[2:]
    assert (medium["template"], medium["listens"], hard["template"]) == ("2", "0", "")
    assert float(medium["deaf_schedule"]) == 0.6
    assert float(medium["deaf_schedule_low"]) == 0.59
    assert (hard["deaf_schedule"], hard["listening"]) == ("", ""), "no card of hard in the sweep"
    (first, *_) = csv.DictReader((tmp_path / "law" / "law.csv").read_text().splitlines())
    assert first["policy_verdict"] == "listens"
    assert float(first["listening_share"]) == pytest.approx(0.4)
    runs = json.loads((tmp_path / "law" / "law.json").read_text())["runs"]
    assert runs[0]["yardsticks"]["own"]["anchors"]["deaf"]["value"] == 0.7


def test_logs_of_before_have_no_table(tmp_path: Path) -> None:
    rows = synthetic.evaluated(synthetic.lawful_rows(n=40), reward=0.5)
    run_folders.write_run(tmp_path / "run", rows)
    assert "listening" not in shown(tmp_path)
    write_results(analysis.analyse([tmp_path]), tmp_path / "law", "none")
    assert not (tmp_path / "law" / "listening.csv").exists()


def test_without_anchors_the_table_says_so(tmp_path: Path) -> None:
    run_folders.write_run(
        tmp_path / "run", synthetic.evaluated(synthetic.lawful_rows(n=40), reward=0.5, listening=1)
    )
    assert "no anchors in cards.json" in shown(tmp_path)
