"""The conversations that a run has saved, as values: what is read of conversations/*.parquet.

Files of every version are read. What an older version did not keep is None, and `SavedStep.lacks`
names it. A file of a newer version is refused.
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
"""What an emotion may be."""


@dataclass(frozen=True, slots=True)
class Why:
    """What moved an emotion, as the user appraised the reply."""

    effects: Mapping[str, float]
    """Part of the appraisal -> what it added, in `unit`; parts that added nothing are left out."""
    unit: str | None
    """log_odds (of a rise; the effects add up to them), points (of emotion); None without
    effects."""
    rise_probability: float | None = None
    """Chance that the emotion would rise; whether it did was then drawn."""
    reason: str | None = None
    """In the words of a model that plays the user."""
    fit: str | None = None
    """How far that model finds that the reply fits what the user came for."""
    not_language: str | None = None
    """The rule by which the reply was no language to the user."""
    fault: str | None = None
    """Why the user could not be asked, which ends the conversation as failed."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance. A reply carries what was heard in it, a user's turn how they then felt."""

    number: int
    """0 is what the policy first replies to; reply n and the answer to it share n. What another
    had said before has negative numbers, up to its last reply at 0."""
    speaker: str
    """user, policy, or reference: who spoke before the policy took over."""
    text: str
    strategies: tuple[str, ...] | None = None
    """Of a reply: the strategies that the user heard, in order."""
    taken_up: tuple[str, ...] | None = None
    """Of a reply: what it took up of what the user had told, sentences in the user's words and
    names of feelings; None where the user does not say."""
    is_cut: bool | None = None
    """Of a reply: ended by the token limit, not by the policy."""
    entropy_nats: float | None = None
    """Of a reply by the policy: mean entropy of its tokens (acts, for tabular)."""
    advantage: float | None = None
    start_nll: float | None = None
    """Of a reply: mean negative log-likelihood a token, in nats, under the start policy."""
    start_z: float | None = None
    """Of a reply: its surprise under the start policy beyond what its own replies have, in sd."""
    emotion: int | None = None
    """Of the user, 0-100, after this turn; 0 for who left."""
    change: int | None = None
    """By the reply, before who left is put at 0; None at the opening."""
    reported_emotion: float | None = None
    """As the trainer was told it, with the level's reward noise; None where the user failed."""
    ended: str | None = None
    """success, left, cap or failed, on the user's last turn."""
    why: Why | None = None
    """Of the user's answer; None at the opening and where it was not kept."""

    @property
    def is_reply(self) -> bool:
        """Whether the supporter speaks: the policy, or who spoke before it took over."""
        return self.speaker != "user"


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation of a step's batch."""

    step: int
    group: int
    """Conversations of one group share the user and the opening."""
    sample: int
    level: str | None
    """Name of the difficulty."""
    persona: str | None
    """Name of who the user is; of simulator.profiles, its id."""
    topic: str | None
    """The matter that they came with, as they name it: `my exam`."""
    voice: str | None
    """How they speak: plain, short or careful."""
    temperament: str | None
    intention: str | None
    """What the user came for and does not say."""
    path: str | None
    """How the user puts the supporter to the test, of difficulty.paths; None for who does not."""
    reward: float | None
    """The reward in use that the conversation earned; None where it was lost."""
    turns: tuple[Turn, ...]

    @property
    def name(self) -> str:
        """Step, group and sample: unique in a run."""
        return f"{self.step}.{self.group}.{self.sample}"

    @property
    def emotions(self) -> tuple[int, ...]:
        """Of the user, from the opening on, one a turn of theirs."""
        return tuple(t.emotion for t in self.turns if not t.is_reply and t.emotion is not None)

    @property
    def entropies_nats(self) -> tuple[float | None, ...]:
        """One for each reply of the policy."""
        return tuple(turn.entropy_nats for turn in self.turns if turn.speaker == "policy")

    @property
    def replies(self) -> tuple[Turn, ...]:
        """The policy's own."""
        return tuple(turn for turn in self.turns if turn.speaker == "policy")

    @property
    def earned(self) -> float | None:
        """The reward, else the last emotion as a share; None of a conversation that was lost."""
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
    """The conversations of one step, as they were found in its file."""

    path: Path
    step: int
    schema: int
    """Version of the file: 1 for those written before files said it."""
    conversations: tuple[Conversation, ...]
    lacks: tuple[str, ...]
    """Fields that this version keeps and the file does not have: None in every conversation."""

    @property
    def note(self) -> str | None:
        """What the file lacks, as a sentence; None for a file of this version."""
        if not self.lacks:
            return None
        return f"written by an older version, which did not keep {', '.join(self.lacks)}"


def steps(run: Path) -> tuple[int, ...]:
    """Steps whose conversations the run folder has, in order; a run may be running still."""
    found = (STEP_FILE.fullmatch(path.name) for path in (run / FOLDER).glob("step-*.parquet"))
    return tuple(sorted(int(match[1]) for match in found if match))


def read(run: Path, step: int) -> SavedStep:
    """Read the conversations of one step of a run folder.

    Raises DataError for a file that is missing or damaged, VersionError for one of a newer version.
    """
    return read_file(path_of(run, step))


def path_of(run: Path, step: int) -> Path:
    """Return where a run folder has, or would have, the conversations of a step."""
    return run / FOLDER / f"step-{step:05d}.parquet"


def read_file(path: Path) -> SavedStep:
    """`read`, of a file wherever it is."""
    table, schema, lacks = conversation_columns.read(path)
    match = STEP_FILE.fullmatch(path.name)
    step = int(match[1]) if match else 0
    with conversation_columns.as_written(path):
        found = tuple(_conversations(step, table.to_pylist()))
    return SavedStep(path, step, schema, found, lacks)


def _conversations(step: int, rows: Sequence[Mapping[str, Any]]) -> Iterator[Conversation]:
    for (group, sample), of_one in groupby(rows, lambda row: (row["group"], row["sample"])):
        mine = list(of_one)
        first = mine[0]
        yield Conversation(
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
            reward=_known(first["reward"]),
            turns=tuple(map(_turn, mine)),
        )


def _turn(row: Mapping[str, Any]) -> Turn:
    return Turn(
        number=row["turn"],
        speaker=row["speaker"],
        text=row["text"],
        strategies=_texts(row["strategies"]),
        taken_up=_texts(row["taken_up"]),
        is_cut=row["is_cut"],
        entropy_nats=_known(row["entropy_nats"]),
        advantage=_known(row["advantage"]),
        start_nll=_known(row["start_nll"]),
        start_z=_known(row["start_z"]),
        emotion=_emotion(row["emotion_after"]),
        change=row["change"],
        reported_emotion=_known(row["reported_emotion"]),
        ended=row["ended"],
        why=None if row["why"] is None else _why(row),
    )


def _known(value: float | None) -> float | None:
    """None also for what is no number, as files of older versions may hold."""
    return value if value is not None and math.isfinite(value) else None


def _emotion(value: int | None) -> int | None:
    if value is not None and value not in EMOTIONS:
        raise ValueError(f"emotion_after must lie from 0 to 100, got {value}")
    return value


def _texts(values: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)


def _why(row: Mapping[str, Any]) -> Why:
    return Why(
        effects={
            part["part"]: part["effect"]
            for part in row["why"]
            if part["part"] is not None and _known(part["effect"]) is not None
        },
        unit=row["why_unit"],
        rise_probability=_known(row["rise_probability"]),
        reason=row["reason"],
        fit=row["fit"],
        not_language=row["not_language"],
        fault=row["fault"],
    )
