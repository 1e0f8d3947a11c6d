"""The config command: the reference of all config keys.

`python -m harness.cli.config > docs/config.md` makes the page of all keys, whatever plug-ins
are installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.options import AsJson

if TYPE_CHECKING:
    from harness.config.reference import KeyGroup


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
    key_groups = groups(group)
    if as_json:
        exit_codes.print_json({"groups": [part.to_json() for part in key_groups]})
    else:
        typer.echo(reference.text(key_groups))


def groups(name: str | None = None, plug_ins: bool = True) -> list[KeyGroup]:
    """The group of this name, or all; each is followed by what algorithms and remedies declare in
    it, those of plug-ins too if `plug_ins`.
    """
    from harness.config import reference

    key_groups: list[KeyGroup] = []
    for group in reference.groups():
        if name in (None, group.name):
            key_groups += [group, *_declared_keys(group.name, plug_ins)]
    return key_groups


def _declared_keys(group: str, plug_ins: bool) -> list[KeyGroup]:
    """The keys below a group's open key, such as those of each remedy."""
    from harness import register
    from harness.config import reference

    if group not in ("algorithm", "remedy"):
        return list(reference.of_plug_ins(group)) if plug_ins else []
    from harness.train.objective import registry  # which needs numpy

    all_names = registry.algorithm_names() if group == "algorithm" else registry.remedy_names()
    names = all_names if plug_ins else register.our_names(group)
    if group == "algorithm":
        algorithms = {name: registry.algorithm_class(name) for name in names}
        key_groups = [
            reference.of_options(f"algorithm={n}", item) for n, item in algorithms.items()
        ]
        return [key_group for key_group in key_groups if key_group.keys]
    remedies = {name: registry.remedy_class(name) for name in names}
    return [reference.of_options(f"remedy.methods.{n}", item) for n, item in remedies.items()]


if __name__ == "__main__":
    from harness.config.reference import markdown

    print(markdown(groups(plug_ins=False)), end="")
