"""Judge the law on a training reward in each stage of a curriculum, and from that in the run.

Evaluations use the same users throughout, so the law on them is not changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.law import law_span
from harness.law.compare.random_effects import RUN_95
from harness.law.estimate import identifiability, interval, onset, stages
from harness.law.estimate.stages import Stage
from harness.law.io.clean import FEWEST_POINTS, Cleaned, Points
from harness.law.io.table import LogTable
from harness.law.law_span import JudgedLaw, Span
from harness.law.results import Onset, StageLaw
from harness.law.verdict import Verdict

ONE_LAW = ("holds", "holds_form_open")
"""Verdicts on all rows that are kept if R follows that one law across the stages."""
STANDING = ("entropy_rises", "reward_died", "intervened")
"""Reasons that are independent of the stages and are kept."""


@dataclass(frozen=True)
class LawByStages:
    """The law on the training reward of a run, and the laws of its stages, if any."""

    law: JudgedLaw
    laws: tuple[StageLaw, ...] = ()
    p_same_a: float | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of RunResult about stages."""
        if not self.laws:
            return {}
        p = self.p_same_a
        word = None if p is None else "common" if p >= stages.SAME_A_P else "separate"
        return {"stages": list(self.laws), "stages_a": word, "stages_a_p": p}


def judge(
    law: JudgedLaw, table: LogTable, cleaned: Cleaned, run_onset: Onset | None, intervened: bool
) -> LawByStages:
    """Judge the law of all rows again by its stages. Return it unchanged if there are none."""
    columns = {name: table.columns[name] for name in stages.COLUMNS if name in table.names}
    user_stages = stages.find_stages(
        cleaned.steps, {name: column[cleaned.rows] for name, column in columns.items()}
    )
    if user_stages.mixed:
        verdict = replace(law.verdict, reasons=(*law.verdict.reasons, "mixed"))
        return LawByStages(replace(law, verdict=verdict))
    points = [(stage, _points_inside(stage, law.whole.points)) for stage in user_stages.stages]
    judged_stages = [
        (stage, _judge_stage(stage, rows, run_onset, intervened))
        for stage, rows in points
        if len(rows)
    ]
    if len(judged_stages) < 2:
        return LawByStages(law)
    laws = tuple(_stage_law(stage, stage_law) for stage, stage_law in judged_stages)
    estimates = [stage.a for stage in laws if stage.a is not None]
    errors = np.array([interval.half_width(estimate) / RUN_95 for estimate in estimates])
    p = stages.p_of_one_number(np.array([estimate.value for estimate in estimates]), errors)
    verdict = _verdict_by_stages(
        law, [stage_law.verdict for _, stage_law in judged_stages], user_stages.stages
    )
    if verdict is law.verdict:
        return LawByStages(law, laws, p)
    # a line through the rows of several laws is no law, so its numbers must not enter a mean
    return LawByStages(JudgedLaw(verdict, law.whole, law.whole, Span(fails=True)), laws, p)


def _points_inside(stage: Stage, points: Points) -> Points:
    return points.where((points.steps >= stage.first) & (points.steps <= stage.last))


def _judge_stage(
    stage: Stage, points: Points, run_onset: Onset | None, intervened: bool
) -> JudgedLaw:
    """Judge a stage as if it were a run, with the run's onset if it lies inside the stage."""
    within = run_onset is not None and stage.first < run_onset.step <= stage.last
    course = onset.bin_entropy(points.steps, points.entropy)
    whole = identifiability.fit(points)
    return law_span.judge(whole, run_onset if within else None, course, intervened)


def _stage_law(stage: Stage, law: JudgedLaw) -> StageLaw:
    spread = law.fitted.spread
    return StageLaw(
        from_step=stage.first,
        to_step=stage.last,
        what=stage.users,
        a=spread.a if spread else None,
        ceiling=spread.ceiling if spread else None,
        verdict=law.verdict.word,
        reasons=list(law.verdict.reasons),
    )


def _verdict_by_stages(
    law: JudgedLaw, verdicts: list[Verdict], run_stages: tuple[Stage, ...]
) -> Verdict:
    """Return the verdict on the run: it fails only if every decided stage fails."""
    decided = [verdict for verdict in verdicts if verdict.word != "undetermined"]
    if decided and all(verdict.word == "fails" for verdict in decided):
        reasons = dict.fromkeys(reason for verdict in decided for reason in verdict.reasons)
        return Verdict("fails", (*reasons, "stages"), skill=law.verdict.skill)
    if law.verdict.word in ONE_LAW and _is_one_law(law, run_stages):
        return law.verdict
    kept = [reason for reason in law.verdict.reasons if reason in STANDING]
    return Verdict("undetermined", ("stages", *kept), skill=law.verdict.skill)


def _is_one_law(law: JudgedLaw, run_stages: tuple[Stage, ...]) -> bool:
    steps, line = law.whole.points.steps, law.whole.line
    if line is None:
        return False
    residuals = [
        line.residuals[(steps >= stage.first) & (steps <= stage.last)] for stage in run_stages
    ]
    return stages.is_one_law([part for part in residuals if len(part) >= FEWEST_POINTS])
