"""Judge a study: its links, its verdict, and reservations against it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.config.run import SCHEMA
from harness.law.compare import (
    deaf_schedule,
    link_observations,
    links,
    quantities,
    study_verdict,
)
from harness.law.compare.best_arms import GridEdge
from harness.law.compare.deaf_schedule import DeafComparison
from harness.law.compare.link_result import LinkResult
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
    edges: Mapping[str, GridEdge] = field(default_factory=dict)
    """Name in `StudyStatement.best` -> the edge of its arms' grid, if the chosen arm is there."""
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
        return tuple(compared for compared in self.above_deaf if compared.may_be_above)

    @property
    def starved(self) -> tuple[int, int]:
        """The numbers of starved and of counted runs in the arms of the deciding links."""
        deciding = [link for link in self.stated.links if link.name in self.stated.deciding]
        named = {arm for link in deciding for arm in link.named_arms}
        names = {self.chosen.get(arm, arm) for arm in named}  # the chosen arm of `best`
        counts = [self.counts[arm] for arm in self.stated.arms if arm in names]
        return sum(count.starved for count in counts), sum(
            count.planned - count.failed - count.inactive for count in counts
        )

    def to_json(self) -> dict[str, Any]:
        starved, counted = self.starved
        return {
            "schema": SCHEMA,
            "study": self.study,
            "question": self.stated.question,
            "verdict": self.verdict,
            "links": [_link_json(judged) for judged in self.links],
            "seeds_needed": self.seeds_needed,
            "dir": self.dir,
            "source": self.stated.source,
            "deciding": list(self.stated.deciding),
            "checks": [_link_json(judged) for judged in self.checks],
            "seeds": list(self.stated.seeds),
            "most_seeds": self.stated.most_seeds,
            "arms": {
                arm: {"words": list(words), **_counts_json(self.counts[arm])}
                for arm, words in self.stated.arms.items()
            },
            "best": dict(self.chosen),
            "best_of": {name: list(arms) for name, arms in self.stated.best.items()},
            "best_at_edge": {
                name: {"key": edge.key, "value": edge.value, "side": edge.side}
                for name, edge in self.edges.items()
            },
            "words": list(self.stated.words),
            "rival": {"regime": self.stated.rival, "runs": starved, "of": counted}
            if self.stated.rival
            else None,
            "changed": list(self.changed),
            "validity": to_json(self.validity),
            "about_deaf_policies": self.about_deaf_policies,
            "may_end_above": [compared.arm for compared in self.may_end_above],
            "above_deaf_schedule": [_above_json(compared) for compared in self.above_deaf],
            "beside": self.comparison.to_json() if self.comparison else None,
        }


def judge_study(
    study: str,
    statement: StudyStatement,
    directory: str,
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
    observations = [link_observations.observe_link(link, runs) for link in statement.links]
    check_observations = [link_observations.observe_link(check, runs) for check in statement.checks]
    checks = study_verdict.hold_back_checks(
        links.judge_links(check_observations, [], earlier, statement.most_seeds)
    )
    judged_links = study_verdict.hold_back(
        links.judge_links(observations, statement.deciding, earlier, statement.most_seeds), checks
    )
    validities = {
        member.result.run: member.identity.validity
        for arm in runs.runs.values()
        for member in arm.values()
    }
    return StudyOutcome(
        *(study, statement, directory, judged_links, checks, runs.counts, runs.chosen, changed),
        validity=merge(validity for validity in validities.values() if validity is not None),
        unknown_validity=sum(validity is None for validity in validities.values()),
        above_deaf=deaf_schedule.compare_arms(
            [link for link in statement.links if link.name in statement.deciding], runs.runs
        ),
        edges=runs.edges,
    )


def new_look(outcome: StudyOutcome, earlier: Sequence[InterimLook]) -> InterimLook | None:
    """Return this look for the record; None if no link has new pairs, or none was tested."""
    results = [result for result in (*outcome.links, *outcome.checks) if result.seen]
    known_pairs = {
        (name, pair) for look in earlier for name, pairs in look.pairs.items() for pair in pairs
    }
    if all((result.link.name, pair) in known_pairs for result in results for pair in result.seen):
        return None
    return InterimLook(
        {result.link.name: sorted(result.seen) for result in results},
        {result.link.name: result.spent for result in results},
    )


def _counts_json(counts: ArmCounts) -> dict[str, Any]:
    values = dataclasses.asdict(counts)
    return {**values, "diverged": counts.diverged, "diverged_runs": list(counts.diverged_runs)}


def _above_json(comparison: DeafComparison) -> dict[str, Any]:
    difference = comparison.difference
    return {
        "arm": comparison.arm,
        "level": comparison.level,
        "difference": difference.value if difference else None,
        "low": difference.low if difference else None,
        "high": difference.high if difference else None,
        "seeds": comparison.seeds,
        "above": comparison.is_above,
        "why": comparison.why,
    }


def _link_json(result: LinkResult) -> dict[str, Any]:
    link = result.link
    return {
        "name": link.name,
        "verdict": result.verdict,
        **interval_json(result.judged),
        "why": result.why,
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
        "plain": interval_json(result.plain) if link.net_of_null else None,
        "p_supported": result.p.supported if result.p else None,
        "p_contradicted": result.p.contradicted if result.p else None,
        "p_no_effect": result.p.no_effect if result.p else None,
        "pairs": result.pairs,
        "looks": list(result.looks),
        "spent": result.spent,
        "own": {arm: _arm_mean(result, arm) for arm in result.own},
        "by_seed": _by_seed(result.by_seed),
        "plain_by_seed": None if result.plain_by_seed is None else _by_seed(result.plain_by_seed),
        "own_by_seed": {arm: _by_seed(values) for arm, values in result.own_by_seed.items()},
        "of_arms": {arm: _by_seed(values) for arm, values in result.of_arms.items()},
        "unanswered": dict(result.unanswered),
        "diverged": {str(seed): list(pair.runs) for seed, pair in result.lost.items()},
        "if_diverged_at_worst": result.if_lost_at_worst
        and {"verdict": result.if_lost_at_worst, **interval_json(result.at_worst)},
        "censored": result.censored,
        "minimum_detectable": result.minimum_detectable,
        "seeds_needed": result.seeds_needed,
        "given": link.given,
    }


def _arm_mean(result: LinkResult, arm: str) -> dict[str, float | None]:
    """Return the mean and its interval, without an interval if seeds are equal or too few."""
    mean, numbers = result.own[arm], [*result.own_by_seed[arm].values()]
    if mean is None:
        value = sum(numbers) / len(numbers) if numbers else None
        return {"mean": value, "low": None, "high": None}
    return {"mean": mean.value, "low": mean.low, "high": mean.high}


def _by_seed(values: Mapping[int, float]) -> dict[str, float]:
    return {str(seed): value for seed, value in values.items()}
