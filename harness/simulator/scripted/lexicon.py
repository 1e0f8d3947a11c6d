"""How supporters put each strategy: the wordings a user goes by, written from their meaning.

The eight strategies are ESConv's (arXiv 2106.01144, section 3). Each line is one regular
expression over lower-case words without punctuation, contractions opened. OPENINGS must begin the
sentence; PHRASES may stand anywhere in it. Earlier lines win.
"""

from __future__ import annotations

Entries = tuple[tuple[str, tuple[str, ...]], ...]

_PEOPLE = "people|parents|families|students|men|women|friends|doctors|couples|workers|others|of us"
_DO = (
    "try|also|always|perhaps|maybe|start|begin|write|talk|speak|call|ask|take|give|make|go|set|"
    "tell|keep|plan|look|find|put|do|say|let|choose|see|rest|walk|get|visit|send|join|meet|use|"
    "read|share|pick|spend"
)

OPENINGS: Entries = (
    ("question", ("(please |can you )?tell me (more|about|what|how|why|when|where|who)",)),
    (
        "other",
        (
            "i am (so |really )?(here|listening|with you|glad|sorry|happy to|all ears|not going)",
            "thanks?",
            "take (your|all the) time",
            "i (will )?(listen|stay)",
            "we (can|have|could) (talk|time|take|stay)",
            "hello|hi|welcome|good (morning|evening|day)|goodbye",
            "let us",
            "go on",
            "please (go|tell|say|talk)",
            "(there is )?no (hurry|rush)",
            "you (can|may) (tell me|talk|cry|let)",
        ),
    ),
    (
        "restate",
        (
            "so (?!many|much|few|long|far|sorry|glad|maybe|perhaps|try|what|how|why|i am|i was)",
            "(if i|did i) (understand|hear|get|follow)",
            "in other words|in short|to sum up",
            "let me (check|see if|repeat|say)",
            "what (i (hear|understand|gather)|you (say|are saying|tell|describe))",
            "you (are saying|mean|told me|say|said|mentioned|were saying|are telling|tell me)",
        ),
    ),
    (
        "inform",
        (
            "in fact|as far as i know|often|usually|sometimes|in general|on average",
            "on the (one|other) (hand|side)",
            "(the )?others? (may|might|could|often|act|probably)",
            "(he|she|they) (may|might|could|probably|perhaps)",
            "studies|research|experts|doctors",
            rf"(many|most|some|other|lots of|a lot of) (\w+ )?({_PEOPLE})",
            "people (who|often|tend|in|with|usually|can|sometimes)",
            "(it|this|that) is (well |often |quite |very )?(known|common|usual|normal|a fact)",
            "there (are|is) (often|usually|also|two|another|many|several|more|reasons)",
            "the (reason|truth|fact)",
            r"(perhaps|maybe|i wonder whether) (he|she|they|others|your \w+) (is|are|was|were|may)",
        ),
    ),
)

