"""The command line: which commands there are, and every way that one can end.

`harness --help` loads what each command takes (harness/cli/commands): at module level only typer
and options are imported there, and each command imports what it runs when it runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from harness.cli import options
from harness.cli.commands import (
    conversations,
    machine,
    models,
    pages,
    questions,
    results,
    runs,
    users,
)
from harness.cli.config import config
from harness.cli.profiles import profiles

COMMANDS: tuple[tuple[str, Callable[..., None]], ...] = (
    ("demo", runs.demo),
    ("sweep", runs.sweep),
    ("train", runs.train),
    ("resume", runs.resume),
    ("status", runs.status),
    ("list", runs.list_),
    ("rm", runs.rm),
    ("fit-entropy-law", results.fit_entropy_law),
    ("report", pages.report),
    ("watch", results.watch),
    ("view", conversations.view),
    ("probe", models.probe),
    ("export", models.export),
    ("diagnose", results.diagnose),
    ("variance", results.variance),
    ("plan", questions.plan),
    ("study", questions.study),
    ("calibrate", users.calibrate),
    ("chat", users.chat),
    ("probe-simulator", users.probe_simulator),
    ("config", config),
    ("verify", results.verify),
    ("trust", machine.trust),
    ("doctor", machine.doctor),
)
"""In the order of `harness --help`."""

app = typer.Typer(
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich takes longer to load than all else that --help needs
    help="Sweep the difficulty of a simulated user and test whether entropy collapse explains "
    "where training stalls.",
    epilog="`harness COMMAND --help` describes a command.",
)
for _name, _command in COMMANDS:
    app.command(_name)(_command)
app.add_typer(profiles, name="profiles")


def _version(is_given: bool) -> None:
    if is_given:
        from importlib.metadata import version

        typer.echo(f"harness {version('empathy-harness')}")
        raise typer.Exit


@app.callback()
def _options(
    debug: options.Debug = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass  # --debug is taken out of the command line by main, wherever it stands


def _answer_completion() -> int | None:
    """Answer a shell's request for completions. Return the exit code, or None if there is no
    request.
    """
    request = os.environ.get("_HARNESS_COMPLETE")
    if not request:
        return None
    from harness.cli import completion

    return completion.answer(app, request)


def main() -> None:
    """Run a command and exit with its code. Every outcome has one; 1 is an unexpected exception."""
    from harness.cli import exit_codes
    from harness.errors import ConfigError
    from harness.utils import process

    words = sys.argv[1:] or ["--help"]
    if "--debug" in words:
        os.environ[process.DEBUG] = "1"
    exit_codes.prepare_streams()
    exit_codes.obey_interrupts()
    try:
        code = _answer_completion()
        if code is None:
            process.keep_private()
            arguments = [word for word in words if word != "--debug"]
            code = app(args=arguments, prog_name="harness", standalone_mode=False)
            if code == 1:  # typer's, for a shell that it has no completion for; ours is for a bug
                code = ConfigError.exit_code
        sys.stdout.flush()
    except BaseException as error:
        code = exit_codes.explain(error, traceback="--debug" in words)
    finally:
        if "--debug" in words:  # for this command's runs alone, where main is called in a program
            os.environ.pop(process.DEBUG, None)
    sys.exit(code or 0)
