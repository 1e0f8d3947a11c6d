"""Sentences of --explain: how each number of a run was computed, and why it has its verdict."""

from __future__ import annotations

from harness.law.estimate import identifiability
from harness.law.reasons import REASONS
from harness.law.results import BoundedEstimate, Interval, RunResult
from harness.records.outcomes import OWN
from harness.report.text import alternatives, dropped_rows, wording
from harness.report.text.wording import number, plural

ONSETS = {
    "terminal_fall": "where log H bends into a fall from which H does not recover",
    "budget_spent": "where exp(H) - 1 falls below a tenth of its start and stays there",
    "explosion": "where H begins to rise and does not come back",
}
REGIMES = {
    "exploded": "H rose and stayed up",
    "starved": "H kept its level, R gained nothing, and most groups carried no signal",
    "collapsed": "H fell sharply and did not recover",
    "spent": "H fell slowly until hardly any was left",
    "learning": "R ended above its start, with an interval that excludes 0",
    "drifting": "none of the other regimes fits",
}

POLICIES = {
    "listens": "listens",
    "template": "template (diverse and deaf: H ends above half of its start, but listening is "
    "below a tenth of the attentive reference's)",
    "deaf": "deaf (listening is below a tenth of the attentive reference's)",
}


def explain_run(run: RunResult) -> list[str]:
    """Return a few sentences on a run with status ok."""
    sentences = [_rows(run), _law(run), _ceiling(run), _over_forms(run)]
    sentences += [_least_squares(run)]
    sentences += [_onset(run), _regime(run)]
    sentences += [alternatives.rivals(run), alternatives.forecast(run), other_laws(run)]
    sentences += [stages(run)]
    sentences += [at_onset(run), null_control(run), _policy(run)]
    return [sentence for sentence in [*sentences, *_verdict(run)] if sentence]


def _rows(run: RunResult) -> str:
    omitted = f", after leaving out {dropped_rows.counts(run)}" if run.dropped else ""
    worth = f", equivalent to {run.n_eff:.0f} independent rows" if run.n_eff is not None else ""
    rows = plural(run.n_valid or 0, "row")
    label = f" ({SAME_BATCH})" if run.same_batch else ""
    columns = f"{rows} with H from {run.entropy!r} and R from {run.reward!r}{label}{omitted}"
    if run.until is None:
        return f"{columns}{worth}."
    return f"{columns}. The law is fitted to the {run.n_fitted} rows before the onset{worth}."


def _law(run: RunResult) -> str:
    if run.a is None or run.b is None:
        return "No law was fitted: exp(H) does not vary, or there are too few points."
    identified = "identified" if run.identified and run.identified.a else "not identified"
    fitted = (
        f"R = -a exp(H) + b, fitted with neighbouring time bins as an instrument, since H is "
        f"noisy: a = {wording.interval(run.a)}, b = {wording.interval(run.b)}. The intervals allow "
        "for autocorrelation."
    )
    if run.verdict == "fails":
        return f"{fitted} a is not identified, since the law fails."
    return (
        f"{fitted} a is {identified} (criteria: an interval within "
        f"{identifiability.LARGEST_RELATIVE_A:.0%} of a, and an H that moves more than its noise)."
    )


def _ceiling(run: RunResult) -> str:
    if run.ceiling is None:
        return ""
    identified = "identified" if run.identified and run.identified.ceiling else "not identified"
    sentence = f"The ceiling b - a, the reward at H = 0, is {wording.interval(run.ceiling)}"
    if run.verdict == "fails":
        return f"{sentence}: not identified, since the law fails."
    criterion = (
        f"within {number(identifiability.LARGEST_CEILING)} of the reward's standard deviation"
    )
    return f"{sentence}: {identified} (criteria: an interval {criterion}, and a known form)."


