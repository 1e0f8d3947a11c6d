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
    held = {name: table.columns[name] for name in stages.COLUMNS if name in table.names}
    users = stages.find_stages(
        cleaned.steps, {n: column[cleaned.rows] for n, column in held.items()}
    )
    if users.mixed:
        told = replace(law.verdict, reasons=(*law.verdict.reasons, "mixed"))
        return LawByStages(replace(law, verdict=told))
    points = [(stage, _inside(stage, law.whole.points)) for stage in users.stages]
    judged = [
        (stage, _of_stage(stage, rows, run_onset, intervened))
        for stage, rows in points
        if len(rows)
    ]
    if len(judged) < 2:
        return LawByStages(law)
    laws = tuple(_plain(stage, found) for stage, found in judged)
    a = [one.a for one in laws if one.a is not None]
    errors = np.array([interval.half_width(one) / RUN_95 for one in a])
    p = stages.p_of_one_number(np.array([one.value for one in a]), errors)
    told = _verdict_by_stages(law, [found.verdict for _, found in judged], users.stages)
    if told is law.verdict:
        return LawByStages(law, laws, p)
    # a line through the rows of several laws is no law, so its numbers must not enter a mean
    return LawByStages(JudgedLaw(told, law.whole, law.whole, Span(fails=True)), laws, p)


def _inside(stage: Stage, points: Points) -> Points:
    return points.where((points.steps >= stage.first) & (points.steps <= stage.last))


def _of_stage(stage: Stage, points: Points, run_onset: Onset | None, intervened: bool) -> JudgedLaw:
    """Judge a stage as if it were a run, with the run's onset if it lies inside the stage."""
    within = run_onset is not None and stage.first < run_onset.step <= stage.last
    course = onset.bin_entropy(points.steps, points.entropy)
    whole = identifiability.fit(points)
    return law_span.judge(whole, run_onset if within else None, course, intervened)


def _plain(stage: Stage, law: JudgedLaw) -> StageLaw:
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


def _verdict_by_stages(law: JudgedLaw, judged: list[Verdict], found: tuple[Stage, ...]) -> Verdict:
    """Return the verdict on the run: it fails only if every decided stage fails."""
    decided = [one for one in judged if one.word != "undetermined"]
    if decided and all(one.word == "fails" for one in decided):
        why = dict.fromkeys(reason for one in decided for reason in one.reasons)
        return Verdict("fails", (*why, "stages"), skill=law.verdict.skill)
    if law.verdict.word in ONE_LAW and _is_one_law(law, found):
        return law.verdict
    standing = [reason for reason in law.verdict.reasons if reason in STANDING]
    return Verdict("undetermined", ("stages", *standing), skill=law.verdict.skill)


def _is_one_law(law: JudgedLaw, found: tuple[Stage, ...]) -> bool:
    steps, line = law.whole.points.steps, law.whole.line
    if line is None:
        return False
    left = [line.residuals[(steps >= s.first) & (steps <= s.last)] for s in found]
    return stages.is_one_law([part for part in left if len(part) >= FEWEST_POINTS])
