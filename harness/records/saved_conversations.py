"""The conversations that a run has saved, as values: what is read of conversations/*.parquet.

Files of every version are read. What an older version did not keep is None, and `SavedStep.lacks`
names it. A file of a newer version is refused.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from harness.errors import DataError, VersionError
from harness.records import plain_file
from harness.records.conversations import SCHEMA, SCHEMA_KEY

FOLDER = "conversations"
STEP_FILE = re.compile(r"step-(\d+)\.parquet")
WORTH_WEIGHT = 2.2
"""Log-odds of a unit of `worth` in the JSON that version 1 kept of a scripted user's appraisal."""


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
    return read_file(run / FOLDER / f"step-{step:05d}.parquet")


def read_file(path: Path) -> SavedStep:
    """`read`, of a file wherever it is."""
    rows, names, schema = _rows(path)
    match = STEP_FILE.fullmatch(path.name)
    step = int(match[1]) if match else 0
    try:
        conversations = tuple(_conversations(step, rows, schema))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise DataError(
            f"{path}: must hold the columns of a run's conversations; got {_one_line(error)}"
        ) from error
    lacks = tuple(name for name in KEPT if name not in names)
    return SavedStep(path, step, schema, conversations, lacks)


KEPT = (
    "persona", "topic", "voice", "temperament", "intention", "level", "reward", "taken_up",
    "is_cut", "reported_emotion",
)  # fmt: skip
"""Fields that version 1 did not have, or not always."""


def _rows(path: Path) -> tuple[list[dict[str, Any]], frozenset[str], int]:
    """Rows as mappings, names of the columns, and the version of the file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with open(path, "rb", opener=plain_file.opener) as file:
            table = pq.read_table(io.BytesIO(file.read()))
        schema = int((table.schema.metadata or {}).get(SCHEMA_KEY, b"1"))
        rows: list[dict[str, Any]] = table.to_pylist()
    except (OSError, ValueError, pa.ArrowException) as error:
        why = getattr(error, "strerror", None) or _one_line(error)
        raise DataError(f"{path}: must be a parquet file of conversations; got {why}") from error
    if schema > SCHEMA:
        raise VersionError(
            f"{path}: schema must be at most {SCHEMA}, got {schema}: it was written by a newer "
            "version of harness; read it with that version"
        )
    return rows, frozenset(table.column_names), schema


def _conversations(
    step: int, rows: Sequence[Mapping[str, Any]], schema: int
) -> Iterator[Conversation]:
    for (group, sample), of_one in groupby(rows, lambda row: (row["group"], row["sample"])):
        mine = list(of_one)
        first = mine[0]
        yield Conversation(
            step=step,
            group=int(group),
            sample=int(sample),
            level=first.get("level"),
            persona=first.get("persona"),
            topic=first.get("topic"),
            voice=first.get("voice"),
            temperament=first.get("temperament"),
            intention=first.get("intention"),
            reward=first.get("reward"),
            turns=tuple(_turn(row, schema) for row in mine),
        )


def _turn(row: Mapping[str, Any], schema: int) -> Turn:
    before, after = row.get("emotion_before"), row.get("emotion_after")
    is_old = schema == 1
    change = after - before if is_old and None not in (before, after) else row.get("change")
    return Turn(
        number=int(row["turn"]),
        speaker=str(row["speaker"]),
        text=str(row["text"]),
        strategies=_old_strategies(row) if is_old else _texts(row["strategies"]),
        taken_up=_texts(row.get("taken_up")),
        is_cut=row.get("is_cut"),
        entropy_nats=row.get("entropy_nats"),
        advantage=row.get("advantage"),
        start_nll=row.get("start_nll"),
        start_z=row.get("start_z"),
        emotion=after,
        change=change,
        reported_emotion=row.get("reported_emotion"),
        ended=row.get("ended"),
        why=_old_why(row.get("why")) if is_old else _why(row),
    )


def _texts(values: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)


def _why(row: Mapping[str, Any]) -> Why | None:
    if row["why"] is None:
        return None
    return Why(
        effects={part["part"]: part["effect"] for part in row["why"]},
        unit=row["why_unit"],
        rise_probability=row["rise_probability"],
        reason=row["reason"],
        fit=row["fit"],
        not_language=row["not_language"],
        fault=row["fault"],
    )


def _old_strategies(row: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Of version 1: joined by +, and null for a reply in which none was heard."""
    if row["speaker"] == "user":
        return None
    return tuple(row["strategy"].split("+")) if row.get("strategy") else ()


def _old_why(content: str | None) -> Why | None:
    """Of version 1: JSON of the appraisal; a sum is told by its `logit`."""
    if content is None:
        return None
    values = json.loads(content)
    effects = {k: float(v) for k, v in values.items() if not isinstance(v, str)}
    total = effects.pop("logit", None)
    if total is not None and "worth" in effects:
        effects["worth"] *= WORTH_WEIGHT
        effects["rest"] = total - sum(effects.values())
    return Why(
        effects={part: effect for part, effect in effects.items() if effect},
        unit=("points" if total is None else "log_odds") if effects else None,
        rise_probability=None,
        reason=values.get("reason"),
        fit=values.get("target_fit"),
        not_language=values.get("rule"),
        fault=values.get("fault"),
    )


def _one_line(error: BaseException) -> str:
    return plain_file.one_line(error)
