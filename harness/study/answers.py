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
    stated, found = planned.stated, dict[str, dict[str, LinkProbe]]()
    for link in (*stated.links, *stated.checks):
        if link.probe is None:
            continue
        named = probe_links.arms_of(link, stated.best)
        nulls = arms.null_arms(planned, named) if link.net_of_null else []
        for arm in (*named, *nulls):
            found.setdefault(arm, {})[link.probe.name] = link.probe
    return {arm: list(probes.values()) for arm, probes in found.items()}


def required_probes(
    planned: PlannedStudy, record: StudyRecord, done: Sequence[Path]
) -> list[RequiredProbe]:
    """Return the distinct results that links need of the runs in `done`."""
    folders = {folder.name: folder for folder in done}
    every = (
        RequiredProbe(folders[name], one.name, one.users, one.repeats, one.items)
        for arm, probes in probes_of_arms(planned).items()
        for seed in planned.stated.seeds
        for one in probes
        if (name := record.arms[arm][str(seed)]) in folders
    )
    return list(dict.fromkeys(every))


def ask_missing(
    root: Path, every: Sequence[RequiredProbe], granted: frozenset[Grant] = frozenset()
) -> list[ProbeFailure]:
    """Obtain the missing results, in parallel if possible; return the failures.

    Outdated results in their place are removed first. Raises StoppedError if a stop is requested or
    another process works in `root`, StorageError if an outdated result cannot be removed.
    """
    now = provenance.current_versions()
    missing = [one for one in every if not _is_there(one, now)]
    if not missing:
        return []
    for one in missing:
        _remove(one)
    with (
        holder.hold(RunFolder(root)),
        debug_log.logged_bugs(root),
        stop_requests.on_signals(root, []),
        permission.temporarily_granted(granted),
        process_pool.worker_pool(_room(missing)) as pool,
    ):
        return _in_turn(root, missing) if pool is None else _ask_in_pool(root, missing, pool)


def _remove(one: RequiredProbe) -> None:
    path = probe_answer.path_of(one.run, one.probe)
    with atomic.storage_errors(path):
        path.unlink(missing_ok=True)


def _room(every: Sequence[RequiredProbe]) -> int:
    """Return the number of processes to use, including this one, which only waits if there are
    others. 1 if a GPU is needed, or an endpoint, whose rate limits only a single client can keep.
    """
    configs: list[RunConfig] = []
    for one in every:
        with contextlib.suppress(HarnessError):  # `answer` will report it
            configs.append(run_folder.read_config(RunFolder(one.run)))
    alone = any(c.policy.kind == "hf" or c.simulator.kind == "served" for c in configs)
    if alone or any(config.trainer.gpus for config in configs):
        return 1
    at_once = gpu_lease.runs_at_once(configs)
    return 1 if at_once == 1 else at_once + 1


def _in_turn(root: Path, every: Sequence[RequiredProbe]) -> list[ProbeFailure]:
    told, failures = _progress(every), list[ProbeFailure]()
    for one in every:
        failures += _report_progress(told, one, answer(root, one))
    return failures


def _ask_in_pool(root: Path, every: Sequence[RequiredProbe], pool: Executor) -> list[ProbeFailure]:
    begun = process_pool.submit(pool, functools.partial(answer, root), every)
    if not begun.futures:
        return _in_turn(root, every)
    told, failures, left = _progress(every), list[ProbeFailure](), dict.fromkeys(every)
    futures = dict(zip(begun.futures, every, strict=True))
    try:
        for future in as_completed(futures):
            one = futures[future]
            failures += _report_progress(told, one, future.result())
            del left[one]
    except BrokenProcessPool:  # a process was killed, most likely for lack of memory
        safe_text.say(
            "a process that asked a probe was killed; the remaining probes are asked one at a time"
        )
        return failures + _in_turn(root, list(left))
    return failures


def _report_progress(
    told: Callable[[], None], one: RequiredProbe, why: str | None
) -> list[ProbeFailure]:
    """Print the progress, and the failure if there is one; return it."""
    told()
    if why is None:
        return []
    failure = ProbeFailure(one, why)
    safe_text.say(failure.sentence)
    return [failure]


def _progress(every: Sequence[RequiredProbe]) -> Callable[[], None]:
    """Return a function to call after each result, which prints the count, at most every
    TOLD_EVERY_S seconds and at the end.
    """
    names = ", ".join(dict.fromkeys(one.probe for one in every))
    done, last = 0, time.monotonic()

    def tell() -> None:
        nonlocal done, last
        done += 1
        if done == len(every) or time.monotonic() - last >= TOLD_EVERY_S:
            last = time.monotonic()
            safe_text.say(f"probe {names}: {done} of {len(every)} answers")

    return tell


def answer(root: Path, one: RequiredProbe) -> str | None:
    """Obtain one result and write it to the run's folder; return the reason if that fails.

    Raises StoppedError once a stop of `root` is requested.
    """

    def stop_if_asked(what: str, held: int, of: int) -> None:
        if stop_requests.stop_runs(root):
            raise StoppedError("stopped while probes were asked")

    try:
        stop_if_asked("", 0, 0)
        question = one.question
        answer_files.write(ask.ask(question, stop_if_asked), question.folder, ())
    except StoppedError:
        raise
    except HarnessError as error:
        return plain_file.one_line(error)
    except Exception as error:  # the value is missing; the study continues
        where = debug_log.log_traceback(one.run, error)
        return f"{type(error).__name__}: {plain_file.one_line(error)}{where}"
    return None


def _is_there(one: RequiredProbe, now: MadeBy) -> bool:
    """Whether the run's folder has this result: for its last checkpoint, with the same settings,
    git revision and versions. Uncommitted changes of a checkout are not detected.
    """
    try:
        found = probe_answer.read(one.run, one.probe)
        last = checkpoints.sum_of(trained_run.find(one.run).checkpoint)
    except HarnessError:  # `answer` will report it
        return False
    if found is None or found.against != probe_answer.BY_START or found.item_file is not None:
        return False
    asked = (found.users, found.repeats, found.items) == (one.users, one.repeats, one.items)
    is_ours = found.made_by.versions and not provenance.differences(found.made_by, now)
    return bool(asked and is_ours) and found.checkpoint == last
