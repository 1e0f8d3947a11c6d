"""The sections of a model card: results, law, difficulty, measurement, a conversation, settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.config import keys
from harness.export import markdown
from harness.export.measured import ExportedResults
from harness.export.source import Source
from harness.law.reasons import REASONS
from harness.law.result_parts import AnchorRewards
from harness.law.results import BoundedEstimate, Interval
from harness.records.outcomes import OWN
from harness.report.html import cards
from harness.report.tables.typeset import in_markdown
from harness.report.text import conversation, wording

LEFT_OUT = ("policy.system_prompt", "trainer.report_to")
"""Settings that the card shows elsewhere or that are useless to others. Settings with locations on
the training machine are omitted too.
"""
LEVELS = "levels."
OF_A_ROW = (
    ("entropy H, nats", "entropy"),
    ("its standard error", "entropy_se"),
    ("reward R of the batch", "reward"),
    ("KL from the start model, estimated, nats", "kl"),
)
EVALUATED_LEVELS = {
    "own level": "eval", "easy": "eval/easy", "medium": "eval/medium", "hard": "eval/hard",
}  # fmt: skip
"""Name of the users -> beginning of their columns."""
OF_AN_EVALUATION = {
    "reward": "reward",
    "standard error": "reward_se",
    "on another user's words": "deaf_reward",
    "listening, nats": "listening",
    "share of listening": "listening_share",
}
"""Heading -> end of the column."""


def results(measured: ExportedResults) -> Iterator[str]:
    row, evaluated = measured.row, measured.evaluated
    if not row:
        yield "## Results\n\nNo row of the run could be read.\n"
        return
    yield f"## Results\n\nMeasured at step {row['step']}, before that step's update:\n"
    yield markdown.table(
        *((name, row.get(key)) for name, key in OF_A_ROW), headings=("quantity", "value")
    )
    if not evaluated:
        yield "There was no evaluation with held-out users.\n"
        return
    yield f"Held-out users at step {evaluated['step']}, final emotion / 100:\n"
    yield markdown.table(
        *(
            (name, *(evaluated.get(f"{users}/{column}") for column in OF_AN_EVALUATION.values()))
            for name, users in EVALUATED_LEVELS.items()
            if evaluated.get(f"{users}/reward") is not None
        ),
        headings=("users", *OF_AN_EVALUATION),
    )


def law(source: Source, law: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the section about the verdict on R = -a exp(H) + b, if the run was fitted."""
    if law is None:
        return
    word = str(law.get("verdict"))
    verdict = in_markdown(wording.VERDICT_WORDS.get(word, word))
    note = f"The run was fitted whole; this is step {source.checkpoint.step} of it."
    yield f"## Entropy law\n\nVerdict: {verdict}. {note}\n"
    reasons = [str(reason) for reason in law.get("reasons") or ()]
    yield "".join(f"* {in_markdown(_explain_reason(reason))}\n" for reason in reasons)
    identified = law.get("identified") or {}
    onset = law.get("onset") or {}
    no_onset = "none" if law.get("regime") else "unknown: too few rows"
    rows = [
        ("R is", law.get("reward")),
        ("rows fitted", law.get("n_fitted")),
        ("a", _estimate(law.get("a"), identified.get("a"))),
        ("b", _estimate(law.get("b"), identified.get("ceiling"))),
        ("ceiling b - a", _estimate(law.get("ceiling"), identified.get("ceiling"))),
        ("regime", wording.without_underscores(str(law.get("regime") or "not told"))),
        ("onset", _estimate({**onset, "value": onset.get("step")}, True) if onset else no_onset),
    ]
    yield markdown.table(*rows, headings=("of the law", "value"))


def _explain_reason(reason: str) -> str:
    explanation = REASONS.get(reason)
    return f"{wording.without_underscores(reason)}{f': {explanation}' if explanation else ''}"


def _estimate(interval: Any, identified: Any) -> str:
    text = cards.value(interval) if isinstance(interval, Mapping) else "-"
    return text if identified or text == "-" else f"{text}, not identified"


def difficulty(source: Source, measured: ExportedResults) -> Iterator[str]:
    """Yield the section about difficulty: the users' settings and reference policies' rewards."""
    level = source.config.difficulty
    yield f"## Difficulty card\n\nThe level {in_markdown(level.name)}:\n"
    part: Any = type(level)
    settings = keys.own_keys(part, "difficulty")
    values = {key.name: keys.value_at(source.config, key.name) for key in settings}
    rows = [(name, cards.exact(value) or None) for name, value in values.items()]
    figures = [
        *rows,
        *(
            (wording.without_underscores(k), _format_value(v))
            for k, v in (measured.cards.measures or {}).items()
        ),
    ]
    yield markdown.table(*figures, headings=("of the level", "value"))
    anchors = measured.cards.anchors
    if anchors:
        yield "What reference policies reach, as final emotion / 100, and hear, in nats:\n"
        yield markdown.table(
            *(_anchors(name, rewards) for name, rewards in anchors.items()),
            headings=(
                *("users", "random", "best deaf schedule", "attentive", "optimum"),
                "listening of attentive",
            ),
        )


def _anchors(name: str, rewards: AnchorRewards) -> tuple[str, ...]:
    values = (rewards.random, rewards.deaf, rewards.attentive, rewards.optimum)
    heard = rewards.attentive_listening
    return (
        "own level" if name == OWN else name,
        *map(_format_value, values),
        "-" if heard is None else wording.number(heard),
    )


def _format_value(value: Interval | BoundedEstimate | None) -> str:
    if value is None:
        return "-"
    if value.low is None or value.high is None:
        return wording.number(value.value)
    return wording.estimate(value.value, value.low, value.high)


def measurement(source: Source) -> Iterator[str]:
    """Yield the section about the measurement of H and R."""
    yield "## Measurement card\n"
    pairs = cards.pairs(source.status.measurement)
    yield markdown.table(*((p.name, p.value) for p in pairs), headings=("of H and R", "is"))


def example(measured: ExportedResults) -> Iterator[str]:
    saved = measured.conversation
    if saved is None:
        return
    yield f"## A conversation\n\nThe middle one of step {saved.step} by reward.\n"
    intention = f"came for {conversation.intention(saved.intention)}" if saved.intention else ""
    yield f"{in_markdown(intention)}\n" if intention else ""
    yield "".join(
        markdown.quote("user" if not turn.is_reply else "supporter", turn.text)
        for turn in saved.turns
    )


def settings(source: Source) -> Iterator[str]:
    yield "## Settings\n\nEvery key of the config that the run used:\n"
    used = keys.used_values(source.config)
    shown = {
        k: v
        for k, v in used.items()
        if k not in LEFT_OUT and not k.startswith(LEVELS) and not keys.names_location(k, v)
    }
    yield markdown.table(
        *((k, cards.exact(v)) for k, v in shown.items()), headings=("key", "value")
    )
