"""Plans a study: its statement, including the command line's overrides, and the arms' runs."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.compose import overrides as keys
from harness.compose import planner
from harness.compose.grammar import parse
from harness.compose.overrides import ParsedOverride
from harness.compose.plan import Plan, Point
from harness.config.run import RunConfig
from harness.errors import ConfigError
from harness.law.compare import crossed, quantities
from harness.law.compare.random_effects import FEWEST_SEEDS
from harness.law.io.clean import FEWEST_POINTS
from harness.records import config_file
from harness.records.study_file import Link, StudyStatement
from harness.study import cost, probe_links, times
from harness.study.file import StudyFile

SEED = "seed"
IMPLIED = ("trainer.stop_unheard=false",)
"""Overrides for every study, unless its file or the command line sets their keys. A run that stops
because its replies are not language, or all its groups have equal rewards, has often collapsed.
Dropping such runs would bias the comparison, the more so as null controls never stop for that."""


@dataclass(frozen=True)
class PlannedStudy:
    """A study as planned. Nothing is created."""

    name: str
    stated: StudyStatement
    points: Mapping[str, Mapping[int, Point]]
    """Arm -> seed -> its run. Arms may share runs."""
    overrides: tuple[str, ...]
    """The overrides of the command line, without seeds and launcher settings."""
    launcher: tuple[str, ...]
    """The overrides that determine where runs are executed."""

    def distinct(self) -> dict[tuple[str, int], tuple[str, Point]]:
        """Return (hash of the config, seed) -> the first arm that has this run, and its point.

        Ordered by seed, so that a study cut short has complete pairs.
        """
        by_identity: dict[tuple[str, int], tuple[str, Point]] = {}
        for seed in self.stated.seeds:
            for arm, points in self.points.items():
                by_identity.setdefault(run_identity(points[seed]), (arm, points[seed]))
        return by_identity


def warnings(planned: PlannedStudy) -> Iterator[str]:
    """Yield warnings, before the first run, about what will leave links undecided."""
    statement = planned.stated
    if len(statement.seeds) < FEWEST_SEEDS:
        rule = f"no link is decided with fewer than {FEWEST_SEEDS} seeds"
        yield f"seed: {rule}, got {len(statement.seeds)}"
    if statement.most_seeds is not None and len(statement.seeds) > statement.most_seeds:
        rule = f"the last look was stated to be at {statement.most_seeds} seeds; a later one"
        yield f"most_seeds: {rule} decides no link, got {len(statement.seeds)} seeds"
    links = (*statement.links, *statement.checks)
    for link in links:
        if link.crossed and FEWEST_SEEDS <= len(statement.seeds) < crossed.FEWEST_SEEDS:
            rule = f"a crossed table is not decided with fewer than {crossed.FEWEST_SEEDS} seeds"
            yield f"seed: {link.name}: {rule}, got {len(statement.seeds)}"
    evaluated = {link.quantity for link in links if not quantities.of_link(link).every_step}
    configs = [point.config for _, point in planned.distinct().values()]
    fewest = min(configs, key=cost.evaluations)
    if evaluated and cost.evaluations(fewest) < FEWEST_POINTS:
        steps, eval_every = fewest.trainer.steps, fewest.trainer.evaluated_every
        yield (
            f"trainer.steps: a link on {', '.join(sorted(evaluated))} needs {FEWEST_POINTS} "
            f"evaluations to be decided, got {cost.evaluations(fewest)} in {steps} steps "
            f"evaluated every {eval_every}"
        )
    for names in _equal_arms(planned):
        yield f"arms: {' and '.join(names)} are the same runs, so they cannot differ"
    yield from _unequal_choices(statement)


def _unequal_choices(statement: StudyStatement) -> Iterator[str]:
    """Yield warnings for links that compare best arms chosen from different numbers of arms
    (benchmarks/study_verdicts.md).
    """
    for link in (*statement.links, *statement.checks):
        choices = [len(statement.best.get(arm, [arm])) for arm in link.named_arms]
        choices += [] if link.against else [1]
        if len(set(choices)) > 1:
            where = "in every place" if link.crossed else "on either side"
            got = " and ".join(map(str, dict.fromkeys(choices)))
            yield (
                f"best: {link.name}: must choose among the same number of arms {where}, got {got}; "
                "if all arms are equal, the best of 3 is falsely found to end higher than one arm "
                "in 5% of studies and the best of 8 in 7 to 12%, instead of the nominal 2.5%"
            )


def _equal_arms(planned: PlannedStudy) -> list[list[str]]:
    """Return groups of arms that have exactly the same runs."""
    by_runs: dict[frozenset[tuple[str, int]], list[str]] = {}
    for arm, points in planned.points.items():
        by_runs.setdefault(frozenset(map(run_identity, points.values())), []).append(arm)
    return [names for names in by_runs.values() if len(names) > 1]


def run_identity(point: Point) -> tuple[str, int]:
    """Return the identity of a run: the hash of its config, and its seed."""
    return config_file.config_hash(point.config), point.config.seed


def plan(
    name: str, file: StudyFile, overrides: Sequence[str], implied: Sequence[str] = IMPLIED
) -> PlannedStudy:
    """Compose and check every run of every arm. Raises ConfigError."""
    typed = _parse_overrides(file, overrides)
    common, launcher, seeds = _split_overrides(file, typed, implied)
    words = list(_texts(common))
    points: dict[str, dict[int, Point]] = {}
    compose = functools.cache(times.composed)  # composing is slow, and many arms differ in a rate
    for arm, arm_words in file.arms.items():
        try:
            points[arm] = _points([*words, *arm_words], [*_texts(launcher), seeds], compose)
        except ConfigError as error:
            is_seed = str(error).startswith(f"{SEED} ")
            where = _error_location(file, arm, bool(points), typed)
            if is_seed and SEED not in typed:
                where = f"{file.path}: seeds"
            raise ConfigError(f"{where}: {error}") from error
    statement = StudyStatement(
        question=file.question,
        source=file.source,
        seeds=sorted(next(iter(points.values()))),
        words=words,
        arms=file.arms,
        links=_resolved_links(file, "links", file.links, points),
        checks=_resolved_links(file, "checks", file.checks, points),
        deciding=file.deciding,
        best=file.best,
        rival=file.rival,
        most_seeds=file.most_seeds,
    )
    _refuse_without_null(str(file.path), statement, points)
    own_words = {key: word for key, word in typed.items() if key in common}
    return PlannedStudy(name, statement, points, _texts(own_words), _texts(launcher))


def _resolved_links(
    file: StudyFile, part: str, links: Sequence[Link], points: probe_links.Points
) -> list[Link]:
    where = f"{file.path}: {part}."
    return [
        probe_links.resolve(f"{where}{link.name}", link, file.best, points, file.probes)
        for link in links
    ]


def _split_overrides(
    file: StudyFile, typed: Mapping[str, ParsedOverride], implied: Sequence[str]
) -> tuple[dict[str, ParsedOverride], dict[str, ParsedOverride], str]:
    """Return the overrides common to all arms, those of the launcher, and that of the seeds."""
    overrides = {**_by_key(f"{file.path}: words", file.words), **typed}
    common = overrides | {
        key: word for key, word in _by_key("", implied).items() if key not in overrides
    }
    seeds = common.pop(SEED, None) or parse([f"{SEED}={file.seeds}"])[0]
    launcher = {key: common.pop(key) for key in list(common) if key.startswith("hydra")}
    return common, launcher, seeds.text


def _refuse_without_null(
    where: str, statement: StudyStatement, points: Mapping[str, Mapping[int, Point]]
) -> None:
    """Raise ConfigError for a link that is net of null controls which no arm provides."""
    planned = {run_identity(point) for runs in points.values() for point in runs.values()}
    without_null = [
        arm
        for arm, runs in points.items()
        if any(_null_of(point.config) not in planned for point in runs.values())
    ]
    for link in (*statement.links, *statement.checks):
        missing = [arm for arm in probe_links.arms_of(link, statement.best) if arm in without_null]
        if link.net_of_null and missing:
            rule = f"net_of_null needs null controls of {' and '.join(missing)}, got no such arm"
            raise ConfigError(f"{where}: {link.name}: {rule}; null_controls: true adds them")


def null_arms(planned: PlannedStudy, arms: Sequence[str]) -> list[str]:
    """Return the arms whose runs are null controls of the runs of `arms`."""
    nulls = {_null_of(point.config) for arm in arms for point in planned.points[arm].values()}
    return [
        arm
        for arm, points in planned.points.items()
        if arm not in arms and any(run_identity(point) in nulls for point in points.values())
    ]


def _null_of(config: RunConfig) -> tuple[str, int] | None:
    """Return the identity of the run's null control; None if it is a null control itself."""
    if config.algorithm.null_control:
        return None
    without_signal = replace(config.algorithm, null_control=True)
    return config_file.config_hash(replace(config, algorithm=without_signal)), config.seed


