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
    sends = preflight.check_users(first, typed_grants.grants(overrides))
    preflight.tell(sends)
    simulator = first.simulator
    most = admission.most_requests() * len(configs)
    safe_text.say(
        f"at most {most:,} requests to {simulator.base_url} ({simulator.model}), each tried up to "
        f"{simulator.retries + 1} times"
    )
    safe_text.say(requirements.bar())
    with permission.temporarily_granted(sends):
        client = client_for(simulator)
        try:
            check_endpoint(client)
            client.wait_out_outages(probe_request(), functools.partial(_tell_outage, simulator))
            levels, order = _test([config.difficulty for config in configs], client, most)
        finally:
            client.close()
    value = {
        "schema": SCHEMA,
        "model": simulator.model,
        "base_url": simulator.base_url,
        "admitted": all(one.valid for one in levels.values()),
        "levels": {name: asdict(one) for name, one in levels.items()},
        "order": order,
        "bar": requirements.bar(),
    }
    _show(value, levels, as_json)
    safe_text.say(f"results in {write.write_measured(value, out, 'admission.json')}")
    return 0 if value["admitted"] or first.difficulty.unchecked else EXIT_PARTIAL


def _test(
    levels: Sequence[DifficultyConfig], client: EndpointClient, most: int
) -> tuple[dict[str, LevelValidity], list[dict[str, Any]]]:
    """Ask the questions of one level after the other; keep each level's result once it is known."""
    simulator = client.config
    tested: dict[str, tuple[AnswerSummary, FaultCounts]] = {}
    progress = _progress(most)
    client.take_usage()
    make = functools.partial(factory.make, simulator)
    for level in levels:
        answers = admission.ask(make, level, functools.partial(progress, level.name))
        usage = client.take_usage()
        _refuse_unanswered(usage, simulator.base_url)
        met = usage.retries + usage.given_up
        tested[level.name] = answers, FaultCounts(met["contradictory"], met["echoed"])
        judged, order = _judge(tested, simulator.model)
        user_validity.keep_admission(simulator, level, judged[level.name])
        safe_text.say(f"{level.name}: {usage.words()}")
    return judged, order


def _refuse_unanswered(usage: Usage, url: str) -> None:
    """Raise EndpointError if too many requests were not answered: that says nothing about the
    model.

    The test waits for outages to end. This error is for an endpoint that answers health checks but
    few requests, or for simulator.outage_s=0.
    """
    unanswered = sum(usage.given_up[kind] for kind in AWAY)
    asked = usage.calls - usage.retries.total()
    most, _ = requirements.MOST["lost"]
    if unanswered > most * asked:
        raise EndpointError(
            f"simulator.base_url: {url} must answer {1 - most:.0%} of the requests of a level, "
            f"within simulator.deadline_s, got {usage.words()}"
        )


def _tell_outage(simulator: SimulatorConfig, outage: Outage) -> None:
    """Print that the endpoint stopped answering, or answers again."""
    if outage.seconds is None:
        wait = f"waiting up to {simulator.outage_s:g} s (simulator.outage_s)"
        safe_text.say(f"{simulator.base_url} does not answer, {outage.fault}; {wait}")
    elif outage.answered:
        safe_text.say(f"{simulator.base_url} answers again, after {outage.seconds:.0f} s")


def _progress(most: int) -> Callable[[str, int], None]:
    """Return a function that prints the progress of the test, at most every SAY_EVERY_S."""
    done, began = 0, time.monotonic()
    said_at = began

    def tell(level: str, requests: int) -> None:
        nonlocal done, said_at
        done, now = done + requests, time.monotonic()
        if now - said_at >= SAY_EVERY_S:
            said_at = now
            safe_text.say(f"{level}: {done:,} of {most:,} requests, {now - began:.0f} s")

    return tell


def _judge(
    tested: Mapping[str, tuple[AnswerSummary, FaultCounts]], model: str
) -> tuple[dict[str, LevelValidity], list[dict[str, Any]]]:
    """Return the result of each level, and the measured order of the levels."""
    order = admission.order({level: answers for level, (answers, _) in tested.items()})
    plain: list[dict[str, Any]] = [
        {**one, "difference": asdict(one["difference"]) if one["difference"] else None}
        for one in order
    ]
    levels = {}
    for level, (answers, faults) in tested.items():
        intervals = admission.measure(answers, faults).items()
        values = {name: None if one is None else asdict(one) for name, one in intervals}
        problems = requirements.admission_problems(values)
        for one in plain:
            if one["harder"] == level:
                problems += requirements.order_problem(one["easier"], one["difference"])
        levels[level] = of_card(model, values, tuple(problems))
    return levels, plain


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
        f"{one['easier']} ends above {one['harder']} by "
        f"{table.interval(one['difference'], table.POINTS)} points"
        for one in value["order"]
    ]
    refused = [
        f"not admitted: at {level} {problem}"
        for level, one in levels.items()
        for problem in one.problems
    ]
    told = "a sweep refuses such a level unless difficulty.unchecked=true"
    return [*order, *(refused or ["admitted"]), *([told] if refused else [])]
