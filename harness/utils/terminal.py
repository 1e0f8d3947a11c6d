"""The terminal as a sink: rich Text only, so that no name of a run is markup or an escape."""

from __future__ import annotations

from rich.text import Text

from harness.utils.escape import visible


def text(value: object, style: str = "") -> Text:
    """`value` shown literally: no markup, no emoji codes, no links, no control characters."""
    return Text(visible(str(value)), style=style)
