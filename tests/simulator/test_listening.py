"""What a reference policy hears is the same whichever voice a line is said in."""

from hypothesis import given
from hypothesis import strategies as st

from harness.simulator.listening import count_told, listen
from harness.simulator.scripted.lines import ANSWERS, LINES, NEED_LINES, expand_contractions, manner
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
    assert [expand_contractions(line) for line in sentences(short)] == sentences(
        expand_contractions(short)
    )
    assert count_told(short) == count_told(expand_contractions(short))
    assert listen([short]) == listen([expand_contractions(short)])
