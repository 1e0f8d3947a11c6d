"""What is not to be trusted: an endpoint that wants a key, a pickle and YAML that grows."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.compose.planner import plan
from harness.execution import ledger
from harness.testing.commands import TABULAR
from tests.simulator.endpoint import Endpoint

Record = Callable[[str, object], None]
KEY = "sk-CANARY-trust-0123456789"
SHORT = (
    *TABULAR, "trainer.steps=1", "difficulty.turn_cap=1", "simulator.model=m", "simulator.retries=0"
)  # fmt: skip


def settings() -> Path:
    return Path(os.environ["HARNESS_CONFIG"]) / "trust.json"


def host(endpoint: Endpoint) -> str:
    return endpoint.url.removeprefix("http://").removesuffix("/v1")


def words(endpoint: Endpoint) -> tuple[str, ...]:
    return (
        "simulator=served", f"simulator.base_url={endpoint.url}", "simulator.api_key_env=SIM_KEY"
    )  # fmt: skip


def served(endpoint: Endpoint) -> str:
    """The keys of a served user, as they stand in an option's file."""
    return f"kind: served\nmodel: m\nbase_url: {endpoint.url}\napi_key_env: SIM_KEY\n"


def addressed(endpoint: Endpoint) -> str:
    """The same as another file sets them behind the option simulator=served."""
    return f"simulator: {{model: m, base_url: '{endpoint.url}', api_key_env: SIM_KEY}}\n"


def written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def made(root: Path) -> list[str]:
    return sorted(str(p.relative_to(root)) for p in root.rglob("*"))


def keys_sent(endpoint: Endpoint) -> list[str]:
    return [given["authorization"] for given in endpoint.headers]


def refused(done: subprocess.CompletedProcess[str], endpoint: Endpoint, record: Record) -> None:
    """Nothing was sent, and the one sentence says what to do."""
    record("seen", f"exit {done.returncode}: {done.stderr.strip().splitlines()[-1]}")
    assert endpoint.headers == []
    assert done.returncode == 2, done.stderr
    assert done.stderr == (
        "harness: simulator.api_key_env: $SIM_KEY may go only to a host that was typed with it or "
        f"is confirmed, got {host(endpoint)}, which a file names; if it is right: "
        f"`harness trust {host(endpoint)} SIM_KEY`\n"
    )
    assert KEY not in done.stdout + done.stderr


def planned(cwd: Path, endpoint: Endpoint) -> Path:
    """A sweep of one run as a stranger hands it over: planned, and never begun."""
    given = [*SHORT, *words(endpoint)]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(cwd)
        return Path(str(ledger.create(plan(given), given).dir))


class Bomb:
    """Unpickled, it makes the folder it names."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return os.mkdir, (str(self._path),)


BOMB = "a: &a [x, x]\n" + "\n".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]" for n in range(9)
)
