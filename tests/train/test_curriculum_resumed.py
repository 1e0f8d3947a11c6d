"""A run with a curriculum that is killed goes on as if nothing had happened."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from harness.config.curriculum import CurriculumConfig
from harness.config.run import RunConfig
from tests.train.made import STEPS, brief, go_on, killed_after, make_run


def config(kind: str) -> RunConfig:
    curriculum = CurriculumConfig(name=kind, kind=kind)
    if kind == "adaptive":
        curriculum = replace(curriculum, rate=15.0, target=0.35)
    return replace(brief(), curriculum=curriculum)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["adaptive", "staged", "reverse"])
def test_a_killed_run_meets_the_levels_it_would_have_met(kind: str, tmp_path: Path) -> None:
    whole, run = (make_run(tmp_path / name, config(kind)) for name in ("whole", "killed"))
    assert go_on(whole)[0] == 0
    killed_after(run, random.Random(kind).randrange(7, STEPS - 6))
    code, events, err = go_on(run)
    assert code == 0, err
    assert events[0]["event"] == "resume"
    assert events[0]["step"] >= 5
    assert run.metrics.read_bytes() == whole.metrics.read_bytes()
    rows = [json.loads(line) for line in whole.metrics.read_text().splitlines()]
    if kind == "adaptive":
        assert len({row["curriculum/difficulty"] for row in rows}) > STEPS / 2
