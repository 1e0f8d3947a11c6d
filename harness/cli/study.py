"""The study command: plan the arms, state their cost, run them, judge the links."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from harness.cli import exit_codes, status
from harness.compose import search_path, typed_grants
from harness.config.grant import Grant
from harness.config.run import RunConfig
from harness.errors import EXIT_PARTIAL, ConfigError, StoppedError
from harness.execution import gpu_lease, launcher, preflight, user_validity
from harness.execution import sweep as sweeps
from harness.law import analysis
from harness.law.compare import other_study, study_arms, study_outcome
from harness.law.compare.other_study import OtherStudy
from harness.law.compare.study_outcome import StudyOutcome
from harness.records import plain_file
from harness.records.study_file import Link, StudyRecord, StudyStatement
from harness.records.sweep_file import Sweep
from harness.report import formats, write
from harness.report.tables import study as study_table
from harness.report.text import link_words, wording
from harness.study import answers, arms, cost, file, folder, looks, probe_cost
from harness.study.arms import PlannedStudy
from harness.utils import safe_text, terminal

RESULTS = "study"


@dataclass(frozen=True)
class StudyOptions:
    """Arguments of the command."""

    name: str
    overrides: tuple[str, ...]
    dir: Path | None
    as_json: bool
    dry_run: bool
    beside: Path | None = None
    """Folder of the same study elsewhere."""
    formats: tuple[str, ...] = ()
    """Words of --format."""


def study(opts: StudyOptions) -> int:
    """Run and judge the study. Return 0 whatever the verdict, 3 if a run failed, 75 if stopped.

    Raises ConfigError, before anything is created, for an invalid study, override or folder.
    """
    if not (opts.name or opts.overrides or opts.dir or opts.beside):
        _print_names(opts.as_json)
        return 0
    pictures = formats.pictures(opts.formats)
    planned = arms.plan(opts.name, file.read(opts.name), opts.overrides)
    root = opts.dir.resolve() if opts.dir else folder.default(planned)
    plain_file.refuse_link(root)
    existing = folder.existing(planned, root)
    if existing is not None and not folder.has_implied_keys(existing):
        planned = arms.plan(opts.name, file.read(opts.name), opts.overrides, implied=())
    plain_file.refuse_link(root / RESULTS)
    links = [*planned.stated.links, *planned.stated.checks]
    other = _read_other(opts.beside, root, planned.name, links)
    configs = [point.config for _, point in planned.distinct().values()]
    probe_estimate = probe_cost.of_study(planned)
    cost_text = f"{cost.sentence(configs)}{probe_estimate.sentence}"
    if opts.dry_run:
        _show(planned, root, cost_text, probe_estimate.by_probe, opts.as_json)
        _warn(planned)
        _note_invalid(configs)
        return 0
    chosen = launcher.chosen(planned.launcher)
    launcher.check(chosen, configs)
    if chosen.is_local:
        gpu_lease.check(configs)
    grants = preflight.check(configs, typed_grants.grants(opts.overrides))
    notes = user_validity.check(configs)
    preflight.check_disk_space(configs, root)
    preflight.tell(grants)
    user_validity.tell(notes)
    safe_text.say(cost_text)
    _warn(planned)
    record = folder.create_or_complete(planned, root)
    for sentence in record.changed:
        safe_text.say(f"changed since the first runs were planned: {sentence}")
    wanted_runs = {run for seeds in record.arms.values() for run in seeds.values()}
    ledger, code = sweeps.execute(root, only=wanted_runs, granted=grants)
    ledger = replace(ledger, runs=sweeps.select_rows(ledger, wanted_runs))
    if code != StoppedError.exit_code:
        code = _ask(planned, root, record, ledger, grants) or code
    if code == StoppedError.exit_code:
        for line in status.failures(ledger):
            safe_text.say(line)
        safe_text.say(f"study stopped: {_done(ledger)} in {root}; repeat the command to continue")
        return code
    outcome = judge(planned, root, record, ledger)
    looks.record_look(root, record, outcome)
    if other is not None:
        effects = other_study.compare_studies([*outcome.links, *outcome.checks], other)
        outcome = replace(outcome, comparison=effects)
    write.write_study(outcome, root / RESULTS, pictures)
    _tell(outcome, ledger, opts.as_json)
    return code


def _print_names(as_json: bool) -> None:
    """Print the name and the question of each study, or why its file cannot be read."""
    questions = {name: file.question(name) for name in search_path.study_names()}
    if as_json:
        studies = [{"name": name, "question": question} for name, question in questions.items()]
        exit_codes.print_json({"schema": 1, "studies": studies})
        return
    longest = max(map(len, questions), default=0)
    with exit_codes.tolerate_closed_stdout():
        for name, question in questions.items():
            line = safe_text.escape(f"{name:{longest}}  {question}")
            print(terminal.wrap(line, terminal.width(sys.stdout), " " * (longest + 2)))
        print("`harness study NAME --dry-run` shows the runs of a study and their cost")


def _read_other(
    beside: Path | None, root: Path, name: str, links: Sequence[Link]
) -> OtherStudy | None:
    """Read the study of --beside. Raises ConfigError if it is the one to be judged."""
    if beside is None:
        return None
    if beside.resolve() in (root, root / RESULTS):
        rule = "must not be the folder of the study's own runs"
        raise ConfigError(f"--beside {rule}, got {str(beside)!r}")
    return other_study.read(beside, name, links)


def _ask(
    planned: PlannedStudy, root: Path, record: StudyRecord, ledger: Sweep, grants: frozenset[Grant]
) -> int:
    """Ask the probes whose answers are missing. Return 0, 3 if one failed, 75 if stopped."""
    try:
        required = answers.required_probes(planned, record, study_arms.finished_folders(ledger))
        return EXIT_PARTIAL if answers.ask_missing(root, required, grants) else 0
    except StoppedError as error:
        safe_text.say(str(error))
        return error.exit_code


def judge(planned: PlannedStudy, root: Path, record: StudyRecord, ledger: Sweep) -> StudyOutcome:
    """Judge the links by the finished runs. This look is not recorded."""
    members = analysis.load_members(study_arms.finished_folders(ledger))
    assigned = study_arms.assign_runs(
        record,
        planned.stated,
        members,
        study_arms.diverged_runs(ledger),
        study_arms.not_started(ledger),
    )
    return study_outcome.judge_study(
        planned.name, planned.stated, str(root), assigned, record.changed, record.looks
    )


def _warn(planned: PlannedStudy) -> None:
    for sentence in arms.warnings(planned):
        safe_text.say(sentence)


def _note_invalid(configs: Sequence[RunConfig]) -> None:
    try:
        user_validity.tell(user_validity.check(configs))
    except ConfigError as error:
        safe_text.say(f"note: {error}")


def _tell(outcome: StudyOutcome, ledger: Sweep, as_json: bool) -> None:
    with exit_codes.tolerate_closed_stdout():
        if as_json:
            print(write.study_json(outcome), end="")
        else:
            study_table.print_study(outcome, Console())
    for line in status.failures(ledger):
        safe_text.say(line)
    if any(row.status != "done" for row in ledger.runs):
        safe_text.say(f"{_done(ledger)} in {outcome.dir}; repeat the command to run the others")
    safe_text.say(f"results in {Path(outcome.dir) / RESULTS}")


def _done(ledger: Sweep) -> str:
    """Return `2 of 6 runs done`."""
    done = sum(row.status == "done" for row in ledger.runs)
    return f"{done} of {wording.plural(len(ledger.runs), 'run')} done"


def _show(
    planned: PlannedStudy,
    root: Path,
    cost_text: str,
    probe_counts: Mapping[str, int],
    as_json: bool,
) -> None:
    """Print what would be run and judged. Creates nothing."""
    done = folder.count_done(planned, root)
    if as_json:
        value = {"study": planned.name, "dir": str(root), "cost": cost_text, **_counts(planned)}
        value |= {"done": done, "answers": dict(probe_counts)}
        print(json.dumps({"schema": 1, **value}, indent=1))
        return
    done_text = f"; already done: {done}" if done else ""
    for line in (*_lines(planned), f"{cost_text}, in {root}{done_text}"):
        print(safe_text.escape(line))


def _counts(planned: PlannedStudy) -> dict[str, object]:
    stated = planned.stated
    words = {arm: list(overrides) for arm, overrides in stated.arms.items()}
    return {"seeds": list(stated.seeds), "arms": words, "runs": len(planned.distinct())}


def _lines(planned: PlannedStudy) -> Sequence[str]:
    stated = planned.stated
    width = max(map(len, stated.arms))
    return [
        stated.question,
        *(f"  {arm:{width}}  {' '.join(overrides)}" for arm, overrides in stated.arms.items()),
        f"  all  {' '.join(stated.words)}",
        f"  seeds  {' '.join(map(str, stated.seeds))}",
        *(
            f"  {name}  the best of {', '.join(arms_compared)} on {stated.evaluation_of_best(name)}"
            for name, arms_compared in stated.best.items()
        ),
        *(line for link in stated.links for line in _link(_kind(link.name, stated), link)),
        *(line for check in stated.checks for line in _link("check", check)),
    ]


def _link(kind: str, link: Link) -> Sequence[str]:
    table = link_words.layout(link.crossed) if link.crossed else ()
    line = f"{kind}, {link.name}: {link_words.statement_with_margin(link)}"
    return [line, *(f"  {row}" for row in table)]


def _kind(name: str, stated: StudyStatement) -> str:
    return "link" if name in stated.deciding else "beside"
