"""--explain: how each number of a run was got, and why its verdict, in plain sentences."""

from __future__ import annotations

from harness.law import verdict
from harness.law.estimate import identifiability
from harness.law.results import RunResult
from harness.report.text import alternatives, beside_law, sentences, wording
from harness.report.text.wording import number, plural

ONSETS = {
    "terminal_fall": "where log H bends into a fall it does not recover from",
    "budget_spent": "where less than a tenth of exp(H) - 1 is left for good",
    "explosion": "where H begins to rise for good",
}
REGIMES = {
    "exploded": "H rose and stayed up",
    "starved": "H kept its level, R gained nothing, and most groups carried no signal",
    "collapsed": "H fell sharply and for good",
    "spent": "H wore down until hardly any was left",
    "learning": "R ended above its start, with an interval that excludes 0",
    "drifting": "none of the other regimes fits",
}


def of_run(run: RunResult) -> list[str]:
    """A few sentences on one run with status ok."""
    said = [_rows(run), _law(run), _ceiling(run), _least_squares(run), _onset(run), _regime(run)]
    said += [alternatives.rivals(run), alternatives.forecast(run), beside_law.other_laws(run)]
    said += [beside_law.at_onset(run), beside_law.null_control(run)]
    return [sentence for sentence in [*said, *_verdict(run)] if sentence]


def _rows(run: RunResult) -> str:
    out = f", after leaving out {sentences.counts(run)}" if run.dropped else ""
    worth = f", worth {run.n_eff:.0f} independent ones" if run.n_eff is not None else ""
    rows = plural(run.n_valid or 0, "row")
    label = f" ({beside_law.SAME_BATCH})" if run.same_batch else ""
    return f"{rows} with H from {run.entropy!r} and R from {run.reward!r}{label}{out}{worth}."


def _law(run: RunResult) -> str:
    if run.a is None or run.b is None:
        return "No law was fitted: exp(H) does not vary, or the points are too few."
    known = "identified" if run.identified and run.identified.a else "not identified"
    return (
        f"R = -a exp(H) + b through an instrument, the neighbouring time bins, since H is noisy: "
        f"a = {wording.interval(run.a)}, b = {wording.interval(run.b)}. The intervals allow for "
        f"autocorrelation. a is {known}: that asks for an interval within "
        f"{identifiability.LARGEST_RELATIVE_A:.0%} of a, and for an H that moves more than its "
        "noise."
    )


def _ceiling(run: RunResult) -> str:
    if run.ceiling is None:
        return ""
    known = "identified" if run.identified and run.identified.ceiling else "not identified"
    return (
        f"The ceiling b - a, the reward at H = 0, is {wording.interval(run.ceiling)}: {known}, "
        f"which asks for an interval within {number(identifiability.LARGEST_CEILING)}."
    )


def _least_squares(run: RunResult) -> str:
    if not run.ols:
        return ""
    share = f"; the ratio of the two a is {run.reliability:.2f}" if run.reliability else ""
    share += beside_law.expected_reliability(run) if run.reliability else ""
    return (
        f"Plain least squares gives a = {number(run.ols.a)}, b = {number(run.ols.b)} "
        f"(R2 {run.ols.r2:.2f}){share}."
    )


def _onset(run: RunResult) -> str:
    if run.onset is None and run.regime is None:
        return "No onset was found, which says nothing: the rows are too few to look for one."
    if run.onset is None:
        return "No onset: H neither fell for good nor spent its budget nor exploded."
    where = ONSETS.get(run.onset.kind, "")
    return f"Onset: {wording.onset(run.onset)}, {where}."


def _regime(run: RunResult) -> str:
    if run.regime is None:
        return ""
    gained = f"; R gained {wording.interval(run.gain)}" if run.gain is not None else ""
    return f"Regime {run.regime}: {REGIMES.get(run.regime, '')}{gained}{beside_law.silent(run)}."


def _verdict(run: RunResult) -> list[str]:
    word = wording.VERDICT_WORDS.get(run.verdict or "", wording.plain(run.verdict or "none"))
    if not run.reasons:
        skill = run.out_of_time_skill
        told = f", and its first part predicts the rest (skill {skill:.2f})" if skill else ""
        return [f"Verdict: {word}, since the interval of a lies above 0{told}."]
    because = "; ".join(
        f"{wording.plain(reason)}: {verdict.REASONS.get(reason, '')}" for reason in run.reasons
    )
    return [f"Verdict: {word}{_before_onset(run)}.", f"  {because}{_measured_skill(run)}."]


def _before_onset(run: RunResult) -> str:
    """The law that holds until the onset: the one above is of the whole run."""
    law = run.until_onset
    if law is None or law.a is None or law.ceiling is None:
        return ""
    a, ceiling = (
        wording.interval(number) + ("" if identified else " (not identified)")
        for number, identified in (
            (law.a, law.identified.a),
            (law.ceiling, law.identified.ceiling),
        )
    )
    return f": a = {a}, ceiling {ceiling} from the rows before it"


def _measured_skill(run: RunResult) -> str:
    """What stands behind `not_validated_out_of_time`; the rivals' split is another one."""
    skill = run.out_of_time_skill
    if "not_validated_out_of_time" not in (run.reasons or ()) or skill is None:
        return ""
    return f" (skill {skill:.2f}, where 0 is the last value's; the better of two splits)"
