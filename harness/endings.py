"""How a command ends: one line on stderr and an exit code, whatever was raised."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

import typer

from harness import process
from harness.errors import EXIT_INTERRUPTED_TWICE, ConfigError, HarnessError, StorageError
from harness.said import say as say

STDOUT = 1


def prepare_streams() -> None:
    """Let neither a closed stream nor a character that the terminal cannot show end a command."""
    process.open_descriptors()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def explain(error: BaseException, traceback: bool) -> int:
    """Say what went wrong, and return the exit code of the command that raised `error`."""
    if traceback:
        sys.excepthook(type(error), error, error.__traceback__)
    if isinstance(error, BrokenPipeError | SystemExit):  # typer makes a SystemExit of the former
        os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)  # whoever read our output has left
        return 0
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return EXIT_INTERRUPTED_TWICE
    if isinstance(error, HarnessError):
        say(str(error))
        return error.exit_code
    if isinstance(error, typer.TyperException):
        return _usage_error(error)
    if isinstance(error, OSError):
        say(f"{error.filename or 'output'}: {error.strerror or error}")
        return StorageError.exit_code
    say(f"a bug: {type(error).__name__}: {error}; the same command with --debug shows where")
    return 1


def _usage_error(error: Any) -> int:
    say(f"{error.format_message()} See `harness --help`.")
    return ConfigError.exit_code
