"""Lines that bear on what a user came for: how intentions sound, whoever plays the user."""

from __future__ import annotations

from pathlib import Path

from harness.config.run import INTENTIONS
from harness.simulator.data_files import Table, tables

KINDS_OF_NEED = ("emotional", "rational")
NEEDS = tables(
    Path(__file__).with_name("need_lines.tsv"),
    {f"need.{shown}": Table(INTENTIONS) for shown in ("free", "more", "tell", "hint", "met")}
    | {f"oblique.{weight}": Table(KINDS_OF_NEED) for weight in ("heavy", "met")},
)
"""By table and key: said outright, after a reply that helped, before something is told, hinted at,
what is left once it weighs less, and what shows of a need that is never spoken of."""
