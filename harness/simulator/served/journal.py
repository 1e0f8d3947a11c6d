"""Journal of the endpoint's answers, each on disk before it is used.

    simulator/step-00012.jsonl    requests of step 12, evaluation included
    simulator/openings.jsonl      the opening of each user, for the whole run
    simulator/before.jsonl        requests before the first step

A line is `{"id": ..., "of": [...], "purpose": ..., "content": ...}`, with `"fault"` in place of
`"content"` if the retries were spent. The id is a hash of everything that the answer may depend on.
A fault is binding only in a step whose row is on disk. An interrupted step restarts without its
faults, which are removed from the file too; otherwise a replay of the step would still find the
fault of an opening that was answered after the restart.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from harness.config.simulator import SIMULATOR_FAULTS
from harness.errors import DataError
from harness.records import atomic, plain_file
from harness.simulator.served.completions import Request

Entry = dict[str, Any]
OPENINGS, BEFORE = "openings.jsonl", "before.jsonl"


class Journal:
    """Answers by digest: the openings and the current step. In memory until a folder is given."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._openings: dict[str, Entry] = {}
        self._step: dict[str, Entry] = {}
        self._step_name = BEFORE
        self._unwritten: list[tuple[str, Entry]] = []

    def keep_in(self, folder: Path) -> None:
        """Keep the journal in `folder`. Raises StorageError, and DataError for a damaged file."""
        with atomic.storage_errors(folder):
            folder.mkdir(exist_ok=True)
        self._folder = folder
        self._openings = dict(_read(folder / OPENINGS))
        self._step = dict(_read(folder / BEFORE))

    def at_step(self, step: int, binding: bool) -> None:
        """Begin `step`, to which later requests belong. `binding`: the step's row is on disk."""
        self._step, self._step_name = {}, f"step-{step:05d}.jsonl"
        if self._folder is not None:
            path = self._folder / self._step_name
            entries = dict(_read(path))
            self._step = {k: e for k, e in entries.items() if binding or "fault" not in e}
            if len(self._step) < len(entries):
                atomic.write_bytes(path, _lines(self._step.values()))

    def find(self, digest: str) -> Entry | None:
        """Return the entry of a digest, the current step's first, so that a replay finds it."""
        return self._step.get(digest) or self._openings.get(digest)

    def add(self, digest: str, request: Request, content: str | None, fault: str | None) -> Entry:
        """Add and return an entry, with the `content` of a good answer or the kind of the fault."""
        outcome = {"content": content} if fault is None else {"fault": fault}
        entry = {"id": digest, "of": list(request.of), "purpose": request.purpose, **outcome}
        is_lasting = request.purpose == "open" and fault is None
        (self._openings if is_lasting else self._step)[digest] = entry
        if self._folder is not None:
            self._unwritten.append((OPENINGS if is_lasting else self._step_name, entry))
        return entry

    def flush(self) -> None:
        """Write the added entries to disk, all of a file's or none. Raises StorageError."""
        for name in dict.fromkeys(name for name, _ in self._unwritten):
            assert self._folder is not None
            _append(
                self._folder / name,
                _lines(e for file_name, e in self._unwritten if file_name == name),
            )
            self._unwritten = [
                (file_name, e) for file_name, e in self._unwritten if file_name != name
            ]


def _lines(entries: Iterable[Entry]) -> bytes:
    return "".join(json.dumps(entry) + "\n" for entry in entries).encode()


def _append(path: Path, data: bytes) -> None:
    """Append all of `data` or nothing, so that the file stays valid after a full disk."""
    with atomic.storage_errors(path):
        descriptor = atomic.open_to_append(path)
        try:
            size = os.fstat(descriptor).st_size
            try:
                atomic.write_all(descriptor, data)
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, size)
                raise
        finally:
            os.close(descriptor)


def _read(path: Path) -> Iterator[tuple[str, Entry]]:
    """Yield (id, entry). Removes an incomplete last line, which a killed process leaves."""
    plain_file.refuse_link(path)
    if not path.exists():
        return
    if not path.is_file():  # reading a pipe would wait for ever
        raise DataError(f"{path}: cannot be read: must be a regular file, and is not")
    with atomic.storage_errors(path), os.fdopen(atomic.open_to_append(path), "rb+") as file:
        file.seek(0)
        lines = file.readlines()
        if lines and not lines[-1].endswith(b"\n"):
            file.truncate(sum(map(len, lines[:-1])))
            lines.pop()
    for number, line in enumerate(lines, start=1):
        entry = _entry(path, number, line)
        yield entry["id"], entry


def check(path: Path) -> int:
    """Return the number of entries in a file without changing it.

    The last line may be incomplete. Raises DataError for a damaged file.
    """
    lines = plain_file.text(path).encode().splitlines(keepends=True)
    complete = [line for line in lines if line.endswith(b"\n")]
    return len([_entry(path, number, line) for number, line in enumerate(complete, start=1)])


def _entry(path: Path, number: int, line: bytes) -> Entry:
    """Return the entry of a line. Raises DataError, naming the line, if it is invalid."""
    try:
        entry = json.loads(line)
        is_sound = isinstance(entry, dict) and _is_sound(entry)
    except (ValueError, RecursionError):
        is_sound = False
    if not is_sound:
        rule = "each line must be an entry of the journal, with an id and content or a fault"
        raise DataError(f"{path}:{number}: {rule}, got {line[:40]!r}")
    return dict(entry)


def _is_sound(entry: Entry) -> bool:
    """Return whether an entry has an id, and either a content or a known fault."""
    content, fault = entry.get("content"), entry.get("fault")
    is_answer = isinstance(content, str) and "fault" not in entry
    is_fault = isinstance(fault, str) and fault in SIMULATOR_FAULTS and "content" not in entry
    return isinstance(entry.get("id"), str) and (is_answer or is_fault)