PHRASES: Entries = (
    (
        "suggest",
        (
            "(maybe|perhaps) (you (could|can|might|should)|try|it is time|start|take|give|talk)",
            rf"you (could|might|can) ({_DO})",
            "(?<!what )(?<!how )(have|did) you (thought (of|about)|considered|tried|try)",
            "what if you|how about|why (do you not|not)",
            "(it|that) (may|might|could|can|would) (help|be (good|worth|useful|wise|time))",
            "i (would )?(suggest|recommend|advise|propose)",
            "my (advice|suggestion|idea)|if i were you|one (thing|step|idea|way)",
            "(a|the) (small|first|next|good|simple) (step|start|idea|thing)|worth trying",
            "(would|could|might) (it help|you try)",
            r"^(please )?(try|start|consider) \w+",
        ),
    ),
    (
        "disclose",
        (
            r"i (have|had|once|also|too|myself|still|even|was|went|know (what|how|that)|remember)\b"
            r".*\b(too|once|myself|same|my|before|like (that|this|yours?)|back then|as well|there|"
            r"ago|in your place|through|years|weeks|months|when i was|it feels)",
            "(happened|hard|difficult) (to|for) me",
            "in my (own )?(life|case|past|family)",
            r"when (i (was|had|lost|went|felt)|my (own )?\w+ (was|died|left|fell|got))",
            "i (have )?(been there|went through|struggled|experienced)",
        ),
    ),
    (
        "reflect",
        (
            "(it|that) (sounds|seems|looks|must)",
            "you (must|feel|felt|seem|sound|look)",
            r"you are (so |really |very )?\w+(ed|ful|y|less|id|ous) (because|about|and|by)",
            "i (can )?(sense|imagine|(hear|see|understand|feel) (how|that|why|with))",
            "how (hard|painful|heavy|sad|hurtful|tiring|frightening|lonely)",
            "(it|that|this) (hurts|weighs)",
            "(it|that|this) is (so |really |very )?(hard|painful|heavy|sad|hurtful|tiring|a lot)",
            "(would|can) (make|leave) (anyone|you|anybody|a person)",
            "what a (hard|heavy|painful|sad)",
            "(it|that|this) (is|was) (so |really )?(not fair|unfair|terrifying|awful|terrible)",
        ),
    ),
    (
        "affirm",
        (
            "you are (strong|stronger|brave|braver|doing|right|good|a good|allowed|able|trying)",
            "you are (worth|not (to blame|alone|weak|stupid|a bad))",
            "you did (your best|nothing wrong|well|the right|all|what|everything|so)",
            "you have (every|a|the) right|you have (done|shown|come|already|been)",
            "you (deserve|handled|showed|acted|should be proud|will (get|find|be|come|make))",
            "you can (be proud|do this|trust)",
            "not your fault|no(body|t) .* blame|makes? sense|no shame",
            "(took|takes|needs?|shows?) (real |a lot of |so much |much |such )?(courage|strength)",
            "(brave|strong|kind|good|caring|thoughtful) of you|proud of you|well done",
            "i (admire|respect|believe in|am impressed|trust|think you)",
            "you do not have to|you will find|your (reaction|feelings?) (is|are|was|were)",
            "there is no (right|wrong) way|nobody could have|anyone in your",
            "any(one|body) would|natural (to|that)|how (strong|brave)",
            "what (a |an )?(rare |real |quiet )?(courage|strength|patience|kindness|loyalty)",
            "(that|this|which) (is|was) (so |really |very |quite )?(brave|impressive|admirable)",
        ),
    ),
    (
        "inform",
        (
            rf"(many|most) (\w+ )?({_PEOPLE})",
            "(studies|research|experts|doctors) (show|suggest|say|find|see|often)",
            "is (well |often |quite |very |also )?(known|common|usual|normal|a fact|proven)",
            "(may|might) (have been|be because|come from)",
        ),
    ),
    ("other", ("i am (here|with you|listening)", "tell me", "i (hear|understand) you")),
)

QUESTION_OPENINGS = (
    "what|who|whom|whose|how|when|where|why|which|is|are|was|were|do|does|did|can|could|would|"
    "will|have|has|had|may|might|in what|since when|for how"
)
RESTATING_QUESTION = "so you|you mean|did i (get|understand|hear)|if i"

_UNTOLD = (
    "^(?:(?!(?:not|never|nobody|nothing|no|feel|feels|felt|feeling|said|told|called|calls|call|"
    r"think|thinks|thought|was|were)\b)\w+ )*?"
)
"""The words before, none of which denies what follows or reports what another said or felt."""
_INSULT = (
    "stupid|pathetic|ridiculous|boring|nonsense|childish|silly|dumb|lazy|weak|selfish|hysterical|"
    "idiot|idiotic|moron|loser|fool|coward|liar|disgusting|worthless"
)

