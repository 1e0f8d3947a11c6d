"""The served users of a run: reached first, journalled by step, and given up on after many losses.

A lost conversation is a matter of its row (no reward, counted by type); many end the run. An
evaluation that lost many makes no row: its means would be those of the users who are left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from harness.config.run import RunConfig
from harness.errors import EndpointError
from harness.records.run_folder import RunFolder
from harness.simulator.served.client import client_for
from harness.simulator.served.faults import Outage
from harness.simulator.served.simulator import check_endpoint, probe_request
from harness.train.metrics import evaluate

WINDOW_STEPS = 20
MOST_LOST = 0.2
"""Share of the conversations of WINDOW_STEPS steps that a run may lose and go on; and of the users
of each level in one evaluation.
"""
LOST = ("sim/failed", "refined/failed")
"""Columns of a row that count lost conversations, each of them once."""


class ServedUsers:
    """The connection of one run to its endpoint, and the conversations lost on it."""

    def __init__(
        self, run: RunFolder, config: RunConfig, on_outage: Callable[[Outage], None]
    ) -> None:
        """`on_outage` is called when an outage begins and when it is over, in the caller's thread.

        Raises DataError for a damaged journal.
        """
        self._where, self._url, self._config = run.path, config.simulator.base_url, config
        self._line = client_for(config.simulator)
        self._line.keep_in(run.simulator)
        self._line.wait_out_outages(probe_request(), on_outage)
        self._last_row = 0
        self._lost: deque[int] = deque(maxlen=WINDOW_STEPS)
        steps = min(WINDOW_STEPS, config.trainer.steps)
        self._expected = steps * config.trainer.conversations

    def reach(self) -> None:
        """Raise EndpointError if the endpoint does not answer as it must."""
        check_endpoint(self._line)

    def at_step(self, step: int, last_row: int) -> None:
        """Begin step `step`; rows up to `last_row` are on disk, and their journals are binding."""
        self._last_row = last_row
        self._line.at_step(step, binding=step <= last_row)

    def cost(self) -> dict[str, Any]:
        """Calls, retries, latencies and tokens since the last call of this."""
        return self._line.take_usage().to_json()

    def count(self, values: Mapping[str, float | None], new: bool) -> None:
        """Note how many conversations a row lost; one that is not `new` does not count again."""
        self._lost.append(new * int(sum(values.get(name) or 0 for name in LOST)))

    def judge_evaluation(self, step: int, values: Mapping[str, float | None]) -> None:
        """Raise EndpointError if `values` lost more than MOST_LOST of the users of a level.

        Called before they become a row; a row that is on disk already is not judged again.
        """
        shares = evaluate.lost_shares(values, self._config)
        if step > self._last_row and max(shares.values()) > MOST_LOST:
            held = evaluate.held_at_a_level(self._config)
            lost = {name: round(share * held) for name, share in shares.items()}
            counts = ", ".join(f"{count} at {name}" for name, count in lost.items() if count)
            raise EndpointError(
                f"{self._where}: step {step}: at most {MOST_LOST:.0%} of the {held} held-out "
                f"conversations of a level may be lost in an evaluation on {self._url}, {counts} "
                "were; its row is not written, and asks them again. Once it answers, continue with "
                f"`harness resume {self._where}`"
            )

    def judge(self, step: int) -> None:
        """Raise EndpointError once more are lost than WINDOW_STEPS steps may lose."""
        lost = sum(self._lost)
        if lost > MOST_LOST * self._expected:
            raise EndpointError(
                f"{self._where}: step {step}: at most {MOST_LOST:.0%} of the {self._expected} "
                f"conversations of {WINDOW_STEPS} steps may be lost on {self._url}, {lost} of the "
                f"last {len(self._lost)} steps were; events.jsonl says how. Once it answers, "
                f"continue with `harness resume {self._where}`"
            )

    def close(self) -> None:
        self._line.close()
