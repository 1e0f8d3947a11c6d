"""Commands: parse, call, print. At module level only typer and errors are imported: each command
imports what it runs, so that `harness --help` is as quick as Python itself allows.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.errors import EXIT_INTERRUPTED_TWICE, ConfigError, HarnessError, StorageError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Sweep the difficulty of a simulated user; see where policy entropy collapses and why.",
    epilog="Any command takes --debug, which shows the traceback behind an error message.",
)

Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[KEY=VALUE]...",
        show_default=False,
        help="Config overrides; a,b,c, 'range(1,4)', 'choice(a,b)' and 'glob(*)' sweep.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON value on stdout.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks; with any command.")]


class OnFailure(StrEnum):
    """What a sweep does once a run has failed."""

    CONTINUE = "continue"
    STOP = "stop"


class Events(StrEnum):
    """Form of the events on stdout."""

    JSONL = "jsonl"


class Figures(StrEnum):
    """Which figures are drawn."""

    AUTO = "auto"
    ALL = "all"
    NONE = "none"


EventsOption = Annotated[
    Events | None, typer.Option("--events", help="Write machine-readable events on stdout.")
]


@app.callback()
def _options(debug: Debug = False) -> None:
    pass  # --debug is taken out of the command line by main, wherever it stands


@app.command()
def sweep(
    overrides: Overrides = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the runs; create nothing.")
    ] = False,
    as_json: AsJson = False,
    on_failure: Annotated[
        OnFailure, typer.Option("--on-failure", help="Go on after a failed run, or start no more.")
    ] = OnFailure.CONTINUE,
) -> None:
    """Launch one run per point: harness sweep difficulty=easy,medium,hard 'seed=range(1,4)'"""
    from harness import launch, needs

    words = overrides or []
    plan = launch.plan(words)
    configs = [point.config for point in plan.points]
    if dry_run:
        _dry_run(plan, as_json)
        return
    needs.check(configs)
    from harness import ledger, listing
    from harness import sweep as sweeps

    made = ledger.create(plan, words)
    _say(f"{len(made.runs)} runs in {made.dir}")
    known, code = sweeps.execute(Path(str(made.dir)), on_failure is OnFailure.STOP)
    if as_json:
        _print_json(known.to_json())
    for line in listing.closing(known, code):
        _say(line)
    raise typer.Exit(code)


@app.command()
def train(
    folder: Annotated[Path, typer.Option("--dir", help="The run's folder; made if need be.")],
    overrides: Overrides = None,
    events: EventsOption = None,
) -> None:
    """Do one run in the foreground: harness train difficulty=hard --dir runs/one"""
    from harness import launch, needs, run
    from harness.records import folder as folders
    from harness.records.folder import RunFolder

    plan = launch.plan(overrides or [])
    if plan.axes:
        raise ConfigError(
            f"{next(iter(plan.axes))}: train does one run, got {len(plan.points)} values; "
            "use `harness sweep`"
        )
    config = plan.points[0].config
    where = RunFolder(folder.resolve())
    run.refuse_if_held(where)
    needs.check([config])
    folders.create(where, config)
    run.become(where, config, events)


@app.command()
def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run's folder or a sweep's.")],
    events: EventsOption = None,
) -> None:
    """Continue a run, or those runs of a sweep that are not done."""
    from harness import resume as resuming

    raise typer.Exit(resuming.resume(folder, events))


@app.command()
def status(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run's folder or a sweep's.")],
    as_json: AsJson = False,
) -> None:
    """Say how a run or a sweep stands."""
    from harness import listing
    from harness import resume as resuming

    stands = resuming.status(folder)
    if as_json:
        _print_json(stands)
    for line in [] if as_json else listing.standing(folder):
        typer.echo(line)


@app.command("fit-entropy-law")
def fit_entropy_law(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Runs, sweeps, or logs.")],
    as_json: AsJson = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="Results folder; default law/ in the first PATH.")
    ] = None,
    reward: Annotated[str | None, typer.Option("--reward", help="Column to use as R.")] = None,
    entropy: Annotated[str | None, typer.Option("--entropy", help="Column to use as H.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say of each run how its numbers were got.")
    ] = False,
    figures: Annotated[
        Figures, typer.Option("--figures", help="Above 24 runs, auto draws groups only.")
    ] = Figures.AUTO,
    pool_unlike: Annotated[
        bool, typer.Option("--pool-unlike", help="Pool runs measured in different ways.")
    ] = False,
) -> None:
    """Fit R = -a exp(H) + b to every run at or below PATH, and say what holds."""
    from harness import fitting

    wanted = fitting.Wanted(tuple(paths), out, reward, entropy, figures.value, pool_unlike)
    raise typer.Exit(fitting.fit(wanted, as_json=as_json, explain=explain))


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Check Python, packages, devices, memory and folders; say what to do about each problem."""
    from harness import doctor as doctors

    findings = doctors.examine()
    if as_json:
        _print_json(doctors.to_json(findings))
    for finding in [] if as_json else findings:
        typer.echo(doctors.line(finding))
    raise typer.Exit(doctors.exit_code(findings))


def _dry_run(plan: Any, as_json: bool) -> None:
    from harness import ledger, listing, needs

    planned = ledger.planned(plan)
    if as_json:
        _print_json(planned.to_json())
    for line in [] if as_json else listing.plan(planned):
        typer.echo(line)
    try:
        needs.check(point.config for point in plan.points)
    except ConfigError as error:
        _say(f"note: {error}")


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=1, allow_nan=False))


def _say(text: str) -> None:
    """One line on stderr; what a terminal would obey is shown instead."""
    line = " ".join(str(text).split())
    print(
        "harness:", "".join(c if c.isprintable() else repr(c)[1:-1] for c in line), file=sys.stderr
    )


def main() -> None:
    """Run a command; every way it can end has its exit code, and 1 is a bug of ours."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    words = sys.argv[1:]
    try:
        code = app(args=[word for word in words if word != "--debug"], standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:
        code = _exit_code(error)
        if "--debug" in words:
            traceback.print_exc()
    sys.exit(code or 0)


def _exit_code(error: BaseException) -> int:
    """Say what went wrong, in one line, and with which code the command ends."""
    if isinstance(error, BrokenPipeError):  # whoever read our output has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return EXIT_INTERRUPTED_TWICE
    if isinstance(error, HarnessError):
        _say(str(error))
        return error.exit_code
    if isinstance(error, typer.TyperException):
        return _usage_error(error)
    if isinstance(error, OSError):
        _say(f"{error.filename or 'output'}: {error.strerror or error}")
        return StorageError.exit_code
    _say(f"a bug: {type(error).__name__}: {error}; the same command with --debug shows where")
    return 1


def _usage_error(error: Any) -> int:
    if error.format_message():  # it is empty where no command was given, and help was shown
        _say(f"{error.format_message()} See `harness --help`.")
    return ConfigError.exit_code
