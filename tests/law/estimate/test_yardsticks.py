"""The end of a run beside reference policies, by hand; logs of before have nothing to say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.law import analysis, law_json
from harness.law.estimate import yardsticks
from harness.law.result_parts import AnchorRewards, Yardsticks
from harness.law.results import BoundedEstimate, RunResult
from harness.testing import run_folders, synthetic
from harness.testing.promises import HOLDS

MEDIUM = run_folders.anchors(deaf=0.60, attentive=0.77, listening=1.45, optimum=0.80)
STEPS = 60


def lines(end: float = 0.9) -> list[dict[str, Any]]:
    """H sinks from 1 to the share `end` of it."""
    course = synthetic.exponential(end)
    return synthetic.rows(synthetic.lawful(1, STEPS, synthetic.NONE, course))


def analysed(folder: Path, rows: list[dict[str, Any]], cards: Any = MEDIUM) -> RunResult:
    run_folders.write_run(folder / "run", rows, level="medium")
    if cards != "no file":
        run_folders.write_cards(folder, {"medium": cards})
    (result,) = analysis.analyse([folder]).runs
    return result


def own(result: RunResult) -> Yardsticks:
    assert result.yardsticks is not None
    return result.yardsticks["own"]


def test_the_end_is_the_last_tenth_of_the_evaluations(tmp_path: Path) -> None:
    rows = synthetic.evaluated(lines(), every=3, reward=0.5, listening=0.1)
    late = synthetic.evaluated(rows[-6:], every=3, reward=0.7, listening=0.9)
    end = own(analysed(tmp_path, [*rows[:-6], *late]))
    assert end.reward == pytest.approx(0.7), "of 20 evaluations the last two count"
    assert end.listening == pytest.approx(0.9)
    assert end.share == pytest.approx((0.7 - 0.6) / (0.8 - 0.6))
    assert end.deaf_reward is None
    assert end.anchors.attentive_listening == 1.45


def test_a_run_that_is_the_current_folder_has_the_card_of_its_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = synthetic.evaluated(lines(), reward=0.5)
    run_folders.write_run(tmp_path / "run", rows, level="medium")
    run_folders.write_cards(tmp_path, {"medium": MEDIUM})
    monkeypatch.chdir(tmp_path / "run")
    (result,) = analysis.analyse([Path()]).runs
    assert own(result).anchors.deaf is not None


def test_the_logged_share_counts_before_that_of_the_anchors(tmp_path: Path) -> None:
    rows = synthetic.evaluated(lines(), reward=0.7, listening_share=0.45)
    assert own(analysed(tmp_path, rows)).share == pytest.approx(0.45)


def test_a_level_without_a_card_in_the_sweep_has_the_anchors_of_the_start_event(
    tmp_path: Path,
) -> None:
    rows = synthetic.evaluated(lines(), "hard", reward=0.25)
    rows = synthetic.evaluated(synthetic.evaluated(rows, reward=0.7), "easy", reward=0.8)
    run_folders.write_run(tmp_path / "run", rows, level="medium")
    shipped = run_folders.anchors(deaf=0.27, attentive=0.4, listening=1.2, optimum=0.47)
    began = {"own": shipped, "medium": shipped, "hard": shipped, "easy": None}
    run_folders.begin_with(tmp_path / "run", began)
    run_folders.write_cards(tmp_path, {"medium": MEDIUM})
    (result,) = analysis.analyse([tmp_path]).runs
    assert result.yardsticks is not None
    hard, easy = (result.yardsticks[level].anchors for level in ("hard", "easy"))
    assert hard.deaf == BoundedEstimate(0.27, 0.27 - 0.01, 0.27 + 0.01)
    assert (hard.optimum, hard.attentive_listening) == (BoundedEstimate(0.47, None, None), 1.2)
    assert easy == AnchorRewards()
    assert own(result).anchors.deaf == BoundedEstimate(0.6, 0.6 - 0.01, 0.6 + 0.01)


TOO_LARGE = {"own": {"deaf": {"reward": 10**400}}}


@pytest.mark.parametrize("anchors", [None, 3, {"own": 3}, {"own": []}, TOO_LARGE])
def test_a_start_event_without_anchors_tells_nothing(tmp_path: Path, anchors: Any) -> None:
    run_folders.write_run(tmp_path / "run", synthetic.evaluated(lines(), reward=0.5))
    run_folders.begin_with(tmp_path / "run", anchors)
    (result,) = analysis.analyse([tmp_path]).runs
    assert own(result).anchors == AnchorRewards()


def test_the_users_that_all_runs_share_have_an_error_of_their_own(tmp_path: Path) -> None:
    end = own(analysed(tmp_path, synthetic.evaluated(lines(), reward=0.5, between_sd=0.16)))
    assert end.user_se == pytest.approx(0.16 / 8), "64 users"


@pytest.mark.parametrize(
    ("end", "listening", "word"),
    [(0.9, 0.02, "template"), (0.3, 0.02, "deaf"), (0.9, 0.2, "listens"), (0.3, 0.2, "listens")],
)
def test_the_verdict_on_the_policy(tmp_path: Path, end: float, listening: float, word: str) -> None:
    rows = synthetic.evaluated(lines(end), reward=0.5, listening=listening)
    result = analysed(tmp_path, rows)
    assert result.policy_verdict == word
    assert law_json.from_run(result)["policy_verdict"] == word
    assert result.verdict in (*HOLDS, "undetermined"), "which is about the law, whatever is heard"


@pytest.mark.parametrize("cards", ["no file", None, {}, {"attentive": None}, {"deaf": 3}])
def test_without_anchors_there_is_no_verdict(tmp_path: Path, cards: Any) -> None:
    result = analysed(tmp_path, synthetic.evaluated(lines(), reward=0.5, listening=0.01), cards)
    assert result.policy_verdict is None
    assert own(result).anchors == AnchorRewards()
    assert own(result).listening == pytest.approx(0.01)


def test_a_log_of_before_has_neither(tmp_path: Path) -> None:
    result = analysed(tmp_path, lines())
    assert result.yardsticks is None
    assert result.policy_verdict is None


def test_an_attentive_reference_that_hears_nothing_is_no_measure() -> None:
    nothing = AnchorRewards(attentive_listening=0.0)
    end = Yardsticks(0.5, 0.0, None, None, None, nothing)
    assert yardsticks.policy_verdict(synthetic.lawful(1, 20, synthetic.NONE).entropy, end) is None


def test_a_level_of_other_users_lends_no_anchors_to_its_name(tmp_path: Path) -> None:
    rows = synthetic.evaluated(synthetic.evaluated(lines(), reward=0.5), "medium", reward=0.5)
    run_folders.write_run(tmp_path / "run", rows, level="medium")
    run_folders.planned_with(tmp_path / "run", "difficulty", start_emotion=44)
    run_folders.write_cards(tmp_path, {"medium": MEDIUM})
    (result,) = analysis.analyse([tmp_path]).runs
    assert own(result).anchors.deaf is not None
    assert result.yardsticks is not None
    assert result.yardsticks["medium"].anchors == AnchorRewards()


def test_a_level_of_a_second_kind_of_users_lends_no_anchors_to_the_first(tmp_path: Path) -> None:
    """As in a sweep of simulator=scripted,second, whose levels have the same settings."""
    rows = synthetic.evaluated(synthetic.evaluated(lines(), reward=0.5), "medium", reward=0.5)
    run_folders.write_run(tmp_path / "run", rows, level="medium")
    run_folders.write_cards(tmp_path, {"medium": MEDIUM})
    values = json.loads((tmp_path / "cards.json").read_text())
    (own_card,) = values["cards"]
    other = {**MEDIUM, "deaf": {"reward": 0.1}}
    second = {**own_card["card"], "reader": "second", "anchors": other}
    values["cards"] = [own_card, {**own_card, "runs": ["other"], "card": second}]
    (tmp_path / "cards.json").write_text(json.dumps(values))
    (result,) = analysis.analyse([tmp_path]).runs
    assert result.yardsticks is not None
    assert result.yardsticks["medium"].anchors == own(result).anchors
