"""Commands: parse, call, print. At module level only typer and options are imported: each
command imports what it runs, so that `harness --help` is as quick as Python itself allows.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.cli_profiles import profiles
from harness.cli_study import study
from harness.cli_trust import trust
from harness.cli_verify import verify
from harness.options import (
    AsJson,
    Cards,
    Debug,
    DryRun,
    EventsOption,
    Explain,
    Figures,
    ForecastFrom,
    Logs,
    Margins,
    OnFailure,
    OnFailureOption,
    Overrides,
    PoolUnlike,
    Results,
    Retries,
    Reveal,
    RunOrSweep,
    WithUnfinished,
)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich takes longer to load than all else that --help needs
    help="Sweep the difficulty of a simulated user; see where policy entropy collapses and why.",
    epilog="Any command takes --debug, which shows the traceback behind an error message.",
)
app.add_typer(profiles, name="profiles")
app.command()(study)
app.command()(trust)
app.command()(verify)


@app.callback()
def _options(debug: Debug = False) -> None:
    pass  # --debug is taken out of the command line by main, wherever it stands


@app.command()
def sweep(
    overrides: Overrides = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    on_failure: OnFailureOption = OnFailure.CONTINUE,
    retries: Retries = 2,
) -> None:
    """Launch one run per point.

    harness sweep difficulty=easy,medium,hard 'seed=range(1,4)'
    """
    from harness import devices, launch, launching, needs, room, typed

    words = overrides or []
    plan = launch.plan(words)
    configs, granted = [point.config for point in plan.points], typed.grants(words)
    if dry_run:
        from harness import dry_run as dry_runs

        dry_runs.show(plan, as_json, granted)
        return
    if launching.is_local(words):
        devices.check(configs)
    sends = needs.check(configs, granted)
    from harness import endings, ledger, listing
    from harness import sweep as sweeps
    from harness.trying import IfFailed

    room.check(configs, ledger.runs_folder())
    needs.tell(sends)
    if_failed = IfFailed(on_failure is OnFailure.STOP, retries)
    made = ledger.create(plan, words)
    count = len(made.runs)
    endings.say(f"{count} run{'s' * (count != 1)} in {made.dir}")
    known, code = sweeps.execute(Path(str(made.dir)), if_failed, told=sends)
    if as_json:
        _print_json(known.to_json())
    for line in listing.closing(known, code):
        endings.say(line)
    raise typer.Exit(code)


@app.command()
def train(
    folder: Annotated[Path, typer.Option("--dir", help="The run's folder; made if need be.")],
    overrides: Overrides = None,
    events: EventsOption = None,
) -> None:
    """Do one run in the foreground.

    harness train difficulty=hard --dir runs/one
    """
    from harness import foreground

    foreground.begin(folder, overrides or [], events)


@app.command()
def resume(folder: RunOrSweep, events: EventsOption = None) -> None:
    """Continue a run, or a sweep's unfinished runs."""
    from harness import endings, listing
    from harness import resume as resuming

    known, code = resuming.resume(folder, events)
    for line in listing.closing(known, code):
        endings.say(line)
    raise typer.Exit(code)


@app.command()
def status(folder: RunOrSweep, as_json: AsJson = False) -> None:
    """Say how a run or a sweep stands."""
    from harness import listing
    from harness import resume as resuming
    from harness.visible import visible

    stands = resuming.status(folder)
    if as_json:
        _print_json(stands)
    for line in [] if as_json else listing.standing(folder):
        typer.echo(visible(line))


@app.command("fit-entropy-law")
def fit_entropy_law(
    paths: Logs,
    as_json: AsJson = False,
    out: Results = None,
    reward: Annotated[str | None, typer.Option("--reward", help="Column to use as R.")] = None,
    entropy: Annotated[str | None, typer.Option("--entropy", help="Column to use as H.")] = None,
    explain: Explain = False,
    figures: Annotated[
        Figures, typer.Option("--figures", help="Above 24 runs, auto draws groups only.")
    ] = Figures.AUTO,
    forecast_from: ForecastFrom = None,
    pool_unlike: PoolUnlike = False,
    margin: Margins = None,
    with_unfinished: WithUnfinished = False,
) -> None:
    """Fit the law R = -a exp(H) + b.

    To every run at or below PATH, with intervals, onset of collapse and verdict.
    """
    # before numpy is imported: its arrays are short here, and the processes share the cores
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from harness import devices, workers

    with workers.others(devices.cores()) as pool:
        if workers.likely_many(paths):  # the others import what this process does, meanwhile
            drawing = () if figures is Figures.NONE else ("harness.report.figures",)
            workers.prepare(pool, "harness.law.many_runs", *drawing)
        from harness import fitting

        wanted = fitting.Wanted(
            tuple(paths), out, reward, entropy, figures.value, pool_unlike, forecast_from,
            tuple(margin or ()), with_unfinished,
        )  # fmt: skip
        raise typer.Exit(fitting.fit(wanted, as_json=as_json, explain=explain, pool=pool))


@app.command()
def calibrate(
    overrides: Overrides = None,
    as_json: AsJson = False,
    out: Cards = None,
) -> None:
    """Measure how demanding levels are.

    By replies and supporters that never learn: harness calibrate difficulty=easy,hard
    """
    from harness import calibrating

    calibrating.calibrate(overrides or [], out, as_json=as_json)


@app.command()
def chat(overrides: Overrides = None, reveal: Reveal = False, as_json: AsJson = False) -> None:
    """Talk to a user as their supporter.

    Typed, or piped in a line a reply: harness chat difficulty=hard seed=3
    """
    from harness import chatting

    raise typer.Exit(chatting.chat(overrides or [], reveal=reveal, as_json=as_json))


@app.command("probe-simulator")
def probe_simulator(overrides: Overrides = None) -> None:
    """Have one real conversation with a served user.

    With emotions, latencies and whether a schema binds: harness probe-simulator simulator.model=M
    """
    from harness import probing

    raise typer.Exit(probing.probe(overrides or []))


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Check that this machine is ready.

    Python, packages, devices, memory, folders; each problem comes with what to do.
    """
    from harness import doctor as doctors

    findings = doctors.examine()
    if as_json:
        _print_json(doctors.to_json(findings))
    for finding in [] if as_json else findings:
        typer.echo(doctors.line(finding))
    raise typer.Exit(doctors.exit_code(findings))


def _print_json(value: Any) -> None:
    from harness import endings

    endings.print_json(value)


def main() -> None:
    """Run a command; every way it can end has its exit code, and 1 is a bug of ours."""
    from harness import endings, process

    words = sys.argv[1:] or ["--help"]
    endings.prepare_streams()
    endings.obey_interrupts()
    try:
        process.keep_private()
        code = app(args=[word for word in words if word != "--debug"], standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:
        code = endings.explain(error, traceback="--debug" in words)
    sys.exit(code or 0)
