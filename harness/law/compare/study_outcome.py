"""Judge a study: its links, its verdict, and reservations against it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.config.run import SCHEMA
from harness.law.compare import (
    deaf_schedule,
    link_observations,
    links,
    quantities,
    study_verdict,
)
from harness.law.compare.deaf_schedule import DeafComparison
from harness.law.compare.links import LinkResult
from harness.law.compare.looks import Pairs
from harness.law.compare.other_study import StudyComparison, interval_json
from harness.law.compare.study_arms import ArmCounts, ArmRuns
from harness.records.study_file import InterimLook, StudyStatement
from harness.records.validity import Validity, merge, to_json


@dataclass(frozen=True)
class StudyOutcome:
    """A study with its verdict."""

    study: str
    stated: StudyStatement
    dir: str
    links: tuple[LinkResult, ...]
    checks: tuple[LinkResult, ...]
    counts: Mapping[str, ArmCounts]
    chosen: Mapping[str, str | None]
    changed: Sequence[str]
    validity: Validity
    """Validity of the users of the counted runs, by level."""
    unknown_validity: int
    """The number of counted runs whose validity is unknown."""
    above_deaf: tuple[DeafComparison, ...] = ()
    """Each arm of the deciding links, compared with the best deaf schedule."""
    comparison: StudyComparison | None = None
    """Comparison with the same study on other users; None if not requested."""

    @property
    def verdict(self) -> str:
        return study_verdict.verdict(self.links, self.stated.deciding)

    @property
    def seeds_needed(self) -> int | None:
        return study_verdict.seeds_needed(self.links, self.stated.deciding)

    @property
    def about_deaf_policies(self) -> bool | None:
        """Whether no arm is shown to end above the best deaf schedule; None if not known."""
        return deaf_schedule.is_about_deaf_policies(self.above_deaf)

    @property
    def may_end_above(self) -> tuple[DeafComparison, ...]:
        """The arms that might end above the deaf schedule with more seeds."""
        return tuple(one for one in self.above_deaf if one.may_be_above)

    @property
    def starved(self) -> tuple[int, int]:
        """The numbers of starved and of counted runs in the arms of the deciding links."""
        deciding = [link for link in self.stated.links if link.name in self.stated.deciding]
        named = {arm for link in deciding for arm in link.named_arms}
        inside = {self.chosen.get(arm, arm) for arm in named}  # the chosen arm of `best`
        counts = [self.counts[arm] for arm in self.stated.arms if arm in inside]
        return sum(c.starved for c in counts), sum(
            c.planned - c.failed - c.inactive for c in counts
        )

    def to_json(self) -> dict[str, Any]:
        starved, of = self.starved
        return {
            "schema": SCHEMA,
            "study": self.study,
            "question": self.stated.question,
            "verdict": self.verdict,
            "links": [_link(judged) for judged in self.links],
            "seeds_needed": self.seeds_needed,
            "dir": self.dir,
            "source": self.stated.source,
            "deciding": list(self.stated.deciding),
            "checks": [_link(judged) for judged in self.checks],
            "seeds": list(self.stated.seeds),
            "most_seeds": self.stated.most_seeds,
            "arms": {
                arm: {"words": list(words), **_counts(self.counts[arm])}
                for arm, words in self.stated.arms.items()
            },
            "best": dict(self.chosen),
            "words": list(self.stated.words),
            "rival": {"regime": self.stated.rival, "runs": starved, "of": of}
            if self.stated.rival
            else None,
            "changed": list(self.changed),
            "validity": to_json(self.validity),
            "about_deaf_policies": self.about_deaf_policies,
            "may_end_above": [one.arm for one in self.may_end_above],
            "above_deaf_schedule": [_above(one) for one in self.above_deaf],
            "beside": self.comparison.to_json() if self.comparison else None,
        }


def judge_study(
    study: str,
    stated: StudyStatement,
    where: str,
    runs: ArmRuns,
    changed: Sequence[str],
    looks: Sequence[InterimLook] = (),
) -> StudyOutcome:
    """Judge the checks and links of a study. A link is undecided if its check (`given`) fails.

    `looks` are the earlier looks at the study.
    """
    earlier: dict[str, list[Pairs]] = {}
    for look in looks:
        for name, pairs in look.pairs.items():
            earlier.setdefault(name, []).append(frozenset(pairs))
    seen = [link_observations.observe_link(link, runs) for link in stated.links]
    asked = [link_observations.observe_link(check, runs) for check in stated.checks]
    held = study_verdict.hold_back_checks(links.judge_links(asked, [], earlier, stated.most_seeds))
    judged = study_verdict.hold_back(
        links.judge_links(seen, stated.deciding, earlier, stated.most_seeds), held
    )
    trained = {
        m.result.run: m.identity.validity for arm in runs.runs.values() for m in arm.values()
    }
    return StudyOutcome(
        *(study, stated, where, judged, held, runs.counts, runs.chosen, changed),
        validity=merge(one for one in trained.values() if one is not None),
        unknown_validity=sum(one is None for one in trained.values()),
        above_deaf=deaf_schedule.compare_arms(
            [link for link in stated.links if link.name in stated.deciding], runs.runs
        ),
    )


def new_look(outcome: StudyOutcome, before: Sequence[InterimLook]) -> InterimLook | None:
    """Return this look for the record; None if no link has new pairs, or none was tested."""
    tested = [one for one in (*outcome.links, *outcome.checks) if one.seen]
    known = {
        (name, pair) for past in before for name, pairs in past.pairs.items() for pair in pairs
    }
    if all((one.link.name, pair) in known for one in tested for pair in one.seen):
        return None
    return InterimLook(
        {one.link.name: sorted(one.seen) for one in tested},
        {one.link.name: one.spent for one in tested},
    )


def _counts(counts: ArmCounts) -> dict[str, Any]:
    values = dataclasses.asdict(counts)
    return {**values, "diverged": counts.diverged, "diverged_runs": list(counts.diverged_runs)}


def _above(one: DeafComparison) -> dict[str, Any]:
    gap = one.difference
    return {
        "arm": one.arm,
        "level": one.level,
        "difference": gap.value if gap else None,
        "low": gap.low if gap else None,
        "high": gap.high if gap else None,
        "seeds": one.seeds,
        "above": one.is_above,
        "why": one.why,
    }


def _link(judged: LinkResult) -> dict[str, Any]:
    link = judged.link
    return {
        "name": link.name,
        "verdict": judged.verdict,
        **interval_json(judged.judged),
        "why": judged.why,
        "quantity": link.quantity,
        "unit": quantities.unit_of(link),
        "probe": None if link.probe is None else dataclasses.asdict(link.probe),
        "evaluation": link.evaluation,
        "arm": link.arm,
        "against": link.against,
        "direction": link.direction,
        "margin": link.margin,
        "net_of_null": link.net_of_null,
        "spread": link.spread,
        "crossed": None if link.crossed is None else dataclasses.asdict(link.crossed),
        "plain": interval_json(judged.plain) if link.net_of_null else None,
        "p_supported": judged.p.supported if judged.p else None,
        "p_contradicted": judged.p.contradicted if judged.p else None,
        "p_no_effect": judged.p.no_effect if judged.p else None,
        "pairs": judged.pairs,
        "looks": list(judged.looks),
        "spent": judged.spent,
        "own": {arm: _of_arm(judged, arm) for arm in judged.own},
        "by_seed": _by_seed(judged.by_seed),
        "plain_by_seed": None if judged.plain_by_seed is None else _by_seed(judged.plain_by_seed),
        "own_by_seed": {arm: _by_seed(values) for arm, values in judged.own_by_seed.items()},
        "of_arms": {arm: _by_seed(values) for arm, values in judged.of_arms.items()},
        "unanswered": dict(judged.unanswered),
        "diverged": {str(seed): list(one.runs) for seed, one in judged.lost.items()},
        "if_diverged_at_worst": judged.if_lost_at_worst
        and {"verdict": judged.if_lost_at_worst, **interval_json(judged.at_worst)},
        "censored": judged.censored,
        "minimum_detectable": judged.minimum_detectable,
        "seeds_needed": judged.seeds_needed,
        "given": link.given,
    }


def _of_arm(judged: LinkResult, arm: str) -> dict[str, float | None]:
    """Return the mean and its interval, without an interval if seeds are equal or too few."""
    mean, numbers = judged.own[arm], [*judged.own_by_seed[arm].values()]
    if mean is None:
        value = sum(numbers) / len(numbers) if numbers else None
        return {"mean": value, "low": None, "high": None}
    return {"mean": mean.value, "low": mean.low, "high": mean.high}


def _by_seed(values: Mapping[int, float]) -> dict[str, float]:
    return {str(seed): value for seed, value in values.items()}
