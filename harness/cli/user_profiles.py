"""The profiles commands: published users into a file of one's own, and what such a file holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.config.run import INTENTIONS, TEMPERAMENTS
from harness.errors import ConfigError
from harness.records import atomic
from harness.report.text.wording import plural
from harness.simulator.protocol import HELD_OUT, TRAIN
from harness.simulator.served import profiles, rlver
from harness.simulator.served.profiles import Profile
from harness.utils.safe_text import visible


def from_rlver(files: Sequence[Path], held_out: Sequence[Path], out: Path) -> None:
    """Write the users of published files to `out` and say what it holds.

    With `held_out`, users keep the side of their file; else whole personas are dealt to a side.
    Raises ConfigError if a file is not sound, or `out` is there already.
    """
    if out.exists():
        raise ConfigError(f"{out}: must be a new file, and is there already")
    side = TRAIN if held_out else None
    found = [p for file in files for p in rlver.read(file, side)]
    found += [p for file in held_out for p in rlver.read(file, HELD_OUT)]
    again = next((name for name, n in Counter(p.id for p in found).items() if n > 1), None)
    if again is not None:
        raise ConfigError(f"{out}: id must be found once, got {again!r} again")
    atomic.write_text(
        out.parent.resolve() / out.name, "".join(profiles.row(profile) + "\n" for profile in found)
    )
    for line in summary(found, str(out)):
        print(visible(line))


def check(path: Path) -> None:
    """Say what a file holds. Raises ConfigError if a run would not take it."""
    found = profiles.read(path)
    for line in summary(found, str(path)):
        print(visible(line))
    profiles.check(found, str(path))


def summary(found: Sequence[Profile], where: str) -> Iterator[str]:
    """How many users of how many personas, by side, intention and temperament; the overlap."""
    yield f"{where}: {_of(found)}"
    for side in (TRAIN, HELD_OUT):
        yield f"  {side:9} {_of([p for p in found if p.split == side])}"
    for name, allowed in (("intention", INTENTIONS), ("temperament", TEMPERAMENTS)):
        counts = Counter(getattr(profile, name) for profile in found)
        shown = [f"{value or 'as the level has it'} {counts[value]}" for value in (*allowed, None)]
        yield f"  {name}s: {', '.join(s for s in shown if not s.endswith(' 0'))}"
    yield f"  {profiles.overlap_line(found)}"
    if profiles.overlap(found):
        yield f"  a run does not take them so: {profiles.ADVICE}"


def _of(found: Sequence[Profile]) -> str:
    personas = len({profile.persona for profile in found})
    return f"{plural(len(found), 'user')}, {plural(personas, 'persona')}"