def _texts(words: Mapping[str, ParsedOverride]) -> tuple[str, ...]:
    return tuple(word.text for word in words.values())


def _parse_overrides(file: StudyFile, overrides: Sequence[str]) -> dict[str, ParsedOverride]:
    """Parse the command line's overrides. Raises ConfigError for one that sweeps another key than
    seed, or that sets a key of an arm.
    """
    words = parse(overrides)
    keys.check(words)
    arm_keys = {
        key
        for arm, arm_words in file.arms.items()
        for key in _by_key(f"{file.path}: arms.{arm}", times.without_factors(arm_words))
    }
    for word in words:
        if word.swept and word.key != SEED:
            rule = "a study takes one value of each key, and several values only of seed"
            raise ConfigError(f"{keys.without_secret(word.text)}: {rule}")
        if word.key == "sweeps":
            raise ConfigError(
                f"{word.text}: the arms of a study must be in its own file, {file.path}"
            )
        if word.key in arm_keys:
            rule = f"{word.key} is set by the arms of {file.path} and cannot be overridden"
            raise ConfigError(
                f"{keys.without_secret(word.text)}: {rule}; copy the file to change that"
            )
    return {word.key: word for word in words}


def _by_key(where: str, texts: Sequence[str]) -> dict[str, ParsedOverride]:
    try:
        words = parse(texts)
        keys.check(words)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error
    return {word.key: word for word in words}


def _points(
    words: Sequence[str], extra: Sequence[str], compose: times.Compose = times.composed
) -> dict[int, Point]:
    """Return seed -> run of one arm."""
    arm_plan: Plan = planner.plan([*times.resolve_factors(words, compose), *extra])
    swept = [key for key in arm_plan.axes if key != SEED]
    if swept:
        raise ConfigError(f"an arm must have one value of each key, got several of {swept[0]}")
    return {point.config.seed: point for point in arm_plan.points}


def _error_location(
    file: StudyFile, arm: str, others_planned: bool, typed: Mapping[str, ParsedOverride]
) -> str:
    """Return where an arm's error comes from: the study file, or the command line."""
    in_file = f"{file.path}: arms.{arm}"
    if not typed:
        return in_file
    try:
        words, launcher, seeds = _split_overrides(file, {}, ())
        _points([*_texts(words), *file.arms[arm]], [*_texts(launcher), seeds])
    except ConfigError:
        return in_file
    return f"command line: in arms.{arm}" if others_planned else "command line"
