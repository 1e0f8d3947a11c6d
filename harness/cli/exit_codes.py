"""Exit codes of commands, with one line on stderr for every error."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import typer

from harness.errors import EXIT_INTERRUPTED_TWICE, ConfigError, HarnessError, StorageError
from harness.utils import process
from harness.utils.safe_text import say as say

STDOUT = 1
LAST_WAIT_S = 3.0
RULES = {
    "int_parsing": "must be a whole number",
    "float_parsing": "must be a number",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
}
"""Rules for the value of an option, by pydantic's name for the mistake."""


def obey_interrupts() -> None:
    """Make Ctrl-C end the command soon, even where a library swallows KeyboardInterrupt."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        timer = threading.Timer(LAST_WAIT_S, os._exit, [EXIT_INTERRUPTED_TWICE])
        timer.daemon = True
        timer.start()
        say("interrupted")
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)


def prepare_streams() -> None:
    """Keep closed streams, and characters that the terminal cannot show, from ending a command."""
    process.open_descriptors()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def tolerate_closed_stdout() -> Iterator[None]:
    """Ignore that stdout is closed, as `head` closes it, and go on with the command."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich's console makes a SystemExit of the former
        _discard(sys.stdout.fileno())


def print_json(value: Any) -> None:
    """Print one JSON value to stdout. Raises ValueError on NaN: a missing number is null."""
    with tolerate_closed_stdout():
        print(json.dumps(value, indent=1, allow_nan=False))


def _discard(descriptor: int) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def explain(error: BaseException, traceback: bool) -> int:
    """Print what went wrong, and return the exit code for `error`."""
    if traceback:
        sys.excepthook(type(error), error, error.__traceback__)
    if isinstance(error, BrokenPipeError | SystemExit):  # typer makes a SystemExit of the former
        _discard(STDOUT)  # whoever read our output has left
        return 0
    if isinstance(error, KeyboardInterrupt):
        return EXIT_INTERRUPTED_TWICE
    if isinstance(error, typer.Abort) and error.__cause__ is not None:
        error = error.__cause__  # the EOFError of a damaged file, which typer takes for Ctrl-D
    if isinstance(error, HarnessError):
        say(str(error))
        return error.exit_code
    if isinstance(error, typer.TyperException):
        return 0 if _is_help(error) else _usage_error(error)
    if isinstance(error, OSError):
        where = f"{error.filename or 'output'}: " if error.strerror else ""  # a library's own words
        say(f"{where}{error.strerror or error}")
        return StorageError.exit_code
    if isinstance(error, RuntimeError) and isinstance(error.__context__, KeyboardInterrupt):
        return EXIT_INTERRUPTED_TWICE  # Ctrl-C within Event.wait, which released its lock twice
    notes = getattr(error, "__notes__", ["repeat the command with --debug for details"])
    say(f"internal error: {type(error).__name__}: {error}; {'; '.join(notes)}")
    return 1


def _is_help(error: Any) -> bool:
    """Whether a group of commands was called alone; its help is printed then."""
    if type(error).__name__ != "NoArgsIsHelpError":
        return False
    with tolerate_closed_stdout():
        print(error.format_message())
    return True


def _usage_error(error: Any) -> int:
    text = (
        _option_error(error)
        or _suggest_option(error)
        or _kept_config(error)
        or error.format_message()
    ).rstrip(".")
    end = "" if text.endswith("?") else "."
    say(f"{text}{end} See `{_command(error)} --help`.")
    return ConfigError.exit_code


A_NEW_FOLDER = "name the folder of a sweep by --dir, or by --name below runs/"
NO_OPTION = "name the folder without an option, as in `harness {} PATH`"
INSTEAD = {
    ("sweep", "--out"): A_NEW_FOLDER,
    ("fit-entropy-law", "--dir"): "name the folder of the results by --out PATH",
    **{(name, "--dir"): NO_OPTION.format(name) for name in ("resume", "status", "verify")},
}
"""Command and an option that it has not -> what does what is meant."""


def _suggest_option(error: Any) -> str | None:
    """Return a message that names the intended option, or None if that is not known."""
    option = getattr(error, "option_name", None)
    instead = INSTEAD.get((_command(error).partition(" ")[2], str(option)))
    return f"{error.format_message().rstrip('.')}: {instead}" if option and instead else None


def _kept_config(error: Any) -> str | None:
    """Return a message for overrides behind `harness resume RUN`, or None for another error."""
    message: str = error.format_message().rstrip(".")
    has_overrides = "extra argument" in message and "=" in message
    if not (has_overrides and _command(error).endswith(" resume")):
        return None
    return f"{message}: a run that is resumed keeps its config; `harness train` starts another"


def _command(error: Any) -> str:
    """Return the command that an error arose in, such as `harness sweep`."""
    names: list[str] = []
    context = getattr(error, "ctx", None)
    while context is not None and context.parent is not None:
        names.insert(0, str(context.info_name))
        context = context.parent
    return " ".join(["harness", *names])


def _option_error(error: Any) -> str | None:
    """Return option, rule and given value for a value that typer refused, or None for another
    error.
    """
    problems: list[Any] = getattr(error.__cause__, "errors", list)()
    if not problems or not getattr(error, "param", None):
        return None
    option, rule = error.param.opts[0], RULES.get(problems[0]["type"])
    if rule is None:
        return f"{option}: {problems[0]['msg'].removeprefix('Value error, ')}"
    return f"{option} {rule.format(**problems[0].get('ctx', {}))}, got {problems[0]['input']!r}"
