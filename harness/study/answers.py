"""Runs the probes that a study's links need, where their results are missing.

Results are stored in the run folders, as `harness probe` writes them. A result for the same
checkpoint, with the same settings and code, is reused, so that a stopped study continues where it
was. If a probe fails on a run, the link has no value for that run.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

from harness.config.grant import Grant
from harness.config.run import RunConfig
from harness.errors import HarnessError, StoppedError
from harness.execution import gpu_lease, stop_requests
from harness.probes import answer_files, ask, registry
from harness.probes.quantity import ItemChoice
from harness.records import (
    atomic,
    checkpoints,
    debug_log,
    holder,
    plain_file,
    probe_answer,
    provenance,
    run_folder,
    trained_run,
)
from harness.records.provenance import MadeBy
from harness.records.run_folder import RunFolder
from harness.records.study_file import LinkProbe, StudyRecord
from harness.study import arms, probe_links
from harness.study.arms import PlannedStudy
from harness.trust import permission
from harness.utils import process_pool, safe_text

TOLD_EVERY_S = 5.0


@dataclass(frozen=True)
class RequiredProbe:
    """A probe's result for one run that links need."""

    run: Path
    probe: str
    users: int
    repeats: int
    items: int | None

    @property
    def question(self) -> ask.ProbeRequest:
        """The probe's question about the run's last checkpoint, compared with its start."""
        probe = registry.get(self.probe)
        if self.items is not None:
            return ask.ProbeRequest(probe, self.run, choice=ItemChoice(None, self.items))
        return ask.ProbeRequest(probe, self.run, users=self.users, repeats=self.repeats)


@dataclass(frozen=True)
class ProbeFailure:
    """A result that could not be obtained."""

    wanted: RequiredProbe
    why: str

    @property
    def sentence(self) -> str:
        return f"{self.wanted.run.name}: probe {self.wanted.probe} failed: {self.why}"


def probes_of_arms(planned: PlannedStudy) -> Mapping[str, Sequence[LinkProbe]]:
    """Return arm -> the probes that links need of its runs.

    Includes null controls for links that are net of them.
    """
    statement, by_arm = planned.stated, dict[str, dict[str, LinkProbe]]()
    for link in (*statement.links, *statement.checks):
        if link.probe is None:
            continue
        names = probe_links.arms_of(link, statement.best)
        nulls = arms.null_arms(planned, names) if link.net_of_null else []
        for arm in (*names, *nulls):
            by_arm.setdefault(arm, {})[link.probe.name] = link.probe
    return {arm: list(probes.values()) for arm, probes in by_arm.items()}


def required_probes(
    planned: PlannedStudy, record: StudyRecord, done: Sequence[Path]
) -> list[RequiredProbe]:
    """Return the distinct results that links need of the runs in `done`."""
    folders = {folder.name: folder for folder in done}
    required = (
        RequiredProbe(folders[name], probe.name, probe.users, probe.repeats, probe.items)
        for arm, probes in probes_of_arms(planned).items()
        for seed in planned.stated.seeds
        for probe in probes
        if (name := record.arms[arm][str(seed)]) in folders
    )
    return list(dict.fromkeys(required))


def ask_missing(
    root: Path, probes: Sequence[RequiredProbe], granted: frozenset[Grant] = frozenset()
) -> list[ProbeFailure]:
    """Obtain the missing results, in parallel if possible; return the failures.

    Outdated results in their place are removed first. Raises StoppedError if a stop is requested or
    another process works in `root` (then nothing is removed), StorageError if an outdated result
    cannot be removed.
    """
    versions = provenance.current_versions()
    missing = [required for required in probes if not _is_answered(required, versions)]
    if not missing:
        return []
    with (
        holder.hold(RunFolder(root)),
        debug_log.logged_bugs(root),
        stop_requests.on_signals(root, []),
        permission.temporarily_granted(granted),
        process_pool.worker_pool(_process_count(missing)) as pool,
    ):
        for required in missing:
            _remove(required)
        return _ask_in_turn(root, missing) if pool is None else _ask_in_pool(root, missing, pool)


def _remove(required: RequiredProbe) -> None:
    path = probe_answer.path_of(required.run, required.probe)
    with atomic.storage_errors(path):
        path.unlink(missing_ok=True)


