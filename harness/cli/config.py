"""The config command: the reference of all config keys.

`python -m harness.cli.config > docs/config.md` makes the page of all keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.options import AsJson

if TYPE_CHECKING:
    from harness.config.reference import Group


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

    if group is not None:
        ranges.one_of("GROUP", group, [declared.name for declared in reference.groups()])
    shown = groups(group)
    if as_json:
        exit_codes.print_json({"groups": [part.to_json() for part in shown]})
    else:
        typer.echo(reference.text(shown))


def groups(name: str | None = None) -> list[Group]:
    """The group of this name, or all; that of remedies is followed by their methods."""
    from harness.config import reference

    shown: list[Group] = []
    for group in reference.groups():
        if name in (None, group.name):
            shown += [group, *(_methods() if group.name == "remedy" else [])]
    return shown


def _methods() -> list[Group]:
    """The methods of remedies, each with its keys; their files need numpy."""
    from harness.config import reference
    from harness.config.run import RemedyConfig, RunConfig
    from harness.train.objective import remedy_stack

    methods = []
    for name in remedy_stack.names():
        (remedy,) = remedy_stack.remedies_of(RunConfig(remedy=RemedyConfig(name, {name: {}})))
        methods.append(reference.method(name, type(remedy)))
    return methods


if __name__ == "__main__":
    from harness.config.reference import markdown

    print(markdown(groups()), end="")
