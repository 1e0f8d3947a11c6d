"""Compares the strategies that the scripted user recognises with the annotation of ESConv.

ESConv (Liu et al., ACL 2021, arXiv 2106.01144) is CC BY-NC, so users supply the file and none of it
is stored. A line is a conversation so far, with turns separated by ` EOS `. A turn is
`WEIGHT SPEAKER TURN TEXT`; speaker 1 is the supporter, whose text begins with `[Strategy]`. Turns
repeat over lines, so each pair of strategy and text counts once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.calibration.interval import RESAMPLES, ConfidenceInterval, mean, share
from harness.config.run import STRATEGIES
from harness.errors import DataError
from harness.records import plain_file
from harness.simulator.scripted import language_guard
from harness.simulator.scripted.sentence_reader import LEXICAL, SentenceReader, recognise
from harness.simulator.scripted.words import sentences

LABELS = {
    "Questions": "question",
    "Restatement or Paraphrasing": "restate",
    "Reflection of feelings": "reflect",
    "Self-disclosure": "disclose",
    "Affirmation and Reassurance": "affirm",
    "Providing Suggestions": "suggest",
    "Information": "inform",
    "Other": "other",
    "Others": "other",
}
"""Strategy of each label of the annotation."""
_TURN = re.compile(r"[\d.]+ ([01]) \d+(?: (.*))?", re.DOTALL)
_SUPPORTER = re.compile(r"\[([^\]]+)\]\s*(.*)", re.DOTALL)
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class StrategyAgreement:
    """Results for the utterances annotated with one strategy."""

    n: int
    agreement: ConfidenceInterval | None
    """Share in which that strategy is recognised."""
    unheard: ConfidenceInterval | None
    """Share in which no strategy is recognised."""


@dataclass(frozen=True)
class RecognitionAgreement:
    """Agreement of the recognised strategies of real utterances with their annotation."""

    n: int
    """Number of distinct pairs of strategy and text."""
    agreement: ConfidenceInterval | None
    """Share whose annotated strategy is recognised."""
    heard_per_utterance: ConfidenceInterval | None
    kappa: ConfidenceInterval | None
    """Cohen's kappa of the last recognised strategy and the annotation. None recognised is a label
    of its own; utterances annotated as Others are left out."""
    unheard: ConfidenceInterval | None
    not_language: ConfidenceInterval | None
    """Share that the user would not take as language."""
    by_strategy: dict[str, StrategyAgreement]
    reader: str

    def to_json(self) -> dict[str, object]:
        """Return the content of esconv.json."""
        return asdict(self)


def utterances(path: Path) -> list[tuple[str, str]]:
    """Return the distinct pairs of strategy and text of supporters' utterances, in file order.

    Raises DataError for a file of another format.
    """
    pairs: dict[tuple[str, str], None] = {}
    for number, line in enumerate(plain_file.text(path).split("\n"), start=1):
        for turn in filter(None, (part.strip() for part in line.split(" EOS "))):
            match = _TURN.fullmatch(turn.removesuffix(" EOS"))
            supporter = _SUPPORTER.fullmatch(match[2] or "") if match and match[1] == "1" else None
            if match is None or (
                match[1] == "1" and (supporter is None or supporter[1] not in LABELS)
            ):
                rule = "a turn must be WEIGHT SPEAKER TURN TEXT, a supporter's with [Strategy]"
                raise DataError(f"{path}:{number}: {rule}, got {turn!r:.80}")
            if supporter is not None and supporter[2].strip():
                pairs[LABELS[supporter[1]], supporter[2].strip()] = None
    if not pairs:
        raise DataError(f"{path}: must hold utterances of supporters, got none")
    return list(pairs)


def measure(
    annotated: Sequence[tuple[str, str]], reader: SentenceReader = LEXICAL
) -> RecognitionAgreement:
    """Compare the strategies recognised in each text with its annotated strategy."""
    reader.hear([sentence for _, text in annotated for sentence in sentences(text)])  # one batch
    heard = [recognise(text, reader) for _, text in annotated]
    agrees = [label in recognised for (label, _), recognised in zip(annotated, heard, strict=True)]
    silent = [not recognised for recognised in heard]
    by_label = {name: [index for index, (label, _) in enumerate(annotated) if label == name]
                for name in STRATEGIES}  # fmt: skip
    judged = [index for index, (label, _) in enumerate(annotated) if label != "other"]
    annotation = np.array([STRATEGIES.index(annotated[index][0]) for index in judged], np.int64)
    last = [
        STRATEGIES.index(heard[index][-1]) if heard[index] else len(STRATEGIES) for index in judged
    ]
    return RecognitionAgreement(
        n=len(annotated),
        agreement=share(agrees),
        heard_per_utterance=mean([len(recognised) for recognised in heard]),
        kappa=_kappa_interval(annotation, np.array(last, np.int64)),
        unheard=share(silent),
        not_language=share([language_guard.fault(text) is not None for _, text in annotated]),
        by_strategy={
            name: StrategyAgreement(
                len(indices),
                share([agrees[index] for index in indices]),
                share([silent[index] for index in indices]),
            )
            for name, indices in by_label.items()
        },
        reader=reader.name,
    )


def kappa(first: Codes, second: Codes) -> float:
    """Return Cohen's kappa of two labellings, shape (n,), with labels 0 to len(STRATEGIES)."""
    labels = len(STRATEGIES) + 1
    table = np.zeros((labels, labels))
    np.add.at(table, (first, second), 1 / len(first))
    by_chance = float((table.sum(axis=1) * table.sum(axis=0)).sum())
    return (float(np.trace(table)) - by_chance) / (1 - by_chance) if by_chance < 1 else float("nan")


def _kappa_interval(first: Codes, second: Codes) -> ConfidenceInterval | None:
    """Return kappa with a bootstrap interval over utterances; None for fewer than two."""
    if len(first) < 2 or not np.isfinite(value := kappa(first, second)):
        return None
    rng = np.random.default_rng(0)
    samples = rng.integers(0, len(first), (RESAMPLES, len(first)))
    resampled = [kappa(first[sample], second[sample]) for sample in samples]
    low, high = np.nanquantile(resampled, [0.025, 0.975])
    return ConfidenceInterval(value, float(low), float(high))
