"""The settings of a difficulty level in words, for the prompts of a served user."""

from __future__ import annotations

from harness.config.run import INTENTIONS, DifficultyConfig

HOPES = {
    "praise": "to have what they actually did noticed and sincerely praised",
    "not_at_fault": "to hear that what happened was not their fault",
    "venting": "to let everything out to somebody who listens closely",
    "deep_empathy": "to have somebody truly feel how deep this goes, beyond plain comfort",
    "advice": "advice that really solves their difficulty",
    "dialectic": "to look at the matter from several sides",
    "growth": "to be led to understand themselves better and to grow from it",
    "motives": "to understand why the others acted as they did",
}
"""The aim of each hidden intention (paraphrased from arXiv 2507.03112, Table 5)."""
ACCEPTANCES = {
    "any_kindness": (
        "Any warm, friendly message lifts their mood, whether or not it gives what they hope "
        "for. Only cold, hurtful or empty messages lower it."
    ),
    "reasonable": (
        "A message lifts their mood if it is kind and gives at least part of what they hope for. "
        "A kind message that misses it does little, and one that pulls the other way lowers it."
    ),
    "goal_fit": (
        "Only a message that gives what they hope for lifts their mood. Kind words that miss it "
        "lower it: they have heard enough of those."
    ),
}
DISCLOSURES = {
    "free": "They hope {hope}. They may say so in their own words when it comes naturally.",
    "hint": (
        "They hope {hope}. They never say so: it may be guessed from what they dwell on, and no "
        "sentence of theirs names it."
    ),
    "never": "What they hope for in this talk they do not know themselves, so they never name it.",
}
TEMPERAMENTS = {
    "negative": "sees the dark side first, is quick to feel let down and slow to believe good news",
    "passive": "goes along with what is said, takes little initiative and seldom objects",
    "avoidant": "shies away from what hurts most and would rather speak of what lies beside it",
}
VOICES = {
    "plain": "plain everyday words",
    "short": "few words and short sentences",
    "careful": "careful, polite words",
}
_PATIENCE = (
    (
        1.5,
        "They are very hard to reach: only a message that could hardly be better lifts the mood.",
    ),
    (0.25, "They are hard to reach: where you hesitate between two changes, take the lower."),
    (-0.25, ""),
    (-1.5, "They are easy to reach: where you hesitate between two changes, take the higher."),
)
_EASIEST = "They are very easy to reach: only a message that does harm lowers the mood."


def threshold(logits: float) -> str:
    """Return the description of difficulty.threshold (in log-odds), one of five grades."""
    return next((words for least, words in _PATIENCE if logits >= least), _EASIEST)


def changes(difficulty: DifficultyConfig) -> list[int]:
    """Return the changes of emotion in points that the level allows, in ascending order."""
    sizes = {min(difficulty.clamp, difficulty.step_size * n) for n in (1, 2)}
    return sorted({0} | sizes | {-size for size in sizes})


def feeling_of(change: int) -> str:
    """Return the description of a change of emotion for the speaking prompt."""
    if change == 0:
        return "it changed nothing"
    degree = "much " if abs(change) >= 10 else "a little "
    return f"it made them feel {degree}{'better' if change > 0 else 'worse'}"


assert set(HOPES) == set(INTENTIONS)
