"""The export command: a run's policy as a Hugging Face folder."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from harness.cli import one_run
from harness.export import base_model, folder, source
from harness.export.source import Source
from harness.utils import safe_text, terminal


@dataclass(frozen=True)
class ExportOptions:
    """Arguments of the command."""

    run: Path
    target: Path
    step: int | None = None
    merge: bool = False


def export(opts: ExportOptions) -> None:
    """Write the folder, and say what is in it.

    Raises DataError for a folder that is no run, and what `source.find`, `folder.check` and
    `folder.write` raise.
    """
    target = shlex.quote(str(opts.target))
    one_run.refuse_another(opts.run, "export", f" {target}", takes_step=True)
    policy_source = source.find(opts.run, opts.step)
    folder.check(policy_source, opts.merge, opts.target)
    for problem in policy_source.passed_over:
        safe_text.say(f"{problem}; an older checkpoint is exported")
    exported = folder.write(policy_source, opts.merge, opts.target)
    size = terminal.format_size(sum(path.stat().st_size for path in exported.iterdir()))
    print(_line(f"{opts.target}: step {policy_source.checkpoint.step} of {opts.run}, {size}"))
    print(_line(_loading_advice(policy_source, opts)))


def _loading_advice(policy_source: Source, opts: ExportOptions) -> str:
    if not policy_source.is_adapted or opts.merge:
        return "full weights: load them with AutoModelForCausalLM.from_pretrained; see README.md"
    base = base_model.of(policy_source.config.policy)
    needs = f"adapters, which need {base.described}"
    return f"{needs}; --merge writes full weights" if base.name_to_load is None else needs


def _line(text: str) -> str:
    return terminal.wrap(safe_text.escape(text), terminal.width(sys.stdout), "  ")
