"""Reads the conversations that a run has saved in conversations/*.parquet.

Files of this and older versions are read; those of a newer version are refused. Values that an
older version did not store are None, and `SavedStep.lacks` names them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from harness.records import conversation_columns

FOLDER = "conversations"
STEP_FILE = re.compile(r"step-(\d{5,})\.parquet")
EMOTIONS = range(101)
"""Valid emotions."""


@dataclass(frozen=True, slots=True)
class SavedReasons:
    """Why the user's emotion changed: their appraisal of the reply."""

    effects: Mapping[str, float]
    """Part of the appraisal -> its effect, in `unit`. Parts without effect are left out."""
    unit: str | None
    """log_odds of a rise, the sum of the effects, or points of emotion; None without effects."""
    rise_probability: float | None = None
    """Probability of a rise in emotion; whether it rose was drawn with it."""
    reason: str | None = None
    """Explanation by the model that plays a served user."""
    fit: str | None = None
    """That model's judgement of how well the reply fits the user's intention."""
    not_language: str | None = None
    """The rule by which the user took the reply for not being language."""
    fault: str | None = None
    """Why the simulator failed, which ends the conversation as failed."""


@dataclass(frozen=True, slots=True)
class SavedTurn:
    """One utterance: a reply of the supporter, or a turn of the user."""

    number: int
    """The policy's reply n and the user's answer to it share n; the user's turn before reply 1 is
    0. Earlier turns count down from there: the reference's last reply is 0, the one before -1."""
    speaker: str
    """user, policy, or reference (the supporter before the policy took over)."""
    text: str
    strategies: tuple[str, ...] | None = None
    """Replies only: the strategies that the user recognised, in order."""
    taken_up: tuple[str, ...] | None = None
    """Replies only: the parts of the user's account that the reply took up, as sentences in the
    user's words and names of feelings; None if the simulator does not report them."""
    is_cut: bool | None = None
    """Replies only: whether the token limit ended the reply."""
    entropy_nats: float | None = None
    """The policy's replies only: mean entropy of the tokens (acts, for tabular)."""
    advantage: float | None = None
    start_nll: float | None = None
    """Replies only: mean negative log-likelihood per token, in nats, under the start policy."""
    start_z: float | None = None
    """Replies only: surprise under the start policy beyond what its own replies would have, in
    standard deviations."""
    emotion: int | None = None
    """The user's emotion after this turn, 0-100; 0 if the user left."""
    change: int | None = None
    """Effect of the reply on the emotion, before the emotion of a user who left is set to 0; None
    at the opening."""
    reported_emotion: float | None = None
    """The emotion as reported to the trainer, with reward noise; None if the simulator failed."""
    ended: str | None = None
    """success, left, cap or failed, on the user's last turn."""
    why: SavedReasons | None = None
    """User turns only: causes of the change; None at the opening and if they were not stored."""

    @property
    def is_reply(self) -> bool:
        """Whether the supporter speaks: the policy, or the reference before the takeover."""
        return self.speaker != "user"


@dataclass(frozen=True, slots=True)
class SavedConversation:
    """One conversation of a step's batch."""

    step: int
    group: int
    """Conversations of one group share the user and the opening."""
    sample: int
    level: str | None
    """Name of the difficulty."""
    persona: str | None
    """Name of the user's persona, or the id of a user from simulator.profiles."""
    topic: str | None
    """The user's topic in their own words: `my exam`."""
    voice: str | None
    """How the user speaks: plain, short or careful."""
    temperament: str | None
    intention: str | None
    """The user's hidden intention."""
    path: str | None
    """One of difficulty.paths: how the user tests the supporter; None if they do not."""
    reward: float | None
    """The conversation's reward, under the run's reward mode; None if the conversation failed."""
    turns: tuple[SavedTurn, ...]

    @property
    def name(self) -> str:
        """Step, group and sample: unique in a run."""
        return f"{self.step}.{self.group}.{self.sample}"

    @property
    def emotions(self) -> tuple[int, ...]:
        """The user's emotions from the opening on, one per turn of the user."""
        return tuple(t.emotion for t in self.turns if not t.is_reply and t.emotion is not None)

    @property
    def entropies_nats(self) -> tuple[float | None, ...]:
        """Mean entropy of each of the policy's replies."""
        return tuple(turn.entropy_nats for turn in self.turns if turn.speaker == "policy")

    @property
    def replies(self) -> tuple[SavedTurn, ...]:
        """The policy's replies."""
        return tuple(turn for turn in self.turns if turn.speaker == "policy")

    @property
    def score(self) -> float | None:
        """The reward, or if it was not stored, the last emotion / 100; None if the conversation
        failed.
        """
        if self.ended == "failed":
            return None
        if self.reward is not None:
            return self.reward
        return self.emotions[-1] / 100 if self.emotions else None

    @property
    def ended(self) -> str | None:
        """success, left, cap or failed."""
        return next((turn.ended for turn in reversed(self.turns) if turn.ended), None)


