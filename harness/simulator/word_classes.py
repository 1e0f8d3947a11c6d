"""Closed word classes of English and the neighbours they can not have, for the surface checks.

A pair is listed only if hardly any English sentence holds it; words with several uses (`her`,
`that`, `like`) forbid little.
"""

from __future__ import annotations


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


ARTICLES = _set("a an the my your our their its every")
SUBJECTS = _set("i he she they we")
OBJECTS = _set("me him them us")
PRONOUNS = SUBJECTS | OBJECTS | _set("you it")
BE = _set("am is are was were")
MODALS = _set("can could will would shall should may might must")
HAVE_DO = _set("does did has had")
FINITE = BE | MODALS | HAVE_DO
PREPOSITIONS = _set("of at from with without into during")
LOOSE_PREPOSITIONS = _set("in on by for to about")
JOINTS = _set("and but or because if when than")
QUESTIONS = _set("what who whom whose which when where why how")
VERBS = _set(
    """admire am are ask bear been began begin believe blame bring build call came can care carry
    change come could deserve did do does dream eat expect fall feel fight find follow forget gave
    get give go grow had happen has have hear help hold hope hurt hurts imagine is keep know learn
    leave let lie like listen live lose love make matter may mean meet might miss move must need
    notice offer open pay plan press read remember rest run said saw say see seem send sense set
    shall share should show sit sleep sound sounds speak stand start stay stop suggest take talk
    tell thank think told took trust try understand use visit wait walk want was weigh were will
    wish wonder work would worry write fade pass ease heal turn break cost hide end grieve miss drain tear keep stop settle react went felt made got knew thought lost found kept left
    seems makes feels means takes hopes needs leaves helps wears weighs goes says tells comes"""
)
NOUNS = _set(
    """boss friend doctor exam job dog cat wife husband girlfriend boyfriend colleague manager
    teacher lawyer neighbour letter mistake flat shop loan grant thesis promotion wedding divorce
    debt rent house"""
)
"""Things one speaks of with an article or an owner: `calling friend` is not said."""
ADJECTIVES = _set(
    """sad angry afraid ashamed guilty lonely tired confused worried nervous helpless useless empty
    jealous disappointed trapped brave strong hard heavy painful alone proud glad hopeless"""
)

S_FORMS = _set(
    """seems makes feels means takes hopes needs leaves helps goes says tells comes shows hurts knows
    thinks wants gets sounds looks gives keeps happens becomes brings"""
)
PAST = _set("told said went knew came took began thought got gave saw spoke wrote fell")
BASES = _set("know think tell say understand believe begin happen bring become")
CLAUSE_TAKERS = _set(
    """think thought know knew say said says believe sure hope wish see saw hear heard feel felt mean
    means glad sorry sense guess understand tell told imagine wonder afraid proud worried sad happy
    remember suggest notice expect find found shows show learn learned realise like makes make let
    help helps"""
)
INFINITIVE_TAKERS = _set(
    "hurts hurt need want wants try tried hard help helps time easy hope ready able"
)
LICENCES = (
    JOINTS
    | QUESTIONS
    | CLAUSE_TAKERS
    | _set(
        """that so like while since until before after as though although whether maybe perhaps all
    everything anything something nothing someone anyone everyone one ones things thing way time
    times moment day days people person place reason more most best what then now here there once
    else either me you him her us them well yes no oh of course honestly sometimes often today not
    also is was or and but by about for to with than this these those even just only still too it"""
    )
)
"""Words after which a new clause may begin with its subject."""

FORBIDDEN: dict[str, frozenset[str]] = {}
"""Word -> words that can not follow it."""
for _words, _after in (
    (ARTICLES, ARTICLES | PRONOUNS | FINITE | PREPOSITIONS | JOINTS | QUESTIONS | _set(
        "to in on by for about not do have be am so because") | S_FORMS | BASES | _set("went came told")),
    (SUBJECTS, ARTICLES | PRONOUNS | PREPOSITIONS | _set("but or because if than be been being") | ADJECTIVES),
    (PREPOSITIONS, SUBJECTS | FINITE | _set("of at with without and but or because if be been") | S_FORMS | BASES | PAST),
    (MODALS, FINITE | (PREPOSITIONS - {"with"}) | NOUNS | _set("a an the my your our their its because if") | S_FORMS | PAST),
    (BE, FINITE | _set("be because if went came knew") | OBJECTS | BASES),
    (HAVE_DO, BE | MODALS | _set("of because if")),
    (_set("to"), SUBJECTS | FINITE | S_FORMS | PAST | _set("of to and but or because if been")),
    (_set("i you we they do does did not"), S_FORMS),
    (_set("do does did"), PAST),
    (_set("because"), _set("and but or of because when because be been to with at me him")),
    (_set("but or"), _set("and but or of")),
    (_set("and"), _set("and but or of than")),
    (_set("if when"), _set("and but because if of be been than me him")),
    (_set("than"), _set("and but or because of is are am can could")),
    (_set("not"), _set("me is are am was were can could because")),
    (_set("very quite"), ARTICLES | PRONOUNS | FINITE | PREPOSITIONS | JOINTS | _set("to not")),
    (_set("be been being"), FINITE | SUBJECTS | OBJECTS | _set("be of if because")),
    (_set("feel seem"), _set("am is are was were of can could will would may might")),
    (_set("me him them us"), _set("me him us my your")),
    (_set("i"), _set("are is has does")),
    (_set("he she"), _set("are am have do")),
    (_set("they we"), _set("is am has does was")),
    (_set("you it"), _set("am")),
):  # fmt: skip
    for _word in _words:
        FORBIDDEN[_word] = FORBIDDEN.get(_word, frozenset()) | _after

CAN_NOT_END = ARTICLES | _set(
    """i he she they we and but or because if when than very quite am feel seem sounds
    while although from into during"""
)
"""Words no sentence ends with (`how you feel` is looked at before)."""
