"""The served users of a run: check that they answer, keep a journal per step, count losses.

A lost conversation has no reward and is counted in its row by type; many lost conversations end the
run. An evaluation that lost many gives no row, since its means would describe only the remaining
users.
"""

from __future__ import annotations

import shlex
from collections import deque
from collections.abc import Mapping

from harness.config.run import RunConfig
from harness.errors import EndpointError
from harness.simulator.served.client import client_for
from harness.simulator.served.faults import Outage
from harness.simulator.served.simulator import check_endpoint, probe_request
from harness.train.loop.attempt_records import AttemptRows
from harness.train.loop.early_end import Deadline
from harness.train.metrics import evaluate
from harness.utils import safe_text

WINDOW_STEPS = 20
MOST_LOST = 0.2
"""Largest share that may be lost of the conversations of WINDOW_STEPS steps, and of each level's
conversations in one evaluation.
"""
LOST = ("sim/failed", "refined/failed")
"""Columns of a row that count lost conversations; no conversation is in both."""


class ServedUsers:
    """A run's connection to its endpoint, and the number of conversations lost on it."""

    def __init__(self, rows: AttemptRows, config: RunConfig, deadline: Deadline) -> None:
        """`deadline`: the step's; suspended during outages. Raises DataError for a bad journal."""
        self._rows, self._config, self._deadline = rows, config, deadline
        self._where, self._url = rows.log.run.path, config.simulator.base_url
        self._client = client_for(config.simulator)
        self._client.keep_in(rows.log.run.simulator)
        self._client.wait_out_outages(probe_request(), self._on_outage)
        self._lost: deque[int] = deque(maxlen=WINDOW_STEPS)
        self._steps = min(WINDOW_STEPS, config.trainer.steps)
        self._expected = self._steps * config.trainer.conversations

    def reach(self) -> None:
        """Raise EndpointError if the run has steps left and the endpoint gives no valid answer."""
        if self._rows.last_step < self._config.trainer.steps:
            check_endpoint(self._client)

    def at_step(self, step: int) -> None:
        """Begin step `step`. If its row is on disk, the faults in its journal are kept."""
        self._client.at_step(step, binding=step <= self._rows.last_step)

    def count(self, step: int, values: Mapping[str, float | None], new: bool) -> None:
        """Log a step's calls, retries, latencies and tokens, and count the conversations it lost.

        `new`: False for a row computed again after a resume, whose losses are not counted.
        """
        self._rows.log.note("simulator", step=step, **self._client.take_usage().to_json())
        self._lost.append(new * int(sum(values.get(name) or 0 for name in LOST)))

    def judge_evaluation(self, step: int, values: Mapping[str, float | None]) -> None:
        """Raise EndpointError if more than MOST_LOST of the users of a level were lost.

        Called before `values` become a row. Rows that are on disk already are not judged again.
        """
        shares = evaluate.lost_shares(values, self._config)
        if step > self._rows.last_step and max(shares.values()) > MOST_LOST:
            level_total = evaluate.held_at_a_level(self._config)
            lost = {name: round(share * level_total) for name, share in shares.items()}
            counts = ", ".join(f"{count} at {name}" for name, count in lost.items() if count)
            raise EndpointError(
                f"{self._where}: step {step}: at most {MOST_LOST:.0%} of the {level_total} "
                f"held-out conversations of a level may be lost in an evaluation on {self._url}, "
                f"{counts} "
                "were; its row is not written, and asks them again. Once it answers, continue with "
                f"`harness resume {shlex.quote(str(self._where))}`"
            )

    def judge(self, step: int) -> None:
        """Raise EndpointError if the last WINDOW_STEPS steps lost more than MOST_LOST."""
        lost = sum(self._lost)
        if lost > MOST_LOST * self._expected:
            raise EndpointError(
                f"{self._where}: step {step}: at most {MOST_LOST:.0%} of the {self._expected} "
                f"conversations of {self._steps} steps may be lost on {self._url}, {lost} of the "
                f"last {len(self._lost)} steps were; events.jsonl says how. Once it answers, "
                f"continue with `harness resume {shlex.quote(str(self._where))}`"
            )

    def _on_outage(self, outage: Outage) -> None:
        """Report the beginning or the end of an outage.

        The step's deadline is suspended during the outage and restarts afterwards.
        """
        log, longest_s = self._rows.log, self._config.simulator.outage_s
        if outage.seconds is None:
            self._deadline.end()
            wait = f"waiting up to {longest_s:g} s (simulator.outage_s)"
            reason = f"{self._url} does not answer, {outage.fault}; {wait}"
            log.write_status(reason=reason)
            safe_text.say(f"{self._where}: {reason}")
            return
        log.write_status(reason=None)
        details = {"fault": outage.fault, "seconds": outage.seconds, "answered": outage.answered}
        log.note("outage", step=self._rows.last_step + 1, **details)
        if outage.answered:
            spent = f"after {outage.seconds:.0f} s"
            safe_text.say(f"{self._where}: {self._url} answers again, {spent}")
        self._deadline.restart_step()

    def close(self) -> None:
        self._client.close()
