"""An endpoint that samples, and the attempts of a run on it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable

from harness.records.run_folder import RunFolder
from tests.simulator.endpoint import HANG, Body, Script, completion, play, purpose, response


def sampled(chance: random.Random, fails: float = 0.0) -> Script:
    """A model that draws anew at every call; a share of its calls fails in mixed ways."""
    wires = (response("", "500 Internal Server Error"), HANG, completion("{"), b"")

    def script(number: int, body: Body) -> bytes | str | None:
        if chance.random() < fails:
            return chance.choice(wires)
        if purpose(body) == "appraise":
            shape = body["response_format"]["json_schema"]["schema"]["properties"]["change"]
            felt = {"reason": "So.", "target_fit": "none", "change": chance.choice(shape["enum"])}
            return completion(json.dumps(felt))
        return completion(play({**body, "seed": chance.randrange(2**31)}))

    return script


def attempt(run: RunFolder, killed: Callable[[], bool] = lambda: False) -> tuple[int, str]:
    """Exit code and stderr of the run's process; it is killed once `killed` says so."""
    words = [sys.executable, "-P", "-m", "harness.train", str(run.path)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as child:
        while child.poll() is None and not killed():
            time.sleep(0.002)
        child.kill()
        err = child.communicate()[1]
    return child.returncode, err
