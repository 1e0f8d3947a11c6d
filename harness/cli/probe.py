"""The probe command: a question about a trained policy, answered in conversations."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from harness.cli import exit_codes, one_run, options
from harness.errors import EXIT_PARTIAL, ConfigError, DataError
from harness.probes import answer_files, ask, expected, registry, show
from harness.probes.quantity import ItemChoice, Probe
from harness.records import policy_file
from harness.report import formats
from harness.utils import safe_text

EVERY_S = 5.0


@dataclass(frozen=True)
class ProbeOptions:
    """Arguments of the command."""

    name: str
    run: Path
    step: int | None = None
    along: bool = False
    against: str = ask.BY_START
    users: int | None = None
    repeats: int | None = None
    items: Path | None = None
    first: int | None = None
    out: Path | None = None
    as_json: bool = False
    formats: tuple[str, ...] = ()


def probe(opts: ProbeOptions) -> int:
    """Ask the probe, write and print the answer. Return 0, or 3 if the last checkpoint is damaged
    and an older one was asked.

    Raises ConfigError for a question that this policy cannot answer, DataError for a folder that is
    no run, EndpointError if served users do not answer, StorageError.
    """
    question = _request(opts)
    pictures = formats.pictures(opts.formats)
    if opts.along and opts.step is not None:
        raise ConfigError(f"--along asks every step, so --step cannot be given, got {opts.step}")
    if not policy_file.is_model(opts.run):
        one_run.refuse_another(opts.run, f"probe {opts.name}", takes_step=True)
    _refuse_against(opts)
    question = replace(question, out=_folder(opts, question.folder, pictures))
    probed = ask.ask(question, _progress())
    answer_files.write(probed, question.folder, pictures)
    with exit_codes.tolerate_closed_stdout():
        if opts.as_json:
            print(json.dumps(probed.to_json(), indent=1, allow_nan=False))
        else:
            show.show(probed, Console())
    safe_text.say(f"results in {question.folder}")
    return EXIT_PARTIAL if probed.passed_over else 0


def _request(opts: ProbeOptions) -> ask.ProbeRequest:
    chosen = registry.get(opts.name)
    _refuse_options_of_others(chosen, opts)
    users = expected.USERS if opts.users is None else opts.users
    choice = ItemChoice(opts.items, opts.first)
    return ask.ProbeRequest(
        chosen, opts.run, opts.step, opts.along, opts.against, users, opts.repeats, choice,
        opts.out,
    )  # fmt: skip


def _folder(opts: ProbeOptions, default: Path, pictures: Sequence[str]) -> Path:
    """Return the folder of the answer. Raises an error if it cannot be written, before anything is
    asked.
    """
    out = options.results_folder(opts.out, default)
    if opts.out is not None:
        answer_files.refuse_others(out, pictures)
    return out


def _refuse_against(opts: ProbeOptions) -> None:
    """Raise DataError if --against names neither `start` nor a folder with a policy."""
    other = Path(opts.against)
    try:
        if opts.against != ask.BY_START and not policy_file.is_model(other):
            command = f"probe {opts.name} {shlex.quote(str(opts.run))} --against"
            one_run.refuse_another(other, command)
    except DataError as error:
        raise DataError(f"--against {error}") from error


def _refuse_options_of_others(chosen: Probe, opts: ProbeOptions) -> None:
    """Raise ConfigError for an option that has no effect on this probe."""
    user_options = {"--users": opts.users, "--repeats": opts.repeats}
    item_options = {"--items": opts.items, "--first": opts.first}
    subject = "items" if chosen.battery is not None else "users"
    for option, value in (user_options if chosen.battery is not None else item_options).items():
        if value is not None:
            rule = f"must be given with another probe, since {chosen.name} uses {subject}"
            raise ConfigError(f"{option} {rule}, got {value}")


def _progress() -> ask.Say:
    """Print the number of conversations held so far, at most every EVERY_S seconds. The count of
    zero is printed on a terminal only.
    """
    last = time.monotonic()

    def say(name: str, done: int, total: int) -> None:
        nonlocal last
        if done == 0 and not sys.stderr.isatty():
            return
        if time.monotonic() - last >= EVERY_S:
            last = time.monotonic()
            safe_text.say(f"{name}: {done} of {total}")

    return say
