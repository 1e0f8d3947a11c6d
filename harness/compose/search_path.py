"""The search path of conf/ and sweeps/: the current folder, what came with harness, plug-ins.

A plug-in brings no sweeps, and nothing of it takes the place of what comes before.
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
    """Folders searched for conf/ and sweeps/ before plug-ins, the one that wins first."""
    return tuple(dict.fromkeys((Path.cwd().resolve(), installation.shipped())))


def conf_folders() -> tuple[Path, ...]:
    """All of them, the one that wins first. Raises ConfigError as `plug_in_folders` does."""
    return (*_present("conf"), *plug_in_folders())


def own_conf_folders() -> tuple[Path, ...]:
    """Those that come before harness's own: that of the current folder, if there is one."""
    return _present("conf")[:-1]


def plug_in_folders() -> tuple[Path, ...]:
    """Those that plug-ins bring. Raises ConfigError for a plug-in that names one and has none."""
    from harness.utils import extensions  # which takes 20 ms to import

    return extensions.conf_folders()


def sweep_folders() -> tuple[Path, ...]:
    return _present("sweeps")


def options(group: str) -> list[str]:
    """Names that GROUP=NAME accepts, from every conf folder."""
    return _names(folder / group for folder in conf_folders())


def sweep_names() -> list[str]:
    """Names that +sweeps=NAME accepts."""
    return _names(sweep_folders())


def option_file(group: str, name: str) -> Path | None:
    """The file that GROUP=NAME reads: the first found wins."""
    return _first(folder / group / f"{name}.yaml" for folder in conf_folders())


def sweep_file(name: str) -> Path | None:
    """The file that +sweeps=NAME reads."""
    return _first(folder / f"{name}.yaml" for folder in sweep_folders())


def study_names() -> list[str]:
    """Names that `harness study NAME` accepts."""
    return _names(_study_folders())


def study_file(name: str) -> Path | None:
    """The file of a study; None also for what is no plain name."""
    return _first(folder / f"{name}.yaml" for folder in _study_folders()) if _plain(name) else None


def _study_folders() -> list[Path]:
    return [folder / "studies" for folder in sweep_folders()]


def _plain(name: str) -> bool:
    return name == Path(name).name and not name.startswith(".")


def read_yaml(path: Path) -> dict[str, object]:
    """The mapping in `path`. Raises ConfigError, naming file and line, for anything else."""
    if not path.is_file():
        raise ConfigError(f"{path}: must be a file, got {_instead(path)}")
    try:
        values = plain_file.yaml_values(path)
    except DataError as error:
        raise ConfigError(str(error)) from error
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        given = "names that are not text" if isinstance(values, dict) else _given(values)
        raise ConfigError(f"{path}: must be a mapping of names to values, got {given}")
    return values


def _instead(path: Path) -> str:
    if path.is_symlink():
        return f"a link to {path.readlink()}, which is not one"
    return "a folder" if path.is_dir() else "a pipe or a device" if path.exists() else "none"


def _given(value: object) -> str:
    if value is None:
        return "an empty file"
    shown = repr(value)
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}..."


def _present(name: str) -> tuple[Path, ...]:
    return tuple(root / name for root in roots() if (root / name).is_dir())


def _names(folders: Iterable[Path]) -> list[str]:
    return sorted({file.stem for folder in folders for file in folder.glob("*.yaml")})


def _first(files: Iterable[Path]) -> Path | None:
    return next((file for file in files if file.exists() or file.is_symlink()), None)
