"""The commands as Typer reads them: signature, help, call. What a command does is its own file.

They stand together here because `harness --help` loads all of them: at module level only typer and
options are imported, and each command imports what it runs when it runs.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from harness.cli import options
from harness.cli.config import config
from harness.cli.profiles import profiles

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich takes longer to load than all else that --help needs
    help="Sweep the difficulty of a simulated user and test whether entropy collapse explains "
    "where training stalls.",
    epilog="`harness COMMAND --help` describes a command.",
)


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


@app.command()
def sweep(
    overrides: options.Overrides = None,
    dry_run: options.DryRun = False,
    as_json: options.AsJson = False,
    on_failure: options.OnFailureOption = options.OnFailure.CONTINUE,
    retries: options.Retries = 2,
) -> None:
    """Run every combination of the swept values.

    Example: harness sweep difficulty=easy,medium,hard 'seed=range(1,4)'
    """
    from harness.cli import sweep as command

    raise typer.Exit(
        command.sweep(
            overrides or [],
            dry_run=dry_run,
            as_json=as_json,
            stop_on_failure=on_failure is options.OnFailure.STOP,
            retries=retries,
        )
    )


@app.command()
def train(
    folder: options.RunDir, overrides: options.Overrides = None, events: options.EventsOption = None
) -> None:
    """Train one run in the foreground.

    Example: harness train difficulty=hard --dir runs/one
    """
    from harness.execution import foreground

    foreground.begin(folder, overrides or [], events)


@app.command()
def resume(
    folder: options.RunOrSweep,
    events: options.EventsOption = None,
    stop_again: options.StopAgain = False,
) -> None:
    """Continue a run, or the unfinished runs of a sweep."""
    from harness.cli import status as command

    raise typer.Exit(command.resume(folder, events, stop_again))


@app.command()
def status(folder: options.RunOrSweep, as_json: options.AsJson = False) -> None:
    """Show the progress of a run or a sweep."""
    from harness.cli import status as command

    command.status(folder, as_json=as_json)


@app.command("fit-entropy-law")
def fit_entropy_law(
    paths: options.Logs,
    as_json: options.AsJson = False,
    out: options.Results = None,
    reward: options.Reward = None,
    entropy: options.Entropy = None,
    step: options.Step = None,
    explain: options.Explain = False,
    figures: options.FiguresOption = options.Figures.AUTO,
    forecast_from: options.ForecastFrom = None,
    pool_unlike: options.PoolUnlike = False,
    margin: options.Margins = None,
    with_unfinished: options.WithUnfinished = False,
    reward_range: options.RewardRange = None,
) -> None:
    """Fit the law R = -a exp(H) + b and compare groups of runs.

    Every run at or below PATH gets intervals, the onset of collapse and a verdict on the law;
    tables and figures go to the results folder.
    """
    # before numpy is imported: its arrays are short here, and the processes share the cores
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from harness.execution import gpu_lease
    from harness.utils import process_pool

    with process_pool.others(gpu_lease.cores()) as pool:
        if process_pool.likely_many(paths):  # the others import what this process does, meanwhile
            drawing = "harness.report.figures.matplotlib_loader"
            needed = () if figures is options.Figures.NONE else (drawing,)
            process_pool.prepare(pool, "harness.law.analysis", *needed)
        from harness.cli import fit

        wanted = fit.Wanted(
            tuple(paths), out, reward, entropy, figures.value, pool_unlike, forecast_from,
            tuple(margin or ()), with_unfinished, step, reward_range,
        )  # fmt: skip
        raise typer.Exit(fit.fit(wanted, as_json=as_json, explain=explain, pool=pool))


@app.command()
def report(
    paths: options.Logs,
    out: options.ReportFile = None,
    as_json: options.AsJson = False,
    reward: options.Reward = None,
    entropy: options.Entropy = None,
    step: options.Step = None,
    reward_range: options.RewardRange = None,
) -> None:
    """Show runs, a sweep or a study in one HTML file that needs no network.

    Answer, tables, figures, cards, config and conversations, for reading and for sending.
    Example: harness report runs/study-mine --out mine.html
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported
    from harness.execution import gpu_lease
    from harness.utils import process_pool

    with process_pool.others(gpu_lease.cores()) as pool:
        if process_pool.likely_many(paths):
            process_pool.prepare(pool, "harness.law.analysis")
        from harness.cli import report as command

        wanted = command.Wanted(tuple(paths), out, reward, entropy, step, reward_range)
        raise typer.Exit(command.report(wanted, as_json=as_json, pool=pool))


@app.command()
def watch(
    paths: options.Logs,
    once: options.Once = False,
    as_json: options.AsJson = False,
    events: options.EventsOption = None,
    reward: options.Reward = None,
    entropy: options.Entropy = None,
    step: options.Step = None,
    steps: options.Steps = None,
    reward_range: options.RewardRange = None,
    idle: options.Idle = 600.0,
) -> None:
    """Follow logs while they are written, and say when a run has nothing more to gain.

    Ends when every run has ended; --json looks once. Example: harness watch runs/one
    """
    from harness.cli import watch as command

    command.watch_words(
        tuple(paths), (reward, entropy, step), steps, reward_range, idle,
        once=once, as_json=as_json, as_events=events is not None,
    )  # fmt: skip


