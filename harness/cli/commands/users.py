"""Commands about simulated users: how demanding they are, and a conversation with one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options

Cards = Annotated[
    Path | None, options.path("--out", "PATH", "Results folder; by default calibration/.")
]
Esconv = Annotated[
    Path | None,
    options.path(
        "--esconv",
        "FILE",
        "Measure instead how well users recognise the strategies in a file of ESConv.",
    ),
]
Reveal = Annotated[
    bool, typer.Option("--reveal", help="Also show the user's goal and why their emotion changed.")
]


def calibrate(
    overrides: options.Overrides = None,
    as_json: options.AsJson = False,
    out: Cards = None,
    esconv: Esconv = None,
    formats: options.PictureFormat = None,
) -> None:
    """Measure how demanding and how valid simulated users are.

    Measures each difficulty level. Uses fixed replies and fixed reference policies; nothing is
    trained. With simulator=served, tests whether the model that plays the user is admitted; if
    not, the exit code is 3.
    Example: harness calibrate difficulty=easy,hard
    """
    from harness.cli import calibrate as command

    words = tuple(formats or ())
    if esconv is not None:
        command.hearing(esconv, overrides or [], out, words, as_json=as_json)
    else:
        raise typer.Exit(command.calibrate(overrides or [], out, words, as_json=as_json))


def chat(
    overrides: options.Overrides = None,
    reveal: Reveal = False,
    as_json: options.AsJson = False,
) -> None:
    """Play the supporter yourself in one conversation.

    Each line you type, or pipe in, is one reply. Example: harness chat difficulty=hard seed=3
    """
    from harness.cli import chat as command

    raise typer.Exit(command.chat(overrides or [], reveal=reveal, as_json=as_json))


def probe_simulator(overrides: options.Overrides = None) -> None:
    """Hold one conversation with a served simulator.

    Reports emotions, latencies, and whether the endpoint enforces the JSON schema.
    Example: harness probe-simulator simulator.model=M
    """
    from harness.cli import probe_simulator as command

    raise typer.Exit(command.probe(overrides or []))
