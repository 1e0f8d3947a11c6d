"""The config command: the reference of all config keys."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli.options import AsJson


def config(
    group: Annotated[
        str | None,
        typer.Argument(metavar="GROUP", help="Group of keys, such as trainer; omit for all."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the config keys.

    Prints type, range, default, unit and meaning of each: harness config trainer
    """
    from harness.cli import exit_codes
    from harness.config import ranges, reference

    groups = reference.groups()
    if group is not None:
        ranges.one_of("GROUP", group, [known.name for known in groups])
    ours = [known for known in groups if group in (None, known.name)]
    shown = [part for own in ours for part in (own, *reference.of_plug_ins(own.name))]
    if as_json:
        exit_codes.print_json({"groups": [known.to_json() for known in shown]})
    else:
        typer.echo(reference.text(shown))
