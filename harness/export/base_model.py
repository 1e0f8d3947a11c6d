"""The model that a policy started from: by which name others can have it, and its license."""

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
"""Of a start model that was built from this project's phrases."""
LICENSE = re.compile(r"^license: *([a-z0-9][a-z0-9.\-]{1,40}) *$", re.MULTILINE)
FRONT_MATTER = re.compile(r"---\n(.*?\n)---\n", re.DOTALL)


@dataclass(frozen=True)
class BaseModel:
    """What a card says of the model that training began with."""

    described: str
    name: str | None = None
    """Its id on the hub; None of one that is not there."""
    name_to_load: str | None = None
    """The arguments by which transformers loads the very weights; None where nothing has them by
    name."""
    license: str | None = None
    """As the hub abbreviates it; None where it is not known."""


def of(policy: PolicyConfig) -> BaseModel:
    """What is known of a policy's start model without loading it."""
    if policy.kind == "tiny":
        return BaseModel("a small model that harness builds and teaches", license=OWN_LICENSE)
    if policy.init == "random":
        return BaseModel(f"random weights in the shape of {policy.architecture}")
    if policy.model in embedded.MODELS:
        one = embedded.MODELS[policy.model]
        described = f"{one.origin}, in the 4-bit weights of the package {one.package} {one.version}"
        return BaseModel(described, one.origin, None, one.license)
    folder = model_files.present(policy)
    license = _license(folder / "README.md") if folder is not None else None
    if not model_files.is_on_the_hub(policy):
        return BaseModel(f"the model in a folder named {Path(policy.model).name}", license=license)
    revision = f", revision={literal(policy.revision)}" if policy.revision else ""
    at = f" at {policy.revision}" if policy.revision else ""
    loaded = f"{literal(policy.model)}{revision}"
    return BaseModel(f"{policy.model}{at}", policy.model, loaded, license)


def _license(card: Path) -> str | None:
    """The license that a model's own card states in its front matter."""
    with contextlib.suppress(DataError, OSError):
        block = FRONT_MATTER.match(plain_file.text(card))
        stated = LICENSE.search(block[1]) if block else None
        return stated[1] if stated else None
    return None
