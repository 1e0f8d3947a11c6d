"""Read the probe answers in a run's folder as numbers that studies compare.

The number is the change from the start of the run to its last step, the effect of training. Between
runs with the same start, differences of changes equal differences of final values. An answer is
used only if the probe was asked as the link states, so that all runs are measured alike.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.errors import DataError
from harness.law.compare.comparison_basis import ComparisonBasis
from harness.law.compare.groups import Member
from harness.law.compare.replicates import Replicate
from harness.law.results import Interval
from harness.records import probe_answer
from harness.records.probe_answer import ProbeRecord
from harness.records.study_file import LinkProbe

NOT_ASKED = "the probe was not asked, or failed"
OTHERWISE = "the probe was asked differently from what is stated: {got} instead of {stated}"
NOT_LAST = "the probe was asked at step {asked}, but step {last} is compared"
NOT_MEASURED = "the probe measured no such change"


def change(probe: LinkProbe, name: str, member: Member, basis: ComparisonBasis) -> Interval | None:
    """Return the change of the reading `name` since the start of the run, with its interval over
    users or items. None if there is none; `why_not` gives the reason.
    """
    reading = _reading(probe, name, member.replicate, basis.until)
    return reading if isinstance(reading, Interval) else None


def why_not(probe: LinkProbe, name: str, run: Replicate, until: float | None = None) -> str | None:
    """Return a clause on why a run has no such number at `until`; None if it has one."""
    reading = _reading(probe, name, run, until)
    return reading if isinstance(reading, str) else None


def _reading(probe: LinkProbe, name: str, run: Replicate, until: float | None) -> Interval | str:
    try:
        answer = run.cached(("probe", probe.name), lambda: _read(run, probe.name))
    except DataError as error:
        return str(error)
    if answer is None:
        return NOT_ASKED
    last = run.last_step if until is None else min(until, run.last_step)
    if answer.step != last:
        return NOT_LAST.format(asked=answer.step, last=int(last))
    actual, stated = _settings_asked(answer), _settings_stated(probe)
    if actual != stated:
        key = next(key for key in stated if actual[key] != stated[key])
        return OTHERWISE.format(got=f"{key} {actual[key]}", stated=stated[key])
    measured = answer.changes.get((probe.level, name))
    return NOT_MEASURED if measured is None else Interval(*measured)


def _read(run: Replicate, probe: str) -> ProbeRecord | None:
    return None if run.folder is None else probe_answer.read(run.folder, probe)


def _settings_asked(answer: ProbeRecord) -> Mapping[str, object]:
    return {
        "against": answer.against, "users": answer.users, "repeats": answer.repeats,
        "items": answer.items, "item_file": answer.item_file,
    }  # fmt: skip


def _settings_stated(probe: LinkProbe) -> Mapping[str, object]:
    return {
        "against": probe_answer.BY_START, "users": probe.users, "repeats": probe.repeats,
        "items": probe.items, "item_file": None,
    }  # fmt: skip
