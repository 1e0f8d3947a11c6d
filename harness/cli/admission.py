"""The admission test of a served user: `harness calibrate simulator=served`."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from harness.calibration.validity import admission, requirements
from harness.calibration.validity.admission import AnswerSummary, FaultCounts
from harness.compose import typed_grants
from harness.config.run import SCHEMA, DifficultyConfig, RunConfig, SimulatorConfig
from harness.errors import EXIT_PARTIAL, EndpointError
from harness.execution import preflight, user_validity
from harness.records.validity import LevelValidity, of_card
from harness.report import write
from harness.report.tables import validity as table
from harness.simulator import factory
from harness.simulator.served.client import EndpointClient, client_for
from harness.simulator.served.faults import AWAY, Outage
from harness.simulator.served.simulator import check_endpoint, probe_request
from harness.simulator.served.usage import Usage
from harness.trust import permission
from harness.utils import safe_text

SAY_EVERY_S = 2.0


def admit(
    configs: Sequence[RunConfig], overrides: Sequence[str], out: Path, *, as_json: bool
) -> int:
    """Test the served user at each level. Return 0 if it is admitted or the check is off, else 3.

    Prints the measures, writes them to admission.json in `out` and keeps them for later sweeps that
    train on this user. Raises EndpointError if the endpoint does not answer, ConfigError for an
    invalid key.
    """
    first = configs[0]
    grants = preflight.check_users(first, typed_grants.grants(overrides))
    preflight.tell(grants)
    simulator = first.simulator
    request_limit = admission.most_requests() * len(configs)
    safe_text.say(
        f"at most {request_limit:,} requests to {simulator.base_url} ({simulator.model}), "
        f"each tried up to {simulator.retries + 1} times"
    )
    safe_text.say(requirements.bar())
    with permission.temporarily_granted(grants):
        client = client_for(simulator)
        try:
            check_endpoint(client)
            client.wait_out_outages(probe_request(), functools.partial(_tell_outage, simulator))
            levels, order = _test([config.difficulty for config in configs], client, request_limit)
        finally:
            client.close()
    value = {
        "schema": SCHEMA,
        "model": simulator.model,
        "base_url": simulator.base_url,
        "admitted": all(validity.valid for validity in levels.values()),
        "levels": {name: asdict(validity) for name, validity in levels.items()},
        "order": order,
        "bar": requirements.bar(),
    }
    _show(value, levels, as_json)
    safe_text.say(f"results in {write.write_measured(value, out, 'admission.json')}")
    return 0 if value["admitted"] or first.difficulty.unchecked else EXIT_PARTIAL


def _test(
    levels: Sequence[DifficultyConfig], client: EndpointClient, request_limit: int
) -> tuple[dict[str, LevelValidity], list[dict[str, Any]]]:
    """Ask the questions of one level after the other; keep each level's result once it is known."""
    simulator = client.config
    tested: dict[str, tuple[AnswerSummary, FaultCounts]] = {}
    progress = _progress(request_limit)
    client.take_usage()
    make = functools.partial(factory.make, simulator)
    for level in levels:
        answers = admission.ask(make, level, functools.partial(progress, level.name))
        usage = client.take_usage()
        _refuse_unanswered(usage, simulator.base_url)
        fault_counts = usage.retries + usage.given_up
        tested[level.name] = (
            answers,
            FaultCounts(fault_counts["contradictory"], fault_counts["echoed"]),
        )
        results, order = _judge(tested, simulator.model)
        user_validity.keep_admission(simulator, level, results[level.name])
        safe_text.say(f"{level.name}: {usage.words()}")
    return results, order


def _refuse_unanswered(usage: Usage, url: str) -> None:
    """Raise EndpointError if too many requests were not answered: that says nothing about the
    model.

    The test waits for outages to end. This error is for an endpoint that answers health checks but
    few requests, or for simulator.outage_s=0.
    """
    unanswered = sum(usage.given_up[kind] for kind in AWAY)
    request_count = usage.calls - usage.retries.total()
    largest_share, _ = requirements.MOST["lost"]
    if unanswered > largest_share * request_count:
        raise EndpointError(
            f"simulator.base_url: {url} must answer {1 - largest_share:.0%} of the requests of a "
            f"level, within simulator.deadline_s, got {usage.words()}"
        )


def _tell_outage(simulator: SimulatorConfig, outage: Outage) -> None:
    """Print that the endpoint stopped answering, or answers again."""
    if outage.seconds is None:
        wait = f"waiting up to {simulator.outage_s:g} s (simulator.outage_s)"
        safe_text.say(f"{simulator.base_url} does not answer, {outage.fault}; {wait}")
    elif outage.answered:
        safe_text.say(f"{simulator.base_url} answers again, after {outage.seconds:.0f} s")


def _progress(request_limit: int) -> Callable[[str, int], None]:
    """Return a function that prints the progress of the test, at most every SAY_EVERY_S."""
    done, began = 0, time.monotonic()
    reported_at = began

    def report(level: str, requests: int) -> None:
        nonlocal done, reported_at
        done, now = done + requests, time.monotonic()
        if now - reported_at >= SAY_EVERY_S:
            reported_at = now
            safe_text.say(f"{level}: {done:,} of {request_limit:,} requests, {now - began:.0f} s")

    return report


def _judge(
    tested: Mapping[str, tuple[AnswerSummary, FaultCounts]], model: str
) -> tuple[dict[str, LevelValidity], list[dict[str, Any]]]:
    """Return the result of each level, and the measured order of the levels."""
    order = admission.order({level: answers for level, (answers, _) in tested.items()})
    order_rows: list[dict[str, Any]] = [
        {**entry, "difference": asdict(entry["difference"]) if entry["difference"] else None}
        for entry in order
    ]
    levels = {}
    for level, (answers, faults) in tested.items():
        intervals = admission.measure(answers, faults).items()
        values = {name: None if part is None else asdict(part) for name, part in intervals}
        problems = requirements.admission_problems(values)
        for row in order_rows:
            if row["harder"] == level:
                problems += requirements.order_problem(row["easier"], row["difference"])
        levels[level] = of_card(model, values, tuple(problems))
    return levels, order_rows


def _show(value: Mapping[str, Any], levels: Mapping[str, LevelValidity], as_json: bool) -> None:
    if as_json:
        print(json.dumps(value, indent=1, allow_nan=False), flush=True)
        return
    console = Console()
    console.print(table.table(levels))
    for line in _lines(value, levels):
        console.print(safe_text.text(line), soft_wrap=True)


def _lines(value: Mapping[str, Any], levels: Mapping[str, LevelValidity]) -> list[str]:
    order = [
        f"{entry['easier']} ends above {entry['harder']} by "
        f"{table.interval(entry['difference'], table.POINTS)} points"
        for entry in value["order"]
    ]
    refused = [
        f"not admitted: at {level} {problem}"
        for level, validity in levels.items()
        for problem in validity.problems
    ]
    advice = "a sweep refuses such a level unless difficulty.unchecked=true"
    return [*order, *(refused or ["admitted"]), *([advice] if refused else [])]
