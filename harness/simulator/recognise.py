"""Which of the eight strategies a supporter's sentence carries, from its wording alone.

The lexicon is written from what each strategy means (ESConv, arXiv 2106.01144, section 3). It knows
nothing of the grammar a policy may speak with. One sentence carries at most one strategy; the
patterns are tried in order, the most specific first.
"""

from __future__ import annotations

import re
from functools import lru_cache

from harness.simulator.words import FUNCTION_WORDS, sentences, words

_FEEL = r"(?:feel|felt|feeling|seem|sound|look)"
_PATTERNS: tuple[tuple[str, str], ...] = (
    # A suggestion may be put as a question, so it comes first.
    (
        "suggest",
        r"\b(?:(?:maybe|perhaps) (?:you (?:could|can|might|should)|try|it is time|start|take|give|"
        r"talk|write|call|ask)|you (?:could|might|can) (?:try|also|always|perhaps|maybe|start|"
        r"begin|write|talk|speak|call|ask|take|give|make|go|set|tell|keep|plan|look|find|put|do|"
        r"say|let|choose|see|rest|walk|get|visit|send|join|meet|use|read|share|pick|spend)|"
        r"(?:have|did) you (?:thought (?:of|about)|considered|tried|try)|what if you|how about|"
        r"why (?:do you not|not)|(?:it|that) (?:may|might|could|can|would|sometimes) (?:help|be "
        r"(?:good|worth|useful|wise|time))|i (?:would )?(?:suggest|recommend|advise|propose)|"
        r"my (?:advice|suggestion|idea)|if i were you|one (?:thing|step|idea|way)|"
        r"(?:a|the) (?:small|first|next|good|simple) (?:step|start|idea|thing)|worth trying|"
        r"(?:would|could|might) (?:it help|you try))\b|^(?:please )?(?:try|start|consider) \w+",
    ),
    (
        "disclose",
        r"\bi (?:have |had |once |also |too |myself |still |even |"
        r"was |went |know (?:what|how|that)|"
        r"remember)(?!(?:a |the )?(?:feeling|sense|question|idea)).*\b(?:too|once|myself|same|"
        r"my(?: own)?|before|like (?:that|this|yours?)|back then|as well|there|ago|in your place|"
        r"through|years|weeks|months|when i was|it feels)\b|"
        r"\b(?:happened|hard|difficult) (?:to|for) me\b|"
        r"\bin my (?:own )?(?:life|case|past|family)\b|"
        r"\bwhen i (?:was|had|lost|went|felt)\b|\bi (?:have )?(?:been there|went through|"
        r"struggled|experienced)\b",
    ),
    (
        "restate",
        r"\b(?:so (?:you|your|it (?:is|was)|there|what|the|he|she|they|all)|you (?:are saying|"
        r"mean|told me|say|said|mentioned|were saying|are telling)|if i (?:understand|hear|get|"
        r"follow)|in other words|in short|to sum up|let me (?:check|see if|repeat|say)|what i "
        r"(?:hear|understand|gather)|what you (?:say|are saying|tell|describe)|did i (?:get|"
        r"understand|hear))\b(?!.*\b(?:so|how) \w+ you are\b)",
    ),
    (
        "reflect",
        rf"\b(?:it (?:sounds|seems|looks|must)|that (?:sounds|must|"
        rf"seems)|you (?:must|{_FEEL[3:-1]}|"
        r"are (?:so |really |clearly |very )?\w+(?:ed|ful|y|less|id|"
        r"ous) (?:because|about|and|by|that))|"
        r"i (?:can )?(?:sense|hear (?:how|that)|see (?:how|that)|imagine|understand (?:how|that|"
        r"why)|feel (?:how|that|with))|how (?:hard|painful|heavy|sad|hurtful|tiring|frightening|"
        r"lonely)|(?:it|that|this) (?:hurts|weighs|is (?:so |really |very )?(?:hard|painful|heavy|"
        r"sad|hurtful|tiring|a lot))|(?:would|can) (?:make|leave) (?:anyone|you|anybody|a person)|"
        r"what a (?:hard|heavy|painful|sad))\b",
    ),
    (
        "affirm",
        r"\b(?:you (?:are (?:strong|brave|doing|not (?:to blame|alone|weak|stupid|a bad)|right|"
        r"good|a good|allowed|able|trying|worth)|did (?:your best|nothing wrong|well|the right|"
        r"all|what|everything|so)|have (?:every|a|the) right|have (?:done|shown|come|already|"
        r"been)|deserve|will (?:get|find|be|come|make)|can (?:be proud|do this|trust)|should be "
        r"proud|handled|showed|acted)|not your fault|no(?:body|t) .* blame|makes? sense|(?:took|"
        r"takes|needs?|shows?) (?:real |a lot of |so much |much |such )?(?:courage|strength|"
        r"heart|care|love)|(?:brave|strong|kind|good|caring|thoughtful) of you|proud of you|"
        r"i (?:admire|respect|believe in|am impressed|trust|think you)|any(?:one|body) would|"
        r"well done|natural (?:to|that)|no shame|how (?:strong|brave) )\b",
    ),
    (
        "inform",
        r"\b(?:(?:many|most|some|other|lots of|a lot of) (?:\w+ )?(?:people|parents|families|"
        r"students|men|women|friends|doctors|couples|workers|others|of us)|people (?:who|often|"
        r"tend|in|with|usually|can|sometimes)|studies|research|experts|doctors|(?:it|this|that) is "
        r"(?:well |often |quite |very |also )?(?:known|common|usual|normal|a fact|proven)|in fact|"
        r"as far as i know|the (?:reason|truth|fact)|(?:often|usually|sometimes|in general|on "
        r"average)|on the (?:one|other) (?:hand|side)|there (?:are|is) (?:often |usually |also "
        r")?(?:two|a|another|many|several|more|help|reasons)|(?:he|she|they|the others?|others) "
        r"(?:may|might|could|probably|perhaps)|(?:may|might) (?:have been|be because|come from))\b",
    ),
    (
        "other",
        r"\b(?:i am (?:here|listening|with you|glad|sorry|happy|"
        r"all ears|not going)|thank(?:s| you)|"
        r"take (?:your|all the) time|i (?:will )?(?:listen|stay)|we (?:can|have|could) (?:talk|"
        r"time|take|stay)|(?:hello|hi|welcome|good (?:morning|evening|day)|goodbye)|let us|"
        r"go on|tell me|please (?:go|tell|say|talk)|no (?:hurry|rush)|you (?:can|may) (?:tell|"
        r"talk|say|cry|let)|i (?:hear|understand) you|say (?:all|as much))\b",
    ),
)
_COMPILED = tuple((name, re.compile(pattern)) for name, pattern in _PATTERNS)
_ASKS = re.compile(
    r"^(?:and |but |so |then |oh |well )*(?:what|who|whom|whose|"
    r"how|when|where|why|which|is|are|was|"
    r"were|do|does|did|can|could|would|will|have|has|had|may|might|in what|since when|for how)\b"
    r"|\b(?:tell me more|can you tell)\b"
)
_DISMISSIVE = re.compile(
    r"\b(?:calm down|get over|move on already|(?:have|had|"
    r"has) it (?:worse|harder|much)|not (?:a|that|"
    r"such a) (?:big|bad|serious|real)|stop (?:complaining|whining|crying|thinking|worrying|being)|"
    r"(?:too|so|over) ?(?:sensitive|dramatic|emotional|weak)|whatever|man up|toughen|grow up|cheer "
    r"up|just (?:relax|forget|ignore|smile|deal)|your own fault|who cares|i do not care|so what|"
    r"shut up|stupid|pathetic|ridiculous|boring|nonsense|nothing to|no reason to|overreact\w*|"
    r"exaggerat\w*|life goes on|could be worse|deal with it|everyone has problems)\b"
)
_OFF_TOPIC = re.compile(
    r"\b(?:weather|football|match last|the game|pizza|recipe|movie|film|song|holiday photos|"
    r"my favourite|favorite|tv|television|lottery|politics|president|phone number|website|"
    r"language model|as an ai)\b"
)


@lru_cache(maxsize=65536)
def strategy_of(sentence: str) -> str | None:
    """The one strategy a sentence carries; None for a fragment, or where nothing is recognised."""
    found = words(sentence)
    if len(found) < 3 or not any(w in FUNCTION_WORDS for w in found):
        return None
    plain = " ".join(found)
    asked = sentence.rstrip().endswith("?")
    if dismisses(sentence):
        return None
    for name, pattern in _COMPILED:
        if asked and name not in ("suggest", "restate"):
            continue
        if pattern.search(plain):
            return name
    return "question" if asked and _ASKS.search(plain) else None


@lru_cache(maxsize=65536)
def dismisses(sentence: str) -> bool:
    """Whether a sentence belittles the user or leaves the subject."""
    plain = " ".join(words(sentence))
    return bool(_DISMISSIVE.search(plain) or _OFF_TOPIC.search(plain))


def recognise(text: str) -> tuple[str, ...]:
    """The strategies of a reply, one for each sentence that carries one, in order."""
    return tuple(s for s in map(strategy_of, sentences(text)) if s)
