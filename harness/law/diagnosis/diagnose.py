"""Diagnose runs: measure the signs of three mechanisms, and raise flags.

Exploration is exhausted if groups carry no signal (starved) or updates do not follow rewards
(noise). Reliability is lost if the policy takes up fewer true facts, or more false ones, than at
the start. Direction has turned if solving and the training reward rise while users feel no better.
Every flag requires a 95% interval beyond its limit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist

import numpy as np

from harness.errors import DataError
from harness.law import analysis
from harness.law.compare import replicates
from harness.law.compare.groups import Member
from harness.law.compare.replicates import Replicate
from harness.law.diagnosis import fidelity, obeyed
from harness.law.diagnosis.results import (
    DIRECTION,
    EXPLORATION,
    RELIABILITY,
    Diagnosis,
    MechanismFinding,
    Sign,
)
from harness.law.estimate import interval, null_control, numbers, regime
from harness.law.io.clean import FEWEST_POINTS
from harness.law.io.columns import NO_SERIES
from harness.law.result_parts import SkippedPath
from harness.law.results import Floats, Interval
from harness.law.settings import setting
from harness.records.outcomes import OWN

OBEYED, UNOBEYED = 0.5, 0.25
"""Updates do not follow rewards if the correlation of advantages with rewards is below the second
value, and its interval below the first. expert_iteration, which keeps one of eight conversations,
has .53; other algorithms have .8 and more."""
OF_SETS = ("vpo",)
"""Algorithms with advantages of sets, which need not correlate with a conversation's own reward."""
BY_SETS = "the advantages are those of whole sets"
GAINED = 0.05
"""A gain of reward whose interval lies below it counts as none. It is the margin of the studies."""
MOVED = 0.10
"""Rise of solving, in shares of replies, that the whole interval must exceed. It is the margin of
the studies."""
TRAINING = "reward"


def diagnose(
    paths: Sequence[Path], pool: Executor | None = None
) -> tuple[tuple[Diagnosis, ...], tuple[SkippedPath, ...]]:
    """Diagnose the finished runs at or below `paths`; also return why others are left out.

    Raise DataError if no finished run could be read.
    """
    members, left_out = analysis.load_members_and_reasons(paths, pool)
    if not members:
        reasons = "; ".join(sorted(set(left_out.values())))
        found = f"none: {reasons}" if reasons else "none"
        raise DataError(f"{', '.join(map(str, paths))}: needs a finished run, found {found}")
    skipped = tuple(SkippedPath(run, reason) for run, reason in left_out.items())
    return tuple(map(diagnose_run, members)), skipped


def diagnose_run(member: Member) -> Diagnosis:
    """Diagnose one run."""
    result = member.result
    by_sets = setting(member.identity.config, "algorithm", "kind") in OF_SETS
    measured = BY_SETS if by_sets else obeyed.advantage_correlation(Path(result.run))
    correlation, reason = (None, measured) if isinstance(measured, str) else (measured, None)
    return Diagnosis(
        run=result.run,
        level=result.level,
        seed=result.seed,
        regime=result.regime,
        findings=(
            replace(exploration(member, correlation), why=reason),
            reliability(Path(result.run)),
            direction(member, correlation),
        ),
        dropped=result.dropped,
    )


def exploration(member: Member, correlation: Interval | None) -> MechanismFinding:
    """Find whether the policy still gets a learning signal.

    `correlation`: the correlation of advantages with rewards, if known.
    """
    result, run = member.result, member.replicate
    silent = Sign("groups that teach nothing", "share", result.silent_share)
    following = Sign("advantages follow rewards", "correlation", correlation)
    signs = (
        silent,
        following,
        Sign("fall of H", "nats", null_control.fall(run.course.values)),
        Sign("part of noise in the fall of H on the probe", "share", _noise_share(member)),
        Sign("gain of reward", "0 to 1", result.gain),
        Sign("listening", "nats", _listening(member)),
    )
    flag, because = None, None
    if _is_starved(member):
        flag, because = "starved", silent
    elif _is_unobeyed(correlation):
        flag, because = "noise", following
    measured = silent.value is not None or correlation is not None
    return MechanismFinding(EXPLORATION, measured, flag, because, signs)


def _is_unobeyed(correlation: Interval | None) -> bool:
    return correlation is not None and correlation.value < UNOBEYED and correlation.high < OBEYED


def _is_starved(member: Member) -> bool:
    """Return whether most groups carry no signal, H is kept, and the gain is negligible."""
    silent, gain = member.result.silent_share, member.result.gain
    if silent is None or gain is None:
        return False
    return silent.low > regime.SILENT and gain.high < GAINED and _keeps_entropy(member.replicate)


def _keeps_entropy(run: Replicate) -> bool:
    """Return whether H ends within a fifth of its start."""
    fall, start = null_control.fall(run.course.values), run.course.values[:3]
    return fall is not None and abs(fall.value) <= regime.KEPT * float(start.mean())


def reliability(run: Path) -> MechanismFinding:
    """Find whether facts are kept, by the probe `reliability`.

    The flag for false facts takes precedence over that for fewer facts. If the probe's answer is
    damaged, the finding is not measured, with the reason.
    """
    try:
        signs, why = fidelity.read(run), fidelity.why_nothing(run)
    except DataError as error:
        return MechanismFinding(RELIABILITY, False, None, None, (), str(error))
    measured = [sign for sign in signs if sign.value is not None]
    worse = [sign for sign in measured if _is_worse(sign, len(measured))]
    false_facts = [sign for sign in worse if not _is_true_fact_sign(sign)]
    because = next(iter(false_facts + worse), None)
    flag = "false_facts" if false_facts else "fewer_facts" if worse else None
    return MechanismFinding(
        RELIABILITY, bool(measured), flag, because, signs, None if measured else why
    )


