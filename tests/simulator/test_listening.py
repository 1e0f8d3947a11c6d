"""What a reference policy hears is the same whichever voice a line is said in."""

from hypothesis import given
from hypothesis import strategies as st

from harness.simulator.listening import listen, told
from harness.simulator.scripted.lines import ANSWERS, LINES, NEED_LINES, expanded, manner
from harness.simulator.scripted.words import sentences

SAID = [
    line
    for table in (*LINES.values(), *ANSWERS.values())
    for some in table.values()
    for line in some
]
TURN = st.lists(
    st.sampled_from([*SAID, *NEED_LINES, "I don't sleep.", "It's him! Isn't it?"]), min_size=1
)


@given(TURN.map(" ".join))
def test_a_contracted_turn_has_the_lines_of_the_whole_one(turn: str) -> None:
    short = manner(turn, "short")
    assert [expanded(line) for line in sentences(short)] == sentences(expanded(short))
    assert told(short) == told(expanded(short))
    assert listen([short]) == listen([expanded(short)])
