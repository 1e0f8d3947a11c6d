"""The folder that harness is installed in, and the command that installs an extra."""

from __future__ import annotations

from pathlib import Path


def shipped() -> Path:
    """Return the folder with harness's own conf/ and sweeps/: the package, or the checkout."""
    package = Path(__file__).resolve().parents[1]
    return package if (package / "conf").is_dir() else package.parent


def install_command(extra: str) -> str:
    """Return the command that installs harness with `extra`."""
    in_checkout = (shipped() / "pyproject.toml").is_file()
    return (
        f"pip install -e '.[{extra}]'" if in_checkout else f"pip install 'empathy-harness[{extra}]'"
    )
