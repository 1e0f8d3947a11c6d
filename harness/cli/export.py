"""The export command: a run's policy as a Hugging Face folder."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from harness.cli import one_run
from harness.export import base_model, folder, source
from harness.export.source import Source
from harness.utils import safe_text, terminal


@dataclass(frozen=True)
class Wanted:
    """Arguments of the command."""

    run: Path
    target: Path
    step: int | None = None
    merge: bool = False


def export(wanted: Wanted) -> None:
    """Write the folder, and say what is in it.

    Raises DataError for a folder that is no run, and what `source.find`, `folder.check` and
    `folder.write` raise.
    """
    one_run.refuse_another(wanted.run, "export", f" {wanted.target}", takes_step=True)
    found = source.find(wanted.run, wanted.step)
    folder.check(found, wanted.merge, wanted.target)
    for problem in found.passed_over:
        safe_text.say(f"{problem}; an older checkpoint is exported")
    written = folder.write(found, wanted.merge, wanted.target)
    size = terminal.size_shown(sum(path.stat().st_size for path in written.iterdir()))
    print(_line(f"{wanted.target}: step {found.checkpoint.step} of {wanted.run}, {size}"))
    print(_line(_next(found, wanted)))


def _next(found: Source, wanted: Wanted) -> str:
    if not found.is_adapted or wanted.merge:
        return "full weights: load them with AutoModelForCausalLM.from_pretrained; see README.md"
    base = base_model.of(found.config.policy)
    needs = f"adapters, which need {base.described}"
    return f"{needs}; --merge writes full weights" if base.name_to_load is None else needs


def _line(text: str) -> str:
    return terminal.wrapped(safe_text.visible(text), terminal.width(sys.stdout), "  ")