def _process_count(probes: Sequence[RequiredProbe]) -> int:
    """Return the number of processes to use, including this one, which only waits if there are
    others. 1 if a GPU is needed, or an endpoint, whose rate limits only a single client can keep.
    """
    configs: list[RunConfig] = []
    for required in probes:
        with contextlib.suppress(HarnessError):  # `answer` will report it
            configs.append(run_folder.read_config(RunFolder(required.run)))
    is_exclusive = any(
        config.policy.kind == "hf" or config.simulator.kind == "served" for config in configs
    )
    if is_exclusive or any(config.trainer.gpus for config in configs):
        return 1
    run_count = gpu_lease.runs_at_once(configs)
    return 1 if run_count == 1 else run_count + 1


def _ask_in_turn(root: Path, probes: Sequence[RequiredProbe]) -> list[ProbeFailure]:
    report, failures = _progress(probes), list[ProbeFailure]()
    for required in probes:
        failures += _report_progress(report, required, answer(root, required))
    return failures


def _ask_in_pool(root: Path, probes: Sequence[RequiredProbe], pool: Executor) -> list[ProbeFailure]:
    submitted = process_pool.submit(pool, functools.partial(answer, root), probes)
    if not submitted.futures:
        return _ask_in_turn(root, probes)
    report, failures, remaining = _progress(probes), list[ProbeFailure](), dict.fromkeys(probes)
    futures = dict(zip(submitted.futures, probes, strict=True))
    try:
        for future in as_completed(futures):
            required = futures[future]
            failures += _report_progress(report, required, future.result())
            del remaining[required]
    except BrokenProcessPool:  # a process was killed, most likely for lack of memory
        safe_text.say(
            "a process that asked a probe was killed; the remaining probes are asked one at a time"
        )
        return failures + _ask_in_turn(root, list(remaining))
    return failures


def _report_progress(
    report: Callable[[], None], required: RequiredProbe, reason: str | None
) -> list[ProbeFailure]:
    """Print the progress, and the failure if there is one; return it."""
    report()
    if reason is None:
        return []
    failure = ProbeFailure(required, reason)
    safe_text.say(failure.sentence)
    return [failure]


def _progress(probes: Sequence[RequiredProbe]) -> Callable[[], None]:
    """Return a function to call after each result, which prints the count, at most every
    TOLD_EVERY_S seconds and at the end.
    """
    names = ", ".join(dict.fromkeys(required.probe for required in probes))
    done, last = 0, time.monotonic()

    def report() -> None:
        nonlocal done, last
        done += 1
        if done == len(probes) or time.monotonic() - last >= TOLD_EVERY_S:
            last = time.monotonic()
            safe_text.say(f"probe {names}: {done} of {len(probes)} answers")

    return report


def answer(root: Path, required: RequiredProbe) -> str | None:
    """Obtain one result and write it to the run's folder; return the reason if that fails.

    Raises StoppedError once a stop of `root` is requested.
    """

    def stop_if_asked(name: str, done: int, total: int) -> None:
        if stop_requests.stop_runs(root):
            raise StoppedError("stopped while probes were asked")

    try:
        stop_if_asked("", 0, 0)
        question = required.question
        answer_files.write(ask.ask(question, stop_if_asked), question.folder, ())
    except StoppedError:
        raise
    except HarnessError as error:
        return plain_file.one_line(error)
    except Exception as error:  # the value is missing; the study continues
        traceback_note = debug_log.log_traceback(required.run, error)
        return f"{type(error).__name__}: {plain_file.one_line(error)}{traceback_note}"
    return None


def _is_answered(required: RequiredProbe, versions: MadeBy) -> bool:
    """Whether the run's folder has this result: for its last checkpoint, with the same settings,
    git revision and versions. Uncommitted changes of a checkout are not detected.
    """
    try:
        record = probe_answer.read(required.run, required.probe)
        last = checkpoints.sum_of(trained_run.find(required.run).checkpoint)
    except HarnessError:  # `answer` will report it
        return False
    if record is None or record.against != probe_answer.BY_START or record.item_file is not None:
        return False
    same_settings = (record.users, record.repeats, record.items) == (
        required.users,
        required.repeats,
        required.items,
    )
    is_ours = record.made_by.versions and not provenance.differences(record.made_by, versions)
    return bool(same_settings and is_ours) and record.checkpoint == last
