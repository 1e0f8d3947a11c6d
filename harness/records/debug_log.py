"""debug.log in the folder of a run or a sweep: tracebacks of unexpected errors.

The terminal shows one sentence about an error; this file holds the traceback. A handler that
catches all exceptions passes them to `log_traceback`, which does not fail on a full or read-only
disk: only the traceback is lost, not the run.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from harness.errors import HarnessError
from harness.records import atomic
from harness.utils import process, safe_text
from harness.utils.safe_text import escape

NAME = "debug.log"
LARGEST_CHARACTERS = 100_000
"""Longest entry. Of a longer one only the end is kept, which is the most informative part."""
LOGGER = logging.getLogger("harness")


class _Formatter(logging.Formatter):
    """Formats records with terminal control characters escaped, since errors may quote text of
    endpoints and policies.
    """

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def format(self, record: logging.LogRecord) -> str:
        lines = super().format(record)[-LARGEST_CHARACTERS:].split("\n")
        return "\n".join(map(escape, lines))


class _FolderHandler(logging.Handler):
    """Appends records logged with extra={"folder": PATH} to that folder's debug.log.

    Ignores other records. Raises StorageError.
    """

    def emit(self, record: logging.LogRecord) -> None:
        folder = getattr(record, "folder", None)
        if not isinstance(folder, Path):
            return
        with atomic.storage_errors(folder / NAME):
            descriptor = atomic.open_to_append(folder / NAME, mode=0o600)
            try:
                atomic.write_all(descriptor, f"{self.format(record)}\n".encode())
            finally:
                os.close(descriptor)


_FORMATTER = _Formatter("%(asctime)s process %(process)d: %(message)s")
_HANDLER = _FolderHandler()
_HANDLER.setFormatter(_FORMATTER)
LOGGER.addHandler(_HANDLER)


def log_traceback(folder: Path, error: BaseException) -> str:
    """Log the traceback of `error` in `folder`; with --debug, print it too.

    Returns an ending for a sentence about the error, `; traceback in DIR/debug.log`, or an empty
    text if the file cannot be written.
    """
    if os.environ.get(process.DEBUG) and sys.stderr is not None:
        safe_text.tell(sys.stderr, f"{_traceback(error)}\n")
    return _log(folder, error)


@contextlib.contextmanager
def logged_bugs(folder: Path) -> Iterator[None]:
    """Log exceptions other than HarnessError, and add the log's path to them as a note."""
    try:
        yield
    except HarnessError:
        raise
    except Exception as error:
        log_note = _log(folder, error)
        if log_note:
            error.add_note(log_note.removeprefix("; "))
        raise


def _log(folder: Path, error: BaseException) -> str:
    message = f"{type(error).__name__} in {folder.name}"
    try:
        LOGGER.error(message, exc_info=error, extra={"folder": folder})
    except (HarnessError, OSError, ValueError, MemoryError, RecursionError):
        return ""
    return f"; traceback in {folder / NAME}"


def _traceback(error: BaseException) -> str:
    raised = (type(error), error, error.__traceback__)
    record = logging.LogRecord(LOGGER.name, logging.ERROR, "", 0, "traceback", (), raised)
    return _FORMATTER.format(record)
