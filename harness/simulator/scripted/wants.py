"""What each hidden intention wants of a reply, early in the talk and once there is trust."""

from __future__ import annotations

from harness.config.run import INTENTIONS, STRATEGIES

KINDNESS = dict(zip(STRATEGIES, (0.4, 0.4, 0.7, 0.3, 0.7, 0.1, 0.1, 0.6), strict=True))
"""How kind a strategy is to anyone, whatever they came for."""

#                 question restate reflect disclose affirm suggest inform other
_EARLY = {
    "praise":       (0.1, 0.6, 0.2, -0.2, 0.8, -0.8, -0.6, 0.6),
    "not_at_fault": (-0.3, 0.6, 0.8, 0.1, 0.6, -0.8, -0.4, 0.1),
    "venting":      (0.6, 0.2, 0.6, -0.5, -0.3, -1.0, -0.8, 0.8),
    "deep_empathy": (0.0, 0.1, 0.8, 0.6, -0.4, -0.9, -0.8, 0.6),
    "advice":       (0.8, 0.2, -0.4, -0.2, -0.4, 0.6, 0.6, -0.5),
    "dialectic":    (0.3, 0.8, -0.4, 0.0, -0.5, -0.2, 0.6, -0.4),
    "growth":       (0.8, 0.2, 0.6, 0.6, -0.4, -0.3, -0.2, -0.2),
    "motives":      (0.3, 0.6, -0.3, 0.0, -0.4, -0.4, 0.8, -0.3),
}  # fmt: skip
_LATE = {
    "praise":       (-0.5, 0.1, 0.0, 0.6, 1.0, -0.7, -0.6, 0.7),
    "not_at_fault": (-0.7, 0.0, 0.2, 0.7, 1.0, -0.8, 0.6, 0.0),
    "venting":      (-0.1, 0.7, 0.6, -0.2, -0.4, -1.0, -0.9, 1.0),
    "deep_empathy": (-0.3, 0.0, 1.0, 0.7, -0.5, -0.9, -0.8, 0.6),
    "advice":       (0.1, -0.3, -0.6, 0.6, -0.5, 1.0, 0.7, -0.6),
    "dialectic":    (0.6, 0.0, -0.6, -0.2, -0.6, 0.7, 1.0, -0.6),
    "growth":       (1.0, 0.7, -0.2, 0.1, 0.0, 0.6, 0.0, -0.6),
    "motives":      (0.6, 0.7, -0.4, 0.0, -0.6, -0.3, 1.0, -0.5),
}  # fmt: skip

LATE_TRUST = 2
"""Trust from which on a user wants what they came for."""
MAX_TRUST = 3


def fits(intention: str, trust: int) -> tuple[float, ...]:
    """How well each strategy meets `intention`, -1 to 1, in the order of STRATEGIES."""
    return (_LATE if trust >= LATE_TRUST else _EARLY)[intention]


assert set(_EARLY) == set(_LATE) == set(INTENTIONS)
