"""Which runs count and which belong together: repeats, groups, and what is not pooled."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.law.analysis import analyse
from harness.law.compare.seed_means import mean_over_seeds
from harness.law.result_parts import SkippedPath
from harness.testing import run_folders, synthetic
from harness.testing.synthetic import LOW, lawful_rows
from tests.present import present


def test_the_newest_finished_of_repeats_counts(tmp_path: Path) -> None:
    for age, (name, status) in enumerate([("a", "done"), ("b", "done"), ("c", "running")]):
        run = run_folders.write_run(tmp_path / name, lawful_rows(), seed=1, status=status)
        os.utime(run / "run.json", (1e9 + age, 1e9 + age))
    run_folders.write_run(tmp_path / "d", lawful_rows(2), seed=2)
    found = analyse([tmp_path])
    assert sorted(Path(run.run).name for run in found.runs) == ["b", "d"]
    assert list(found.skipped) == [
        SkippedPath(str(tmp_path / "a"), f"repeat of {tmp_path / 'b'}"),
        SkippedPath(str(tmp_path / "c"), f"repeat of {tmp_path / 'b'}"),
    ]


def test_a_repeat_that_cannot_be_read_puts_no_other_aside(tmp_path: Path) -> None:
    for age, name in enumerate(["whole", "emptied"]):
        run = run_folders.write_run(tmp_path / name, lawful_rows(), seed=1)
        os.utime(run / "run.json", (1e9 + age, 1e9 + age))
    (tmp_path / "emptied" / "metrics.jsonl").write_text("")
    found = analyse([tmp_path])
    assert [(Path(run.run).name, run.status) for run in found.runs] == [("whole", "ok")]
    (entry,) = found.skipped
    assert entry.path == str(tmp_path / "emptied")


def test_copies_without_a_run_json_are_repeats_and_no_seeds(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (run_folders.write_run(tmp_path / name, lawful_rows(), seed=1) / "run.json").unlink()
    found = analyse([tmp_path])
    assert (len(found.runs), len(found.skipped)) == (1, 2)
    assert [(group.ceiling.n, group.ceiling.low) for group in found.groups] == [(1, None)]


def test_groups_are_runs_alike_in_all_but_the_seed(tmp_path: Path) -> None:
    for level in ("easy", "hard"):
        for seed in (1, 2, 3):
            name = f"{level}{seed}"
            run_folders.write_run(tmp_path / name, lawful_rows(seed), seed=seed, level=level)
    groups = analyse([tmp_path]).groups
    assert [dict(g.key) for g in groups] == [{"difficulty": "easy"}, {"difficulty": "hard"}]
    easy = groups[0]
    assert len(easy.runs) == 3
    assert (easy.a.n, easy.a.censored) == (3, 0)
    assert easy.a.low is not None
    assert easy.a.high is not None
    assert easy.a.mean is not None
    assert easy.a.low < easy.a.mean < easy.a.high
    assert list(easy.contrasts) == []


def test_runs_with_unlike_simulators_are_not_pooled(tmp_path: Path) -> None:
    for simulator in ("scripted", "second"):
        for seed in (1, 2):
            name = f"{simulator}{seed}"
            run_folders.write_run(tmp_path / name, lawful_rows(seed), seed, simulator=simulator)
    groups = analyse([tmp_path]).groups
    assert [dict(g.key) for g in groups] == [{"simulator": "scripted"}, {"simulator": "second"}]
    assert [len(g.runs) for g in groups] == [2, 2]


def test_the_pooled_interval_is_students_over_seeds(tmp_path: Path) -> None:
    found = mean_over_seeds([1.0, 2.0, 3.0], censored=1)
    assert (found.mean, found.n, found.censored) == (2.0, 3, 1)
    assert found.high == pytest.approx(2 + 4.302653 / 3**0.5, rel=1e-6)
    assert mean_over_seeds([1.0], 0).low is None
    assert mean_over_seeds([], 2).mean is None


def test_a_seed_whose_reward_stands_still_counts_like_the_others(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        rows = synthetic.rows(synthetic.lawful(seed, 40, LOW))
        kept = [{**row, "reward": 0.5 if seed == 1 else row["reward"]} for row in rows]
        run_folders.write_run(tmp_path / str(seed), kept, seed=seed)
    found = analyse([tmp_path])
    gains = [run.gain.value for run in found.runs if run.gain]
    assert gains[0] == 0
    students = mean_over_seeds(gains, censored=0)
    assert found.groups[0].gain == students
    assert present(found.groups[0].compared).gain == students


def test_runs_without_an_onset_are_censored_and_counted(tmp_path: Path) -> None:
    run_folders.write_run(tmp_path / "1", synthetic.rows(synthetic.kink(1, 300, LOW)), seed=1)
    partial = synthetic.lawful(2, 300, LOW, synthetic.exponential(0.5))
    run_folders.write_run(tmp_path / "2", synthetic.rows(partial), seed=2)
    (group,) = analyse([tmp_path]).groups
    assert (group.onset.n, group.onset.censored) == (1, 1)
    assert dict(group.key) == {}


def test_an_explosion_is_no_onset_of_collapse_in_any_mean(tmp_path: Path) -> None:
    run_folders.write_run(tmp_path / "1", synthetic.rows(synthetic.kink(1, 300, LOW)), seed=1)
    run_folders.write_run(tmp_path / "2", synthetic.rows(synthetic.explode(1, 300, LOW)), seed=2)
    found = analyse([tmp_path])
    collapse, explosion = (present(run.onset) for run in found.runs)
    assert explosion.kind == "explosion"
    (group,) = found.groups
    assert (group.onset.mean, group.onset.censored) == (collapse.step, 1)
    assert present(group.compared).onset.censored == 1


def test_one_level_and_its_null_control_are_two_groups(tmp_path: Path) -> None:
    run_folders.write_run(tmp_path / "real", lawful_rows(1))
    run_folders.write_run(tmp_path / "null", lawful_rows(2), null_control=True)
    analysis = analyse([tmp_path])
    assert [dict(g.key) for g in analysis.groups] == [
        {"algorithm.null_control": True},
        {"algorithm.null_control": False},
    ]
    assert {series.level for series in analysis.series.values()} == {"easy", "easy, null control"}


def test_runs_with_a_remedy_stand_under_its_name(tmp_path: Path) -> None:
    run_folders.write_run(tmp_path / "without", lawful_rows(1), level="hard")
    run_folders.write_run(tmp_path / "with", lawful_rows(2), level="hard", remedy="clip_cov")
    analysis = analyse([tmp_path])
    assert {series.level for series in analysis.series.values()} == {"hard", "hard, clip_cov"}
    assert {run.intervened for run in analysis.runs} == {False, True}


def test_unlike_measurement_cards_are_not_pooled_unless_told_to(tmp_path: Path) -> None:
    for seed, temperature in ((1, 1.0), (2, 1.0), (3, 0.7)):
        card = {"entropy": {"temperature": temperature, "over": "own tokens"}}
        run_folders.write_run(tmp_path / f"s{seed}", lawful_rows(seed), seed=seed, measurement=card)
    apart = analyse([tmp_path])
    assert [(dict(g.key), len(g.runs)) for g in apart.groups] == [
        ({"measurement.entropy.temperature": 1.0}, 2),
        ({"measurement.entropy.temperature": 0.7}, 1),
    ]
    assert list(apart.skipped) == [
        SkippedPath(
            str(tmp_path / "s3"),
            f"not pooled: measurement.entropy.temperature differs from that of {tmp_path / 's1'}",
        )
    ]
    (pooled,) = analyse([tmp_path], pool_unlike=True).groups
    assert len(pooled.runs) == 3


def test_runs_from_unlike_start_models_are_not_pooled_unless_told_to(tmp_path: Path) -> None:
    """As policy=tiny builds them on two processors."""
    for seed, start in ((1, "a" * 64), (2, "a" * 64), (3, "b" * 64)):
        run_folders.write_run(
            tmp_path / f"s{seed}", lawful_rows(seed), seed=seed, start_model=start
        )
    apart = analyse([tmp_path])
    assert [len(g.runs) for g in apart.groups] == [2, 1]
    assert [entry.reason for entry in apart.skipped] == [
        f"not pooled: measurement.start_model differs from that of {tmp_path / 's1'}"
    ]
    (pooled,) = analyse([tmp_path], pool_unlike=True).groups
    assert len(pooled.runs) == 3


LATER_KEYS = ("algorithm.kind", "algorithm.options", "levels.hard.reward_noise", "curriculum")


def test_runs_of_several_versions_are_one_group_where_what_one_lacks_is_the_default(
    tmp_path: Path,
) -> None:
    for seed in (1, 2, 3, 4):
        run = run_folders.write_run(tmp_path / f"s{seed}", lawful_rows(seed), seed=seed)
        if seed < 3:
            run_folders.of_an_older_version(run, *LATER_KEYS)
    found = analyse([tmp_path])
    assert [(dict(g.key), len(g.runs), g.a.n) for g in found.groups] == [({}, 4, 4)]
    assert not found.skipped
    assert "kind" not in (found.runs[0].config or {})["algorithm"], "its own file is left as it is"


def test_a_run_of_an_older_version_is_a_repeat_of_one_of_this(tmp_path: Path) -> None:
    for name in ("old", "new"):
        run_folders.write_run(tmp_path / name, lawful_rows(), seed=1)
    run_folders.of_an_older_version(tmp_path / "old", *LATER_KEYS)
    os.utime(tmp_path / "old" / "run.json", (1e9, 1e9))
    found = analyse([tmp_path])
    assert list(found.skipped) == [
        SkippedPath(str(tmp_path / "old"), f"repeat of {tmp_path / 'new'}")
    ]


def test_a_null_control_of_an_older_version_is_one_of_a_run_of_this(tmp_path: Path) -> None:
    null = run_folders.write_run(tmp_path / "null", lawful_rows(1), null_control=True)
    run_folders.of_an_older_version(null, *LATER_KEYS)
    run_folders.write_run(tmp_path / "run", lawful_rows(2))
    found = analyse([tmp_path])
    assert {Path(run.run).name: run.null_share is None for run in found.runs} == {
        "null": True,
        "run": False,
    }
    assert {tuple(group.key) for group in found.groups} == {("algorithm.null_control",)}


def test_a_run_of_an_older_version_that_has_another_value_is_a_group_of_its_own(
    tmp_path: Path,
) -> None:
    """Dr. GRPO, when it was GRPO with other keys."""
    old = run_folders.write_run(tmp_path / "old", lawful_rows(1), seed=1)
    run_folders.planned_with(
        old, "algorithm", name="dr_grpo", std_floor=None, denominator="constant"
    )
    run_folders.of_an_older_version(old, *LATER_KEYS)
    new = run_folders.write_run(tmp_path / "new", lawful_rows(2), seed=2)
    run_folders.planned_with(new, "algorithm", name="dr_grpo", kind="dr_grpo")
    plain = run_folders.write_run(tmp_path / "plain", lawful_rows(3), seed=3)
    groups = analyse([old, new, plain]).groups
    assert [dict(group.key) for group in groups] == [
        {"algorithm": "dr_grpo", "algorithm.denominator": "constant"},
        {"algorithm": "dr_grpo", "algorithm.denominator": "tokens"},
        {"algorithm": "grpo", "algorithm.denominator": "tokens"},
    ]


def test_a_config_of_another_program_is_compared_as_it_stands(tmp_path: Path) -> None:
    for seed in (1, 2):
        folder = run_folders.write_rows(tmp_path / f"s{seed}", lawful_rows(seed))
        kind = "" if seed == 1 else ", kind: grpo"
        (folder / "config.yaml").write_text(f"seed: {seed}\nalgorithm: {{name: grpo{kind}}}\n")
    groups = analyse([tmp_path]).groups
    assert [dict(g.key) for g in groups] == [{"algorithm.kind": None}, {"algorithm.kind": "grpo"}]


def test_bare_logs_have_no_config_and_belong_to_no_group(tmp_path: Path) -> None:
    run_folders.write_rows(tmp_path / "bare", lawful_rows())
    found = analyse([tmp_path])
    assert found.groups == ()
    assert found.runs[0].config is None
    assert found.series[found.runs[0].run].label == "bare"