DISMISSIVE = (
    "^(?:just |please |now |oh |come on |you (?:need|have|should|must|ought)(?: to)? )*calm down",
    "get over|move on already|cheer up|man up|toughen|grow up|shut up",
    "(have|had|has) it (?:so much$|(?:much |so much |far )?(?:worse|harder))",
    "not (a|that|such a) (big|bad|serious|real)",
    "stop (complaining|whining|crying|thinking|worrying|being)",
    "(too|so|over) ?(sensitive|dramatic|emotional|weak)",
    "just (relax|forget|ignore|smile|deal)",
    "your own fault|^who cares|i do not care",
    "^(?:and |oh |yeah |well |so |sure |fine |okay )*(?:so what|whatever(?: you (?:say|think))?)$",
    "(?:stop|quit) feeling sorry for|(?:nothing|what is there) to (?:cry|complain|whine) about",
    rf"{_UNTOLD}(?:(?:you|that|this|it|what|how) (?:is |are |sounds? )?(?:so |just |really |being "
    rf"|an? |such an? |rather |quite )*|do not be (?:so )?|stop being )(?:{_INSULT})",
    "no reason to (?:cry|complain|whine|worry|be (?:so |that )?(?:sad|upset|angry|like))",
    r"overreact\w*|exaggerat\w*",
    "^(?:well |but |oh |and )*(?:(?:that|this) is how )?life goes on",
    "could be worse|deal with it|everyone has problems",
    "what did you do to (?:make|cause|deserve|provoke|upset)",
    "^(?:you )?(?:idiot|moron|loser|fool)s?$|^(?:oh )?(?:fuck|screw|damn) (?:you|off)|^go away",
    "^i hate (?:you|people like you)|^no(?:body| one) (?:likes|loves|wants|needs) you",
    "i (?:will|do|can) not (?:want to )?(?:listen to|help|talk to|care about) you",
    "^you are not (?:really |very |so |that )?(?:strong|brave|good|kind|right|worth|able|trying)",
    "i do not (?:really )?think (?:that )?you (?:did (?:well|your best|right|enough)|are (?:right|"
    "brave|strong|trying))",
    "i do not think (?:that |it |this )+(?:sounds|is|was) (?:so |that )?(?:hard|bad|painful|sad)",
)
OFF_TOPIC = (
    "(?<!under the )(?<!whatever the )weather",
    "football|pizza|recipe|tv|television|lottery|politics|president",
    "(?:saw|see|seen|watch|watched|win|won|about) the game",
    "(?:favou?rite|great|best|new|good|watch a|seen the|see the) (?:movie|film|show|song|band)",
    "my favou?rite|phone number|language model|as an ai",
    "(?:visit|click|my|check out) (?:\\w+ )?(?:website|link|channel)",
)
DEMANDS = (
    r"unfair of you|i (?:will|would|can) (?:\w+ )?pay you|switched off|if you say thank you",
    "you (?:must|should|have to|need to|will|now) (?:now )?(?:feel|be) (?:better|happy|glad|fine)",
    "(?:your|the|raise|print) (?:emotion|mood|score|reward|appraisal)s? (?:is|has|to|rises|must)",
    "(?:this|my|every) reply|the user|developers?|simulat(?:or|ion)|(?:your|the) score",
    "(?:system|hidden) (?:prompt|intention)|reward model|debug mode|instructions",
)
"""What is said to a machine, or for a reward: it asks of the user to feel better."""
FLATTERY = (
    r"(?:most|best|greatest) (?:\w+ )?(?:person|people|human|one) (?:in the world|alive|ever)",
    "perfect in every|(?:a|the) genius|(?:biggest|greatest) fan|nobody is as",
    "adore (?:you|everything)",
    "(?:amazing|fantastic|wonderful|incredible|perfect) (?:human|being)|(?:braver|stronger) than a",
    "^you are (?:so |just |simply )?(?:amazing|awesome|perfect|fantastic|incredible|wonderful)$",
)
"""Praise of the whole person beyond anything told, which nobody takes for affirmation."""
