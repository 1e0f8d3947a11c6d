"""What a probe prints: a change that is sure stands out, and one that is not does not."""

import io

import pytest
from rich.console import Console

from harness.probes import show
from harness.probes.over_users import NOT_MEASURED, ProbeEstimate
from harness.probes.results import ProbeReading, ProbeResult


def reading(step: int, change: ProbeEstimate) -> ProbeReading:
    return ProbeReading("hard", "solving", "", "share", step, ProbeEstimate(0.5, 0.4, 0.6), change)


@pytest.mark.parametrize(
    ("change", "is_bold"),
    [
        (ProbeEstimate(0.2, 0.1, 0.3), True),
        (ProbeEstimate(-0.2, -0.3, -0.1), True),
        (ProbeEstimate(0.2, -0.1, 0.5), False),
        (NOT_MEASURED, False),
    ],
)
def test_a_change_whose_interval_does_not_hold_0_is_bold(
    change: ProbeEstimate, is_bold: bool
) -> None:
    probed = ProbeResult(
        probe="drift", asks="Why?", run="one", against="start",
        reference=(reading(0, NOT_MEASURED),), steps=(7,), users=8, repeats=1, conversations=16,
        readings=(reading(7, change),),
    )  # fmt: skip
    console = Console(file=io.StringIO(), force_terminal=True, width=100, color_system="standard")
    show.show(probed, console)
    (row,) = [line for line in console.file.getvalue().splitlines() if "solving" in line]  # type: ignore[attr-defined]
    assert ("\x1b[1m" in row) == is_bold