def _over_forms(run: RunResult) -> str:
    """Return the ceiling averaged over the curves in H that AICc cannot distinguish."""
    ceiling = run.ceiling_over_forms
    if ceiling is None:
        return ""
    value = wording.estimate(ceiling.value, ceiling.low, ceiling.high)
    curves = ", ".join(
        f"{alternatives.RIVALS.get(name, 'exp(H)')} {weight:.0%}"
        for name, weight in ceiling.weights.items()
    )
    bound = ", at the bound of the reward's range" if ceiling.at_bound else ""
    distance = f"H = 0 lies {number(ceiling.beyond_nats)} nats below the lowest H seen"
    return (
        f"Averaged over the curves that AICc cannot distinguish ({curves}), the ceiling is "
        f"{value}{bound}. {distance}."
    )


def _least_squares(run: RunResult) -> str:
    if not run.ols:
        return ""
    share = f"; this a divided by the a above is {run.reliability:.2f}" if run.reliability else ""
    share += expected_reliability(run) if run.reliability else ""
    return (
        f"Plain least squares gives a = {number(run.ols.a)}, b = {number(run.ols.b)} "
        f"(R2 {run.ols.r2:.2f}){share}."
    )


def _onset(run: RunResult) -> str:
    if run.onset is None and run.regime is None:
        return "The onset is unknown: there are too few rows to look for one."
    if run.onset is None:
        return "No onset: H did not collapse, was not spent and did not explode."
    description = ONSETS.get(run.onset.kind, "")
    return f"Onset: {wording.onset_words(run.onset)}, {description}."


def _regime(run: RunResult) -> str:
    if run.regime is None:
        return ""
    gain_text = f"; R gained {wording.interval(run.gain)}" if run.gain is not None else ""
    return f"Regime {run.regime}: {REGIMES.get(run.regime, '')}{gain_text}{silent_share(run)}."


def _policy(run: RunResult) -> str:
    """Return the policy's verdict, listening and rewards at the end; empty if not measured."""
    end = (run.yardsticks or {}).get(OWN)
    if end is None or end.listening is None:
        return ""
    reference = end.anchors.attentive_listening
    reference_text = f" (attentive reference: {number(reference)})" if reference is not None else ""
    word = POLICIES.get(run.policy_verdict or "", "unknown, since the level's card has no anchors")
    parts = [
        f"reward {number(end.reward)}" if end.reward is not None else "",
        f"deaf reward {number(end.deaf_reward)}" if end.deaf_reward is not None else "",
        f"best deaf schedule {number(end.anchors.deaf.value)}" if end.anchors.deaf else "",
        f"listening share {number(end.share)}" if end.share is not None else "",
    ]
    rewards = ", ".join(part for part in parts if part)
    return f"Policy: {word}. Listening {number(end.listening)} nats{reference_text}; {rewards}."


def _verdict(run: RunResult) -> list[str]:
    word = wording.VERDICT_WORDS.get(
        run.verdict or "", wording.without_underscores(run.verdict or "none")
    )
    if not run.reasons:
        skill = run.out_of_time_skill
        predicts = f", and the first part predicts the rest (skill {skill:.2f})" if skill else ""
        return [f"Verdict: {word}, since the interval of a lies above 0{predicts}."]
    reasons = "; ".join(
        f"{wording.without_underscores(reason)}: {REASONS.get(reason, '')}"
        for reason in run.reasons
    )
    return [f"Verdict: {word}{_before_onset(run)}.", f"  {reasons}{_measured_skill(run)}."]


def _before_onset(run: RunResult) -> str:
    """Return the law of the whole run, if the law above was fitted to the rows before the onset."""
    law = run.whole_run
    if law is None or law.a is None or law.ceiling is None:
        return ""
    a, ceiling = (wording.interval(number) for number in (law.a, law.ceiling))
    return f": the numbers above are of those rows (whole run: a = {a}, ceiling {ceiling})"


def _measured_skill(run: RunResult) -> str:
    """Return the skill behind `not_validated_out_of_time`. The rivals' errors use another split."""
    skill = run.out_of_time_skill
    if "not_validated_out_of_time" not in (run.reasons or ()) or skill is None:
        return ""
    return f" (skill {skill:.2f}; the last value has skill 0; better of two splits)"


SAME_BATCH = "same batch, expected to fit"
"""The label of an R measured on the batch that H was measured on."""
AT_ONSET = {
    "frac_reward_zero_std": "groups without variance",
    "distinct_2": "distinct word pairs",
    "strategy/entropy": "strategy entropy",
}


