"""The served users of a run: reached first, journalled by step, and given up on after many losses.

A lost conversation is a matter of its row (no reward, counted by type); many end the run. An
evaluation that lost many makes no row: its means would be those of the users who are left.
"""

from __future__ import annotations

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
"""Share of the conversations of WINDOW_STEPS steps that a run may lose and go on; and of the users
of each level in one evaluation.
"""
LOST = ("sim/failed", "refined/failed")
"""Columns of a row that count lost conversations, each of them once."""


class ServedUsers:
    """The connection of one run to its endpoint, and the conversations lost on it."""

    def __init__(self, rows: AttemptRows, config: RunConfig, deadline: Deadline) -> None:
        """`deadline`: the step's, suspended during an outage. Raises DataError for a damaged
        journal.
        """
        self._rows, self._config, self._deadline = rows, config, deadline
        self._where, self._url = rows.log.run.path, config.simulator.base_url
        self._line = client_for(config.simulator)
        self._line.keep_in(rows.log.run.simulator)
        self._line.wait_out_outages(probe_request(), self._on_outage)
        self._lost: deque[int] = deque(maxlen=WINDOW_STEPS)
        steps = min(WINDOW_STEPS, config.trainer.steps)
        self._expected = steps * config.trainer.conversations

    def reach(self) -> None:
        """Raise EndpointError if there are rows to make, and no answer as it must be."""
        if self._rows.last_step < self._config.trainer.steps:
            check_endpoint(self._line)

    def at_step(self, step: int) -> None:
        """Begin step `step`; the journals of rows that are on disk are binding."""
        self._line.at_step(step, binding=step <= self._rows.last_step)

    def count(self, step: int, values: Mapping[str, float | None], new: bool) -> None:
        """Log calls, retries, latencies and tokens of a step, and note how many conversations its
        row lost; one that is not `new` does not count again.
        """
        self._rows.log.note("simulator", step=step, **self._line.take_usage().to_json())
        self._lost.append(new * int(sum(values.get(name) or 0 for name in LOST)))

    def judge_evaluation(self, step: int, values: Mapping[str, float | None]) -> None:
        """Raise EndpointError if `values` lost more than MOST_LOST of the users of a level.

        Called before they become a row; a row that is on disk already is not judged again.
        """
        shares = evaluate.lost_shares(values, self._config)
        if step > self._rows.last_step and max(shares.values()) > MOST_LOST:
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

    def _on_outage(self, outage: Outage) -> None:
        """Report an outage that begins or is over. The step's deadline is suspended, and begins
        anew once it is over.
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
        facts = {"fault": outage.fault, "seconds": outage.seconds, "answered": outage.answered}
        log.note("outage", step=self._rows.last_step + 1, **facts)
        if outage.answered:
            spent = f"after {outage.seconds:.0f} s"
            safe_text.say(f"{self._where}: {self._url} answers again, {spent}")
        self._deadline.restart_step()

    def close(self) -> None:
        self._line.close()
