"""The verify command, for cli.py."""

from __future__ import annotations

import typer

from harness.cli.options import AnyRuns, AsJson


def verify(path: AnyRuns, as_json: AsJson = False) -> None:
    """Check that runs are as they were written.

    Rows, checkpoints, config, start model, conversations; nothing is changed. Exit code 0 if all
    runs are whole, 3 if some are damaged, 65 if all are or there is none.
    """
    from harness.cli import verify as verifying

    raise typer.Exit(verifying.verify(path, as_json=as_json))