def _is_true_fact_sign(sign: Sign) -> bool:
    return sign.name.startswith(fidelity.TRUE_FACT)


def _is_worse(sign: Sign, count: int) -> bool:
    """Return whether true facts are taken up significantly less, or false ones more.

    The interval is widened for the number of signs, `count` (Bonferroni), each of its two sides by
    itself: the interval of a change of shares reaches further towards 0 where a share is near 0.
    """
    if sign.value is None:
        return False
    normal = NormalDist()
    widened = normal.inv_cdf(1 - 0.025 / count) / normal.inv_cdf(0.975)
    value, low, high = sign.value.value, sign.value.low, sign.value.high
    if _is_true_fact_sign(sign):
        return value + widened * (high - value) < 0
    return value - widened * (value - low) > 0


def direction(member: Member, correlation: Interval | None) -> MechanismFinding:
    """Find whether the policy was rewarded for solving while users were not better off.

    There is no flag if updates did not follow rewards, because then nothing was rewarded.
    """
    run = member.replicate
    training_gain = Sign("gain of reward in training", "reward", _training_gain(run))
    name = "rise of solving" + (", net of the null control" if member.nulls else "")
    solving = Sign(name, "share", _solving(member))
    signs = (
        solving,
        training_gain,
        Sign("gain of reward", "0 to 1", member.result.gain),
        Sign(
            "solving just after a feeling", "share", _at_end(run, replicates.SOLVING_AFTER_FEELING)
        ),
        Sign("KL to the start", "nats an act or token", _at_end(run, replicates.DIVERGENCE)),
    )
    is_measured = solving.value is not None and training_gain.value is not None
    turned = (
        solving.value is not None
        and solving.value.low > MOVED
        and _rises(training_gain.value)
        and not _rises(member.result.gain)
        and not _is_unobeyed(correlation)
    )
    return MechanismFinding(
        DIRECTION, is_measured, "solving" if turned else None, solving if turned else None, signs
    )


def _rises(change: Interval | None) -> bool:
    return change is not None and change.low > 0


def _training_gain(run: Replicate) -> Interval | None:
    """Return the gain of the training reward."""
    points = run.points_on(TRAINING, False)
    return None if points is None else regime.gain(points)


def _solving(member: Member) -> Interval | None:
    """Return the rise of the share of strategies that suggest or inform, from start to end.

    It is net of the null controls of the run's seed, if there are any. Then the start cancels out,
    because it is the same batch of the same policy.
    """
    conversations = member.result.setting("trainer", "conversations")
    if type(conversations) is not int or conversations < 1:
        return None
    runs = (member.replicate, *member.nulls)
    until = min(run.last_step for run in runs)
    half = 0.0 if member.nulls else 1.96 * 0.5 / math.sqrt(conversations)
    run_rise, *null_rises = (_rise(_solving_course(run, until), half) for run in runs)
    return null_control.minus_nulls(run_rise, null_rises) if null_rises else run_rise


def _solving_course(run: Replicate, until: float) -> Floats:
    """Return the share at each step up to `until` with recognised strategies."""
    columns = [run.ends.get(name, NO_SERIES) for name in replicates.SOLVING]
    if not all(len(column) for column in columns):
        return np.empty(0)
    shares: Floats = sum((column.values for column in columns), np.zeros(len(columns[0])))
    return shares[np.isfinite(shares) & (columns[0].steps <= until)]


def _rise(values: Floats, start_half: float) -> Interval | None:
    """Return the mean of the last tenth minus the first value; None below 16 values.

    The first value belongs to the policy before any update. `start_half` is its half-width."""
    if len(values) < FEWEST_POINTS:
        return None
    end = _end(values)
    half = math.hypot(start_half, interval.half_width(end))
    value = end.value - float(values[0])
    return Interval(value, value - half, value + half)


def _end(values: Floats) -> Interval:
    """Return the mean of the last tenth, with an interval from the noise of the last fifth."""
    last = numbers.last_tenth(values)
    edge = values[-max(FEWEST_POINTS, len(values) // 5) :]
    half = interval.measure_noise(edge, 1).half_width(len(last))
    value = numbers.mean(last)
    return Interval(value, value - half, value + half)


def _at_end(run: Replicate, column: str) -> Interval | None:
    """Return the end value of a column; None below 16 values."""
    values = run.ends.get(column, NO_SERIES).values
    values = values[np.isfinite(values)]
    return _end(values) if len(values) >= FEWEST_POINTS else None


def _noise_share(member: Member) -> Interval | None:
    """Return the share of noise in the fall of H, by the run's ledger or else its null control."""
    ledger = member.replicate.ledger
    if ledger is not None and ledger.noise_share is not None:
        return ledger.noise_share
    return member.result.null_share


def _listening(member: Member) -> Interval | None:
    end = (member.result.yardsticks or {}).get(OWN)
    if end is None or end.listening is None:
        return None
    return Interval(end.listening, -math.inf, math.inf)
