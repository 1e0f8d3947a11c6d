"""Commands: parse, call, print. At module level only typer and options are imported: each
command imports what it runs, so that `harness --help` is as quick as Python itself allows.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.cli.options import (
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
from harness.cli.profiles import profiles
from harness.cli.study_command import study
from harness.cli.trust_command import trust
from harness.cli.verify_command import verify

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
    from harness.compose import planner, typed_grants
    from harness.execution import disk_space, gpu_lease, launcher, preflight

    words = overrides or []
    plan = planner.plan(words)
    configs, granted = [point.config for point in plan.points], typed_grants.grants(words)
    if dry_run:
        from harness.cli import dry_run as dry_runs

        dry_runs.show(plan, as_json, granted)
        return
    if launcher.is_local(words):
        gpu_lease.check(configs)
    sends = preflight.check(configs, granted)
    from harness.cli import exit_codes
    from harness.cli import status as listing
    from harness.execution import ledger
    from harness.execution import sweep as sweeps
    from harness.execution.retry import IfFailed

    disk_space.check(configs, ledger.runs_folder())
    preflight.tell(sends)
    if_failed = IfFailed(on_failure is OnFailure.STOP, retries)
    made = ledger.create(plan, words)
    count = len(made.runs)
    exit_codes.say(f"{count} run{'s' * (count != 1)} in {made.dir}")
    known, code = sweeps.execute(Path(str(made.dir)), if_failed, told=sends)
    if as_json:
        _print_json(known.to_json())
    for line in listing.closing(known, code):
        exit_codes.say(line)
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
    from harness.execution import foreground

    foreground.begin(folder, overrides or [], events)


@app.command()
def resume(folder: RunOrSweep, events: EventsOption = None) -> None:
    """Continue a run, or a sweep's unfinished runs."""
    from harness.cli import exit_codes
    from harness.cli import status as listing
    from harness.execution import resume as resuming

    known, code = resuming.resume(folder, events)
    for line in listing.closing(known, code):
        exit_codes.say(line)
    raise typer.Exit(code)


@app.command()
def status(folder: RunOrSweep, as_json: AsJson = False) -> None:
    """Say how a run or a sweep stands."""
    from harness.cli import status as listing
    from harness.execution import resume as resuming
    from harness.utils.escape import visible

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
    from harness.execution import gpu_lease
    from harness.utils import process_pool

    with process_pool.others(gpu_lease.cores()) as pool:
        if process_pool.likely_many(paths):  # the others import what this process does, meanwhile
            drawing = (
                () if figures is Figures.NONE else ("harness.report.figures.matplotlib_loader",)
            )
            process_pool.prepare(pool, "harness.law.many_runs", *drawing)
        from harness.cli import fit

        wanted = fit.Wanted(
            tuple(paths), out, reward, entropy, figures.value, pool_unlike, forecast_from,
            tuple(margin or ()), with_unfinished,
        )  # fmt: skip
        raise typer.Exit(fit.fit(wanted, as_json=as_json, explain=explain, pool=pool))


@app.command()
def calibrate(
    overrides: Overrides = None,
    as_json: AsJson = False,
    out: Cards = None,
) -> None:
    """Measure how demanding levels are.

    By replies and supporters that never learn: harness calibrate difficulty=easy,hard
    """
    from harness.cli import calibrate as calibrating

    calibrating.calibrate(overrides or [], out, as_json=as_json)


@app.command()
def chat(overrides: Overrides = None, reveal: Reveal = False, as_json: AsJson = False) -> None:
    """Talk to a user as their supporter.

    Typed, or piped in a line a reply: harness chat difficulty=hard seed=3
    """
    from harness.cli import chat as chatting

    raise typer.Exit(chatting.chat(overrides or [], reveal=reveal, as_json=as_json))


@app.command("probe-simulator")
def probe_simulator(overrides: Overrides = None) -> None:
    """Have one real conversation with a served user.

    With emotions, latencies and whether a schema binds: harness probe-simulator simulator.model=M
    """
    from harness.cli import probe_simulator as probing

    raise typer.Exit(probing.probe(overrides or []))


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Check that this machine is ready.

    Python, packages, devices, memory, folders; each problem comes with what to do.
    """
    from harness.cli import doctor as doctors

    findings = doctors.examine()
    if as_json:
        _print_json(doctors.to_json(findings))
    for finding in [] if as_json else findings:
        typer.echo(doctors.line(finding))
    raise typer.Exit(doctors.exit_code(findings))


def _print_json(value: Any) -> None:
    from harness.cli import exit_codes

    exit_codes.print_json(value)


def main() -> None:
    """Run a command; every way it can end has its exit code, and 1 is a bug of ours."""
    from harness.cli import exit_codes
    from harness.utils import process

    words = sys.argv[1:] or ["--help"]
    exit_codes.prepare_streams()
    exit_codes.obey_interrupts()
    try:
        process.keep_private()
        code = app(args=[word for word in words if word != "--debug"], standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:
        code = exit_codes.explain(error, traceback="--debug" in words)
    sys.exit(code or 0)
