"""User profiles from a JSONL file, one user per line, checked before a run starts.

    {"id": "u1", "persona": "Jo Ferris", "facts": ["My landlord sold the house.", "I have a
     month."], "about": "41, drives a bus, dry humour", "intention": "advice", "split": "train"}

The text of a profile is data: it is cleaned like the policy's words and quoted in a prompt.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.config.ranges import one_of
from harness.config.run import INTENTIONS, TEMPERAMENTS
from harness.errors import ConfigError, DataError
from harness.records import plain_file
from harness.simulator.draws import uniforms
from harness.simulator.protocol import HELD_OUT, TRAIN
from harness.simulator.served.quoting import plain

HELD_OUT_SHARE = 0.25
"""Held-out share of the personas without a `split` in the file."""
LONGEST_LINE_BYTES = 100_000
LONGEST = {"id": 80, "persona": 80, "about": 4000, "moved_by": 4000, "facts": 1000}
"""Most characters of each field, and of each fact."""
MOST_FACTS = 60


@dataclass(frozen=True, slots=True)
class Profile:
    """The profile of one user."""

    id: str
    """Unique in a file."""
    persona: str
    """Name of the persona. All profiles of one persona are in the same split."""
    facts: tuple[str, ...]
    """The events, in the order in which they are told."""
    about: str = ""
    """Age, work, habits, way of speaking."""
    moved_by: str = ""
    """What helps the user and what does not. Only the appraising prompt includes it."""
    intention: str | None = None
    """One of INTENTIONS; None leaves it to the level."""
    temperament: str | None = None
    """One of TEMPERAMENTS; None leaves it to the level."""
    split: str = TRAIN
    """train or held_out; for a persona without it in the file, see `side_of`."""


@functools.cache
def load(path: str) -> tuple[Profile, ...]:
    """Return the checked profiles of a file, read once per process. Raises ConfigError."""
    profiles = read(Path(path))
    check(profiles, path)
    return profiles


def read(path: Path) -> tuple[Profile, ...]:
    """Return the profiles in `path`. Raises ConfigError with file, line, rule and value."""
    profiles: dict[str, Profile] = {}
    for number, line in lines(path):
        profile = _profile(f"{path}:{number}", line)
        if profile.id in profiles:
            raise ConfigError(f"{path}:{number}: id must be found once, got {profile.id!r} again")
        profiles[profile.id] = profile
    return tuple(profiles.values())


def lines(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """Return (line number, object) of each line that is not blank. Raises ConfigError."""
    try:
        texts = plain_file.text(path).removeprefix("\ufeff").split("\n")
    except DataError as error:
        raise ConfigError(str(error)) from error
    rows = [(n, _object(f"{path}:{n}", t)) for n, t in enumerate(texts, start=1) if t.strip()]
    if not rows:
        raise ConfigError(f"{path}: must hold a user a line, got none")
    return rows


def row(profile: Profile) -> str:
    """Return a profile as a line of a file."""
    return json.dumps(dataclasses.asdict(profile), ensure_ascii=False)


def checked(where: str, profile: Profile) -> Profile:
    """Return the profile as read back from a file. Raises ConfigError if it is invalid."""
    return _profile(where, _object(where, row(profile)))


def check(profiles: Sequence[Profile], where: str) -> None:
    """Raise ConfigError if a persona is in both splits, or a split is empty."""
    shared = overlap(profiles)
    if shared:
        raise ConfigError(f"{where}: {overlap_line(profiles)}; {ADVICE}")
    for side in (TRAIN, HELD_OUT):
        if not any(profile.split == side for profile in profiles):
            raise ConfigError(
                f"{where}: must hold users of both sides, got none of {side}; add some"
            )


ADVICE = "leave `split` out, and whole personas are dealt to the two sides"


def overlap(profiles: Sequence[Profile]) -> list[str]:
    """Return the personas that are in both splits, sorted."""
    sides = {s: {p.persona for p in profiles if p.split == s} for s in (TRAIN, HELD_OUT)}
    return sorted(sides[TRAIN] & sides[HELD_OUT])


def overlap_line(profiles: Sequence[Profile]) -> str:
    """Return `54 of 100 held-out users reuse a persona of train (personas: 47, such as A, B)`."""
    shared, held_out = overlap(profiles), [p for p in profiles if p.split == HELD_OUT]
    reused = sum(profile.persona in set(shared) for profile in held_out)
    examples = f", such as {', '.join(shared[:3])}" if shared else ""
    return (
        f"{reused} of {len(held_out)} held-out users reuse a persona of train "
        f"(personas: {len(shared)}{examples})"
    )


def side_of(persona: str) -> str:
    """Return the split of a persona without one, by a hash of its name: the same in every file."""
    return HELD_OUT if uniforms("split", persona)[0] < HELD_OUT_SHARE else TRAIN


def clean_text(where: str, field: str, text: Any) -> str:
    """Return one line of plain text. Raises ConfigError for other types or a long text."""
    if not isinstance(text, str):
        raise ConfigError(f"{where}: {field} must be text, got {text!r:.40}")
    if len(text) > LONGEST[field]:
        rule = f"{field} must be at most {LONGEST[field]:,} characters"
        raise ConfigError(f"{where}: {rule}, got {len(text):,}")
    return plain(text)


def _object(where: str, line: str) -> dict[str, Any]:
    size = len(line.encode("utf-8"))
    if size > LONGEST_LINE_BYTES:
        rule = f"a line must be at most {LONGEST_LINE_BYTES:,} bytes"
        raise ConfigError(f"{where}: {rule}, got {size:,}")

    def unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        """Return an object. Raises ConfigError for a repeated key, of which json keeps the last."""
        key, count = Counter(key for key, _ in pairs).most_common(1)[0] if pairs else ("", 0)
        if count > 1:
            raise ConfigError(f"{where}: a key must be there once, got {key!r:.40} again")
        return dict(pairs)

    try:
        values = json.loads(line, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where}: must be JSON, got {line[:40]!r}") from error
    if not isinstance(values, dict):
        raise ConfigError(f"{where}: must be a JSON object, got {line[:40]!r}")
    return values


def _profile(where: str, values: Mapping[str, Any]) -> Profile:
    for key in values:
        one_of(f"{where}: a key", key, [field.name for field in dataclasses.fields(Profile)])
    persona = _words(where, "persona", values.get("persona"))
    facts = values.get("facts")
    if not isinstance(facts, list) or not 1 <= len(facts) <= MOST_FACTS:
        rule = f"facts must be a list of 1 to {MOST_FACTS} texts"
        raise ConfigError(f"{where}: {rule}, got {facts!r:.40}")
    return Profile(
        id=_words(where, "id", values.get("id")),
        persona=persona,
        facts=tuple(_words(where, "facts", fact) for fact in facts),
        about=clean_text(where, "about", values.get("about", "")),
        moved_by=clean_text(where, "moved_by", values.get("moved_by", "")),
        intention=_choice(where, "intention", values, INTENTIONS),
        temperament=_choice(where, "temperament", values, TEMPERAMENTS),
        split=_choice(where, "split", values, (TRAIN, HELD_OUT)) or side_of(persona),
    )


def _words(where: str, field: str, text: Any) -> str:
    line = clean_text(where, field, text)
    if not any(character.isalnum() for character in line):
        raise ConfigError(f"{where}: {field} must have words, got {text!r:.40}")
    return line


def _choice(
    where: str, field: str, values: Mapping[str, Any], allowed: Sequence[str]
) -> str | None:
    value = values.get(field)
    if value is None:
        return None
    if not isinstance(value, str):
        rule = f"{field} must be one of {', '.join(allowed)}"
        raise ConfigError(f"{where}: {rule}, got {value!r:.40}")
    one_of(f"{where}: {field}", value, allowed)
    return value
