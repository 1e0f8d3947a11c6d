"""Print the answer on a terminal: the plan in a sentence, the command, other designs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from harness.planning import exclusions, power, study_file
from harness.planning.alternatives import AlternativeDesign, PilotDifference
from harness.planning.answer import PlanResult
from harness.planning.costs import Hours
from harness.planning.pilot import OWN_USERS
from harness.planning.search import PlannedDesign
from harness.planning.simulated_studies import Power
from harness.report.tables.grid import folding_table
from harness.report.text import wording
from harness.report.text.wording import plural
from harness.utils.safe_text import text


def show(answer: PlanResult, console: Console, out: Path | None = None) -> None:
    """Print the answer, the command, the table and the assumptions.

    `out`: the folder that the study file was written to.
    """
    planned = answer.planned
    if planned is None:
        for line in _show_no_plan(answer):
            console.print(text(line, "bold"), soft_wrap=True)
        for line in (*_pilot_lines(answer), *_difference_lines(answer)):
            console.print(text(line, "dim"), soft_wrap=True)
        return
    console.print(text(_sentence(answer, planned), "bold"), soft_wrap=True)
    console.print()
    for line in _command(answer, out):
        console.print(text(line), soft_wrap=True)
    console.print()
    console.print(_table(answer))
    for line in _pilot_lines(answer):
        console.print(text(line), soft_wrap=True)
    for line in (*_assumption_lines(answer, planned), *_omission_lines(answer, planned, out)):
        console.print(text(line, "dim"), soft_wrap=True)


def _show_no_plan(answer: PlanResult) -> Iterator[str]:
    levels_text = " and ".join(answer.levels)
    is_out_of_reach = answer.reach is not None
    subject = "not reachable:" if is_out_of_reach else "number of seeds not known for"
    yield f"{subject} {answer.effect} between {levels_text}"
    yield f"{answer.why}"
    if answer.source is not None:
        yield f"spread: of {_seeds(answer)}, {answer.source}"
    if answer.command is None:
        return
    yield ""
    yield answer.command
    yield ""
    yield f"{answer.pilot_cost}"


def _seeds(answer: PlanResult) -> str:
    counts = sorted(set(answer.pilot_seeds))
    return " to ".join(str(n) for n in {counts[0]: 0, counts[-1]: 0}) + " seeds a level"


def _sentence(answer: PlanResult, planned: PlannedDesign) -> str:
    design, size = planned.design, planned.design.size
    seeds = f"{plural(design.seeds, 'seed')} a level [{_ends(planned)}]"
    evaluation = f"{plural(size.users, 'user')} x {plural(size.repeats, 'repeat')}"
    return (
        f"{answer.effect} {answer.effect.unit}: {seeds}, {plural(size.steps, 'step')} of "
        f"{plural(answer.conversations, 'conversation')}, {plural(size.evaluations, 'evaluation')} "
        f"of {evaluation}; {_hours(design.hours)}; decided with probability {_power(planned.power)}"
    )


def _ends(planned: PlannedDesign) -> str:
    low, high = planned.seeds_low, planned.seeds_high
    beyond_text = f"over {power.MOST}"
    return f"{beyond_text if low is None else low}, {beyond_text if high is None else high}"


def _power(value: Power | None) -> str:
    return "not known" if value is None else wording.estimate(value.value, value.low, value.high)


def _hours(hours: Hours) -> str:
    cpu = "CPU hours not known" if hours.cpu is None else f"{_format_hours(hours.cpu)} CPU hours"
    return cpu if hours.gpu is None else f"{_format_hours(hours.gpu)} GPU hours, {cpu}"


def _format_hours(hours: float) -> str:
    return f"{hours:.1f}" if hours >= 1 else f"{hours:.2g}"


def _command(answer: PlanResult, out: Path | None) -> Iterator[str]:
    if answer.study is not None and answer.command is not None and out is not None:
        yield study_file.command(out, answer.command)
        return
    if answer.study is not None:
        yield f"{study_file.FOLDER}/{study_file.FILE}:"
        yield from (f"    {line}" for line in answer.study.splitlines())
        yield ""
    yield f"{answer.command}"


def _pilot_lines(answer: PlanResult) -> Iterator[str]:
    """Yield lines on pilot runs that were left out or ended early."""
    seeds = answer.planned.design.seeds if answer.planned else None
    yield from exclusions.sentences(answer.left_out, answer.ended_early, answer.pilot_seeds, seeds)


def _table(answer: PlanResult) -> Table:
    table = folding_table("", "seeds", "steps", "users x repeats", "power [95%]", "hours")
    for row in answer.around:
        table.add_row(*map(text, _cells(row)))
    return table


def _cells(row: AlternativeDesign) -> tuple[str, ...]:
    size = row.size
    evaluation = f"{size.users} x {size.repeats}"
    return (
        row.what, str(row.seeds), str(size.steps), evaluation, _power(row.power), _hours(row.hours),
    )  # fmt: skip


def _assumption_lines(answer: PlanResult, planned: PlannedDesign) -> Iterator[str]:
    column_text = f" on {answer.column}" if answer.column else ""
    yield f"spread: of {_seeds(answer)}{column_text}, {answer.source}"
    yield (
        "seeds in brackets: for the ends of the 95% interval of the spread; power: mean over the "
        "likely spreads, with the 95% interval of the simulated studies"
    )
    yield f"decided by {answer.decided_by}"
    yield from _difference_lines(answer)
    if planned.design.there < 1:
        step, share = planned.design.size.steps, planned.design.there
        yield f"assumed: {share:.0%} of the difference at the end is there at step {step}"
    for key, why in answer.kept.items():
        yield f"{key} kept: {why}"
    yield f"cost: {planned.design.hours.how}"


def _omission_lines(answer: PlanResult, planned: PlannedDesign, out: Path | None) -> Iterator[str]:
    """Yield lines on what the plan does not contain, with reasons."""
    if answer.null_controls is not None:
        yield (
            "no null controls: the plain difference does not need them. To see how much of each "
            f"level's fall of H is noise, add {answer.null_controls}; this doubles the cost (by "
            f"{_hours(planned.design.hours)})"
        )
    if out is not None and answer.study is None:
        yield f"no {study_file.FILE} is written, since a contrast decides: the command is the plan"


def _difference_lines(answer: PlanResult) -> Iterator[str]:
    for gap in answer.own:
        if gap.low is not None and gap.high is not None:
            estimate = wording.estimate(gap.value, gap.low, gap.high)
            users = f" on {gap.users}" if gap.users else ""
            clause = f"{users}{_pilot_clause(gap)}"
            yield f"in the pilot: {gap.later} minus {gap.baseline} is {estimate}{clause}"


def _pilot_clause(gap: PilotDifference) -> str:
    """Return a clause with the difference that fit-entropy-law shows, which may differ in sign."""
    if gap.of_own_users is None:
        return ""
    own_users = wording.number(gap.of_own_users)
    return f", the same for all levels; {own_users} on {OWN_USERS}, as in fit-entropy-law"
