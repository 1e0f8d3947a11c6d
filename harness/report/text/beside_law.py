"""--explain: the law on other rewards, what a null control explains, what was so at the onset."""

from __future__ import annotations

from harness.law.results import Bounded, Interval, RunResult
from harness.report.text import wording
from harness.report.text.wording import number

SAME_BATCH = "same batch, expected to fit"
"""Of an R measured on the batch that H was measured on."""
AT_ONSET = {
    "frac_reward_zero_std": "groups without variance",
    "distinct_2": "distinct word pairs",
    "strategy/entropy": "strategy entropy",
}


def other_laws(run: RunResult) -> str:
    """`On 'reward', same batch, expected to fit: a = 0.30 [0.29, 0.31], ..., law holds.`"""
    said = []
    for column, law in (run.fits or {}).items():
        label = f", {SAME_BATCH}" if law.same_batch else ""
        verdict = wording.VERDICT_WORDS.get(law.verdict, law.verdict)
        a, ceiling = _bounded(law.a), _bounded(law.ceiling)
        said.append(f"On {column!r}{label}: a = {a}, ceiling {ceiling}, {verdict}.")
    return " ".join(said)


def null_control(run: RunResult) -> str:
    """What is left of fall and gain beyond the null control; empty without one."""
    if run.net_of_null is None:
        return ""
    numbers = {"fall": run.net_of_null.fall, "gain": run.net_of_null.gain}
    net = ", ".join(f"{what} {wording.interval(value)}" for what, value in numbers.items() if value)
    beyond = f"; net of it: {net}" if net else ""
    if run.null_share is None:
        return f"H fell by no more than its noise, so a null control explains no share{beyond}."
    driven = ", more than half: noise driven" if run.noise_driven else ""
    share = wording.interval(run.null_share)
    return f"The null control explains {share} of the fall of H{driven}{beyond}."


def at_onset(run: RunResult) -> str:
    """Reward left and the columns around the onset, and whether the probe has one too."""
    if run.onset is None or run.at_onset is None:
        return ""
    left = run.at_onset.reward_left
    said = [f"reward left {_bounded(left)}"] if left else []
    known = {name: run.at_onset.columns.get(name) for name in AT_ONSET}
    said += [f"{AT_ONSET[name]} {number(v)}" for name, v in known.items() if v is not None]
    probe = f" On entropy/probe: {wording.onset(run.onset_probe)}." if run.onset_probe else ""
    return f"At the onset: {', '.join(said)}.{probe}" if said else probe.strip()


def silent(run: RunResult) -> str:
    """`; 0.71 [0.66, 0.76] of groups carried no signal`"""
    share = run.silent_share
    return f"; {wording.interval(share)} of groups carried no signal" if share else ""


def expected_reliability(run: RunResult) -> str:
    """What the logged standard errors of H say the ratio of the two a should be."""
    told = run.reliability_from_se
    return f" ({told:.2f} by the standard errors of H)" if told is not None else ""


def _bounded(given: Bounded | Interval | None) -> str:
    if given is None:
        return "unknown"
    if given.low is None or given.high is None:
        return f"{number(given.value)}, not identified"
    return wording.estimate(given.value, given.low, given.high)
