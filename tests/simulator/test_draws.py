"""Numbers drawn for many turns at once are those of each turn."""

from hypothesis import given
from hypothesis import strategies as st

from harness.simulator.protocol import HELD_OUT, TRAIN, ConversationKey
from harness.simulator.state import draws_of_turns, turn_draws, wording_draws

NUMBERS = st.integers(0, 10**9)
KEYS = st.builds(
    ConversationKey, NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.sampled_from([TRAIN, HELD_OUT])
)


@given(st.lists(st.tuples(KEYS, st.integers(0, 100)), max_size=5))
def test_the_draws_of_several_turns_are_those_of_each(
    turns: list[tuple[ConversationKey, int]],
) -> None:
    drawn = [(tuple(u), tuple(w)) for u, w in draws_of_turns(turns)]
    assert drawn == [(turn_draws(*turn), wording_draws(*turn)) for turn in turns]
    assert all(0 <= number < 1 for both in drawn for some in both for number in some)