@app.command()
def view(
    run: options.ViewedRun,
    step: options.SavedStep = None,
    level: options.ViewedLevel = None,
    worst: options.Worst = False,
    best: options.Best = False,
    limit: options.Limit = None,
    as_json: options.AsJsonLines = False,
) -> None:
    """Read the conversations of a run: what was said, heard and felt, and why.

    Without options: of the last saved step, the worst, the middle and the best by reward.
    Example: harness view runs/one --step 25 --worst
    """
    from harness.cli import view as command

    command.view(command.Wanted(run, step, level, worst, best, limit), as_json=as_json)


@app.command()
def variance(
    paths: options.Logs,
    as_json: options.AsJson = False,
    on: options.On = "own",
    half_width: options.HalfWidth = 0.05,
) -> None:
    """Show how much of the spread of reward is seed, user, repeat, level and simulator.

    Also says how many seeds, users and repeats give a stated half-width at the least cost, and how
    many conversations a step keep noise below a tenth of the fall of entropy.
    Example: harness variance runs/ --half-width 0.03
    """
    from harness.cli import variance as command

    command.variance(tuple(paths), on, half_width, as_json=as_json)


@app.command()
def plan(
    overrides: options.Overrides = None,
    effect: options.EffectOption = "gain=0.05",
    pilot: options.PilotOption = None,
    power: options.PowerOption = 0.8,
    out: options.PlanResults = None,
    as_json: options.AsJson = False,
) -> None:
    """Say how many seeds decide a stated difference between levels, and what they cost.

    Nothing is trained. Spreads are those of a pilot, or of the shipped runs of the tabular policy.
    Example: harness plan policy=tabular difficulty=easy,hard --effect gain=0.05
    """
    from harness.cli import plan as command

    command.plan(command.Wanted(tuple(overrides or ()), effect, pilot, power, out, as_json))


@app.command()
def study(
    name: options.StudyName = "",
    overrides: options.Overrides = None,
    folder: options.StudyDir = None,
    beside: options.Beside = None,
    dry_run: options.DryRun = False,
    as_json: options.AsJson = False,
) -> None:
    """Run a preregistered study and judge its hypotheses.

    Example: harness study does_collapse_explain 'seed=range(1,11)'
    """
    from harness.cli import study as command

    wanted = command.Wanted(name, tuple(overrides or ()), folder, as_json, dry_run, beside)
    raise typer.Exit(command.study(wanted))


@app.command()
def calibrate(
    overrides: options.Overrides = None,
    as_json: options.AsJson = False,
    out: options.Cards = None,
    esconv: options.Esconv = None,
) -> None:
    """Measure how demanding each difficulty level is, and how valid its user.

    Uses fixed replies and fixed reference policies; nothing is trained. With simulator=served it
    is the admission test of the model that plays the user, and exit code 3 says: not admitted.
    Example: harness calibrate difficulty=easy,hard
    """
    from harness.cli import calibrate as command

    if esconv is not None:
        command.hearing(esconv, overrides or [], out, as_json=as_json)
    else:
        raise typer.Exit(command.calibrate(overrides or [], out, as_json=as_json))


@app.command()
def chat(
    overrides: options.Overrides = None,
    reveal: options.Reveal = False,
    as_json: options.AsJson = False,
) -> None:
    """Play the supporter yourself in one conversation.

    Each line you type, or pipe in, is one reply. Example: harness chat difficulty=hard seed=3
    """
    from harness.cli import chat as command

    raise typer.Exit(command.chat(overrides or [], reveal=reveal, as_json=as_json))


@app.command("probe-simulator")
def probe_simulator(overrides: options.Overrides = None) -> None:
    """Hold one conversation with a served simulator.

    Reports emotions, latencies, and whether the endpoint enforces the JSON schema.
    Example: harness probe-simulator simulator.model=M
    """
    from harness.cli import probe_simulator as command

    raise typer.Exit(command.probe(overrides or []))


app.add_typer(profiles, name="profiles")
app.command()(config)


@app.command()
def verify(path: options.AnyRuns, as_json: options.AsJson = False) -> None:
    """Check that the files of runs are undamaged.

    Checks metrics, checkpoints, config, start model and conversations, and changes nothing. Exit
    code: 0 if all runs are undamaged, 3 if some are damaged, 65 if all are or there are none.
    """
    from harness.cli import verify as command

    raise typer.Exit(command.verify(path, as_json=as_json))


@app.command()
def trust(
    host: options.Host = None, variable: options.Variable = None, remove: options.Remove = False
) -> None:
    """Allow an API key to be sent to a host.

    The permission also holds where a file, not the command line, names the two. Without
    arguments, all permissions are listed. Example: harness trust localhost:8000 MY_KEY
    """
    from harness.cli import trust as command

    command.trust(host, variable, remove=remove)


@app.command()
def doctor(as_json: options.AsJson = False) -> None:
    """Check that this machine is ready.

    Checks Python, packages, GPUs, memory and folders, and says how to fix each problem.
    """
    from harness.cli import doctor as command

    raise typer.Exit(command.doctor(as_json=as_json))


def main() -> None:
    """Run a command; every way it can end has its exit code, and 1 is a bug of ours."""
    from harness.cli import exit_codes
    from harness.utils import process

    words = sys.argv[1:] or ["--help"]
    if "--debug" in words:
        os.environ[process.DEBUG] = "1"
    exit_codes.prepare_streams()
    exit_codes.obey_interrupts()
    try:
        process.keep_private()
        code = app(args=[word for word in words if word != "--debug"], standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:
        code = exit_codes.explain(error, traceback="--debug" in words)
    finally:
        if "--debug" in words:  # for this command's runs alone, where main is called in a program
            os.environ.pop(process.DEBUG, None)
    sys.exit(code or 0)
