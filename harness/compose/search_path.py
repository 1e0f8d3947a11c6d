"""The search path of conf/ and sweeps/: the current folder, harness's own folder, plug-ins.

Plug-ins have no sweeps/, and their options do not replace those of the folders before them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from harness.errors import ConfigError, DataError
from harness.records import plain_file
from harness.utils import installation

LONGEST = 60
"""Characters of what was given that an error repeats."""


def roots() -> tuple[Path, ...]:
    """Return the folders searched for conf/ and sweeps/ before plug-ins, in order of precedence."""
    return tuple(dict.fromkeys((Path.cwd().resolve(), installation.shipped())))


def conf_folders() -> tuple[Path, ...]:
    """Return all conf/ folders in order of precedence. Raises as `plug_in_folders` does."""
    return (*_existing_folders("conf"), *plug_in_folders())


def own_conf_folders() -> tuple[Path, ...]:
    """Return the conf/ folder of the current folder, if it exists and is not harness's own."""
    return _existing_folders("conf")[:-1]


def plug_in_folders() -> tuple[Path, ...]:
    """Return the conf/ folders of plug-ins. Raises ConfigError if a named one does not exist."""
    from harness.utils import extensions  # takes 20 ms to import

    return extensions.conf_folders()


def sweep_folders() -> tuple[Path, ...]:
    return _existing_folders("sweeps")


def options(group: str) -> list[str]:
    """Return the names that GROUP=NAME accepts, from all conf/ folders."""
    return _names(folder / group for folder in conf_folders())


def sweep_names() -> list[str]:
    """Return the names that +sweeps=NAME accepts."""
    return _names(sweep_folders())


def option_file(group: str, name: str) -> Path | None:
    """Return the file that GROUP=NAME reads: the first one found."""
    return _first_existing(folder / group / f"{name}.yaml" for folder in conf_folders())


def sweep_file(name: str) -> Path | None:
    """Return the file that +sweeps=NAME reads."""
    return _first_existing(folder / f"{name}.yaml" for folder in sweep_folders())


def study_names() -> list[str]:
    """Return the names that `harness study NAME` accepts."""
    return _names(_study_folders())


def study_file(name: str) -> Path | None:
    """Return the file of a study; None if there is none, or if `name` is a path."""
    return (
        _first_existing(folder / f"{name}.yaml" for folder in _study_folders())
        if _is_plain_name(name)
        else None
    )


def _study_folders() -> list[Path]:
    return [folder / "studies" for folder in sweep_folders()]


def _is_plain_name(name: str) -> bool:
    return name == Path(name).name and not name.startswith(".")


def read_yaml(path: Path) -> dict[str, object]:
    """Read the mapping in `path`. Raises ConfigError, naming the file, for anything else."""
    if not path.is_file():
        raise ConfigError(f"{path}: must be a file, got {_describe_other(path)}")
    try:
        values = plain_file.yaml_values(path)
    except DataError as error:
        raise ConfigError(str(error)) from error
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        description = (
            "names that are not text" if isinstance(values, dict) else _format_given(values)
        )
        raise ConfigError(f"{path}: must be a mapping of names to values, got {description}")
    return values


def _describe_other(path: Path) -> str:
    if path.is_symlink():
        return f"a link to {path.readlink()}, which is not one"
    return "a folder" if path.is_dir() else "a pipe or a device" if path.exists() else "none"


def _format_given(value: object) -> str:
    if value is None:
        return "an empty file"
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _existing_folders(name: str) -> tuple[Path, ...]:
    return tuple(root / name for root in roots() if (root / name).is_dir())


def _names(folders: Iterable[Path]) -> list[str]:
    return sorted({file.stem for folder in folders for file in folder.glob("*.yaml")})


def _first_existing(files: Iterable[Path]) -> Path | None:
    return next((file for file in files if file.exists() or file.is_symlink()), None)