def other_laws(run: RunResult) -> str:
    """Return `On 'reward', same batch, expected to fit: a = 0.30 [0.29, 0.31], ..., law holds.`"""
    sentences = []
    for column, law in (run.fits or {}).items():
        label = f", {SAME_BATCH}" if law.same_batch else ""
        verdict = wording.VERDICT_WORDS.get(law.verdict, law.verdict)
        a, ceiling = _bounded(law.a), _bounded(law.ceiling)
        sentences.append(f"On {column!r}{label}: a = {a}, ceiling {ceiling}, {verdict}.")
    return " ".join(sentences)


def stages(run: RunResult) -> str:
    """Return `Training reward by stage of the users: steps 1 to 100 (easy 1.00): a = ...`."""
    if not run.stages:
        return ""
    parts = []
    for stage in run.stages:
        users = ", ".join(
            f"{column.rpartition('/')[2].replace('_', ' ')} {number(value)}"
            for column, value in stage.what.items()
            if value
        )
        steps_text = (
            f"steps {stage.from_step:.0f} to {stage.to_step:.0f}{f' ({users})' if users else ''}"
        )
        verdict = wording.VERDICT_WORDS.get(stage.verdict, stage.verdict)
        a, ceiling = _bounded(stage.a), _bounded(stage.ceiling)
        parts.append(f"{steps_text}: a = {a}, ceiling {ceiling}, {verdict}")
    comparison = {"common": "The stages may share one a", "separate": "The stages differ in a"}.get(
        run.stages_a or ""
    )
    p = (
        f" {comparison} (p = {run.stages_a_p:.2g})."
        if comparison and run.stages_a_p is not None
        else ""
    )
    return f"Training reward by stage of the users: {'; '.join(parts)}.{p}"


def null_control(run: RunResult) -> str:
    """Return the fall of H and the gain net of the null control; empty without one."""
    if run.net_of_null is None:
        return ""
    numbers = {"fall": run.net_of_null.fall, "gain": run.net_of_null.gain}
    net = ", ".join(f"{name} {wording.interval(value)}" for name, value in numbers.items() if value)
    net_text = f"; net of the null control: {net}" if net else ""
    if run.null_share is None:
        return (
            f"H fell by no more than its noise, so the null control's share is undefined{net_text}."
        )
    noise_text = " (more than half: noise driven)" if run.noise_driven else ""
    share = wording.interval(run.null_share)
    return f"The null control explains {share} of the fall of H{noise_text}{net_text}."


def at_onset(run: RunResult) -> str:
    """Return the reward left and some columns at the onset, and the onset of H on the probe."""
    if run.onset is None or run.at_onset is None:
        return ""
    reward_left = run.at_onset.reward_left
    parts = [f"remaining reward {_bounded(reward_left)}"] if reward_left else []
    columns = {name: run.at_onset.columns.get(name) for name in AT_ONSET}
    parts += [f"{AT_ONSET[name]} {number(v)}" for name, v in columns.items() if v is not None]
    probe = f" On entropy/probe: {wording.onset_words(run.onset_probe)}." if run.onset_probe else ""
    return f"At the onset: {', '.join(parts)}.{probe}" if parts else probe.strip()


def silent_share(run: RunResult) -> str:
    """Return `; 0.71 [0.66, 0.76] of groups carried no signal`."""
    share = run.silent_share
    return f"; {wording.interval(share)} of groups carried no signal" if share else ""


def expected_reliability(run: RunResult) -> str:
    """Return the ratio of the two a that the logged standard errors of H predict."""
    expected = run.reliability_from_se
    return (
        f" ({expected:.2f} is expected from the standard errors of H)"
        if expected is not None
        else ""
    )


def _bounded(estimate: BoundedEstimate | Interval | None) -> str:
    if estimate is None:
        return "unknown"
    if estimate.low is None or estimate.high is None:
        return f"{number(estimate.value)}, not identified"
    return wording.estimate(estimate.value, estimate.low, estimate.high)
