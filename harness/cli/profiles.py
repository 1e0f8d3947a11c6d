"""The profiles commands: convert published profiles to a file of users, and check such a file.

Each command imports what it runs, since `harness --help` loads this module.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from harness.simulator.served.profiles import Profile

profiles = typer.Typer(no_args_is_help=True, help="Check or convert files of user profiles.")
File = Annotated[
    Path, typer.Argument(metavar="FILE", readable=False, help="JSONL, one user per line.")
]
Published = Annotated[
    list[Path],
    typer.Argument(metavar="FILE...", readable=False, help="Published profiles (RLVER, SAGE)."),
]
HeldOut = Annotated[
    list[Path] | None,
    typer.Option("--held-out", help="Published profiles to use for evaluation only."),
]


@profiles.command()
def check(file: File) -> None:
    """Summarize a file of users and check that a run accepts it.

    A persona must not be in both train and held_out.
    """
    from harness.simulator.served import profiles as users

    users_read = users.read(file)
    _print(summary(users_read, str(file)))
    users.check(users_read, str(file))


@profiles.command("from-rlver")
def from_rlver_command(
    files: Published,
    out: Annotated[Path, typer.Option("--out", help="File to create.")],
    held_out: HeldOut = None,
) -> None:
    """Convert RLVER or SAGE profiles to a file of users.

    Whole personas are split between train and held_out, unless --held-out names its own files.
    """
    from_rlver(files, held_out or [], out)


def from_rlver(files: Sequence[Path], held_out: Sequence[Path], out: Path) -> None:
    """Write the users of published files to `out` and print what it holds.

    With `held_out`, users keep the side of their file; else whole personas are dealt to a side.
    Raises ConfigError if a file is not sound, or `out` is there already.
    """
    from harness.errors import ConfigError
    from harness.records import atomic
    from harness.simulator.protocol import HELD_OUT, TRAIN
    from harness.simulator.served import profiles as users
    from harness.simulator.served import rlver

    if out.exists():
        raise ConfigError(f"{out}: already exists; --out must name a new file")
    side = TRAIN if held_out else None
    users_read = [p for file in files for p in rlver.read(file, side)]
    users_read += [p for file in held_out for p in rlver.read(file, HELD_OUT)]
    repeated_id = next(
        (name for name, n in Counter(p.id for p in users_read).items() if n > 1), None
    )
    if repeated_id is not None:
        raise ConfigError(f"{out}: each id must be unique, got {repeated_id!r} more than once")
    lines = (users.row(profile) + "\n" for profile in users_read)
    atomic.write_text(out.parent.resolve() / out.name, "".join(lines))
    _print(summary(users_read, str(out)))


def summary(users_read: Sequence[Profile], where: str) -> Iterator[str]:
    """Count users and personas by side, intention and temperament, and the overlap of sides."""
    from harness.config.run import INTENTIONS, TEMPERAMENTS
    from harness.simulator.protocol import HELD_OUT, TRAIN
    from harness.simulator.served import profiles as users

    yield f"{where}: {_format_counts(users_read)}"
    for side in (TRAIN, HELD_OUT):
        yield f"  {side:9} {_format_counts([p for p in users_read if p.split == side])}"
    for name, allowed in (("intention", INTENTIONS), ("temperament", TEMPERAMENTS)):
        counts = Counter(getattr(profile, name) for profile in users_read)
        parts = [f"{value or 'set by the level'} {counts[value]}" for value in (*allowed, None)]
        yield f"  {name}s: {', '.join(s for s in parts if not s.endswith(' 0'))}"
    yield f"  {users.overlap_line(users_read)}"
    if users.overlap(users_read):
        yield f"  not accepted by a run: {users.ADVICE}"


def _format_counts(users_read: Sequence[Profile]) -> str:
    from harness.report.text.wording import plural

    personas = len({profile.persona for profile in users_read})
    return f"{plural(len(users_read), 'user')}, {plural(personas, 'persona')}"


def _print(lines: Iterator[str]) -> None:
    from harness.utils.safe_text import escape

    for line in lines:
        print(escape(line))
