"""The model that a policy started from: the name by which others can load it, and its license."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

from harness.config.run import PolicyConfig
from harness.embedded import models as embedded
from harness.errors import DataError
from harness.export.markdown import literal
from harness.policy import model_files
from harness.records import plain_file

OWN_LICENSE = "mit"
"""License of start models that were trained on this project's phrases."""
LICENSE = re.compile(r"^license: *([a-z0-9][a-z0-9.\-]{1,40}) *$", re.MULTILINE)
FRONT_MATTER = re.compile(r"---\n(.*?\n)---\n", re.DOTALL)


@dataclass(frozen=True)
class BaseModel:
    """Description of the start model for the model card."""

    described: str
    name: str | None = None
    """Id on the hub; None if it is not there."""
    name_to_load: str | None = None
    """Arguments with which from_pretrained loads exactly these weights; None if that is not
    possible by name."""
    license: str | None = None
    """The hub's abbreviation of the license; None if unknown."""


def of(policy: PolicyConfig) -> BaseModel:
    """Describe a policy's start model without loading it."""
    if policy.kind == "tiny":
        return BaseModel("a small model that harness builds and teaches", license=OWN_LICENSE)
    if policy.init == "random":
        return BaseModel(f"random weights in the shape of {policy.architecture}")
    if policy.model in embedded.MODELS:
        model = embedded.MODELS[policy.model]
        described = (
            f"{model.origin}, in the 4-bit weights of the package {model.package} {model.version}"
        )
        return BaseModel(described, model.origin, None, model.license)
    folder = model_files.present(policy)
    license = _license(folder / "README.md") if folder is not None else None
    if not model_files.is_on_the_hub(policy):
        return BaseModel(f"the model in a folder named {Path(policy.model).name}", license=license)
    revision = f", revision={literal(policy.revision)}" if policy.revision else ""
    suffix = f" at {policy.revision}" if policy.revision else ""
    arguments = f"{literal(policy.model)}{revision}"
    return BaseModel(f"{policy.model}{suffix}", policy.model, arguments, license)


def _license(card: Path) -> str | None:
    """Read the license in the front matter of a model's own card; None if there is none."""
    with contextlib.suppress(DataError, OSError):
        block = FRONT_MATTER.match(plain_file.text(card))
        stated = LICENSE.search(block[1]) if block else None
        return stated[1] if stated else None
    return None