@dataclass(frozen=True, slots=True)
class SavedStep:
    """The conversations in one step's file."""

    path: Path
    step: int
    schema: int
    """Version of the file: 1 for files that do not state one."""
    conversations: tuple[SavedConversation, ...]
    lacks: tuple[str, ...]
    """Fields that the file lacks. They are None in every conversation."""

    @property
    def note(self) -> str | None:
        """Sentence about the fields that the file lacks; None if it lacks none."""
        if not self.lacks:
            return None
        return f"written by an older version, which did not keep {', '.join(self.lacks)}"


def steps(run: Path) -> tuple[int, ...]:
    """Return the steps whose conversations are saved so far, in order."""
    matches = (STEP_FILE.fullmatch(path.name) for path in (run / FOLDER).glob("step-*.parquet"))
    return tuple(sorted(int(match[1]) for match in matches if match))


def read(run: Path, step: int) -> SavedStep:
    """Read the conversations of one step of a run folder.

    Raises DataError for a file that is missing or damaged, VersionError for one of a newer version.
    """
    return read_file(path_of(run, step))


def path_of(run: Path, step: int) -> Path:
    """Return the path of a step's conversations in a run folder, whether or not they are saved."""
    return run / FOLDER / f"step-{step:05d}.parquet"


def read_file(path: Path) -> SavedStep:
    """`read` for a file outside a run folder. `step` is 0 if the name does not say it."""
    table, schema, lacks = conversation_columns.read(path)
    match = STEP_FILE.fullmatch(path.name)
    step = int(match[1]) if match else 0
    with conversation_columns.as_written(path):
        conversations = tuple(_conversations(step, table.to_pylist()))
    return SavedStep(path, step, schema, conversations, lacks)


def _conversations(step: int, rows: Sequence[Mapping[str, Any]]) -> Iterator[SavedConversation]:
    for (group, sample), turns in groupby(rows, lambda row: (row["group"], row["sample"])):
        turn_rows = list(turns)
        first = turn_rows[0]
        yield SavedConversation(
            step=step,
            group=group,
            sample=sample,
            level=first["level"],
            persona=first["persona"],
            topic=first["topic"],
            voice=first["voice"],
            temperament=first["temperament"],
            intention=first["intention"],
            path=first["path"],
            reward=_finite(first["reward"]),
            turns=tuple(map(_turn, turn_rows)),
        )


def _turn(row: Mapping[str, Any]) -> SavedTurn:
    return SavedTurn(
        number=row["turn"],
        speaker=row["speaker"],
        text=row["text"],
        strategies=_texts(row["strategies"]),
        taken_up=_texts(row["taken_up"]),
        is_cut=row["is_cut"],
        entropy_nats=_finite(row["entropy_nats"]),
        advantage=_finite(row["advantage"]),
        start_nll=_finite(row["start_nll"]),
        start_z=_finite(row["start_z"]),
        emotion=_emotion(row["emotion_after"]),
        change=row["change"],
        reported_emotion=_finite(row["reported_emotion"]),
        ended=row["ended"],
        why=None if row["why"] is None else _why(row),
    )


def _finite(value: float | None) -> float | None:
    """Return the value, or None if it is not finite, as in files of older versions."""
    return value if value is not None and math.isfinite(value) else None


def _emotion(value: int | None) -> int | None:
    if value is not None and value not in EMOTIONS:
        raise ValueError(f"emotion_after must lie from 0 to 100, got {value}")
    return value


def _texts(values: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)


def _why(row: Mapping[str, Any]) -> SavedReasons:
    return SavedReasons(
        effects={
            part["part"]: part["effect"]
            for part in row["why"]
            if part["part"] is not None and _finite(part["effect"]) is not None
        },
        unit=row["why_unit"],
        rise_probability=_finite(row["rise_probability"]),
        reason=row["reason"],
        fit=row["fit"],
        not_language=row["not_language"],
        fault=row["fault"],
    )
