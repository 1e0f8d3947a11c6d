"""Lines that express a user's intention, shared by all simulators."""

from __future__ import annotations

from pathlib import Path

from harness.config.run import INTENTIONS
from harness.simulator.data_files import TableRules, tables

KINDS_OF_NEED = ("emotional", "rational")
NEEDS = tables(
    Path(__file__).with_name("need_lines.tsv"),
    {f"need.{style}": TableRules(INTENTIONS) for style in ("free", "more", "tell", "hint", "met")}
    | {f"oblique.{weight}": TableRules(KINDS_OF_NEED) for weight in ("heavy", "met")},
)
"""Lines by table and key. `need.*`: said outright, after a reply that helped, before something is
told, as a hint, and once the need weighs less. `oblique.*`: for a need that is never named."""
