"""The committed results of studies, judged anew by the rules of today.

    python -m benchmarks.old_verdicts

Reads docs/results/*/result.json of versions that had one word, contradicted, for what is now
contradicted or no effect. Mean and error of a link come from its differences by seed, those of the
plain difference from its interval. Each study counts as looked at once. Prints Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.study_verdicts import head, row
from harness.law.compare import claims, link_tests, links
from harness.law.compare.link_result import CONTRADICTED, NO_EFFECT, SUPPORTED, UNDECIDED
from harness.law.compare.link_tests import LinkTestAtLook, LinkTestResult, VerdictPValues
from harness.law.compare.random_effects import Estimate
from harness.law.estimate import numbers

RESULTS = Path(__file__).parents[1] / "docs" / "results"
Link = Mapping[str, Any]
Words = dict[str, tuple[str, str]]
"""Link -> its word and why."""


def estimate(interval: Mapping[str, Any], pairs: int) -> Estimate:
    """A mean over pairs with its error, from its 95% interval."""
    half = (interval["high"] - interval["low"]) / 2
    error = half / numbers.t_quantile(0.975, pairs - 1)
    return Estimate(interval["difference"], error, pairs - 1)


def tested(link: Link) -> LinkTestResult | None:
    found = link_tests.paired_estimate(list(link["by_seed"].values()))
    if found is None:
        return None
    plain = estimate(link["plain"], link["pairs"]) if link["net_of_null"] else found
    sign = link_tests.SIGNS[link["direction"]]
    p = link_tests.verdict_p_values((found, plain), sign, link["margin"])
    return LinkTestResult(found, plain, p, p, None, None)


def words(of: Sequence[Link], deciding: bool) -> Words:
    tests = [(link, tested(link)) for link in of]
    asked = [(link, LinkTestAtLook(test, 1.0, 1.0)) for link, test in tests if test is not None]
    adjusted = link_tests.adjust_p([one for _, one in asked], deciding)
    found = {link["name"]: (UNDECIDED, str(link["why"])) for link in of}
    for (link, _), p in zip(asked, adjusted, strict=True):
        word = links.verdict_of(p)
        if word in (CONTRADICTED, NO_EFFECT) and not learnt(link):
            found[link["name"]] = (UNDECIDED, "nothing was learnt")
        else:
            found[link["name"]] = (word, told(word, p))
    return found


def learnt(link: Link) -> bool:
    """Whether an arm of a link on gains has gained the margin, with an interval above 0."""
    if link["quantity"] != "gain" or link["against"] is None:
        return True
    arms = [arm for arm in link["own"].values() if arm["mean"] is not None]
    return any(arm["mean"] >= link["margin"] and arm["low"] > 0 for arm in arms)


def told(word: str, p: VerdictPValues) -> str:
    """The p of the word and, of no effect, that of the opposite."""
    if word == NO_EFFECT:
        return f"p {claims.p_text(p.no_effect)}; of the opposite {claims.p_text(p.contradicted)}"
    of = {SUPPORTED: p.supported, CONTRADICTED: p.contradicted}
    return f"p {claims.p_text(of[word])}" if word in of else "neither shown nor ruled out"


def judged(result: Mapping[str, Any]) -> tuple[str, Words]:
    """The word of a study, and those of its links and checks."""
    deciding = [link for link in result["links"] if link["name"] in result["deciding"]]
    beside = [link for link in result["links"] if link["name"] not in result["deciding"]]
    checks: Words = words(result["checks"], False)
    found: Words = {**words(deciding, True), **words(beside, False), **checks}
    for link in [*result["checks"], *result["links"]]:
        if link["given"] and found[link["given"]][0] != SUPPORTED:
            why = f"its check, {link['given']}, is {found[link['given']][0]}"
            found[link["name"]] = (UNDECIDED, why)
    of_all = {found[name][0] for name in result["deciding"]}
    for word in (CONTRADICTED, NO_EFFECT):
        if word in of_all:
            return word, found
    return SUPPORTED if of_all == {SUPPORTED} else UNDECIDED, found


def table() -> Iterator[str]:
    yield head("study", "statement", "then", "now", "difference [95%]", "why")
    for path in sorted(RESULTS.glob("*/result.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        if "p_no_effect" in result["links"][0]:
            continue  # judged by these rules
        word, found = judged(result)
        yield row(f"**{path.parent.name}**", "", result["verdict"], f"**{word}**", "", "")
        for link in [*result["links"], *result["checks"]]:
            now, why = found[link["name"]]
            if now != link["verdict"]:
                kind = "decides: " if link["name"] in result["deciding"] else ""
                gap = f"{link['difference']:.2f} [{link['low']:.2f}, {link['high']:.2f}]"
                yield row("", f"{kind}{link['name']}", link["verdict"], now, gap, why)


if __name__ == "__main__":
    print(*table(), sep="\n")
