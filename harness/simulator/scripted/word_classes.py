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
FINITE = BE | MODALS | _set("does did has had")
PREPOSITIONS = _set("of at from with without into during")
JOINTS = _set("and but or because if when than")
QUESTIONS = _set("what who whom whose which when where why how")
VERBS = _set(
    """admire am are ask bear been began begin believe blame break bring build buy call came can
    care carry catch change check choose clean come comes cook cost could count cry
    deserve did die do does drain dream drink drive earn ease eat end expect fade fall
    feel feels felt fight find follow forget found gave get give go goes got grieve grow
    had happen has have heal hear help helps hide hold hope hopes hurt hurts imagine is
    keep kept knew know learn leave leaves left lend let lie like listen live look lose
    lost love made make makes matter may mean means meet melt might miss move must need
    needs notice offer open owe pass pay plan press pull push race reach react read
    remember rest run said saw say says see seem seems sell send sense set settle shall
    share should show sing sit sleep sound sounds speak stand start stay stop study
    suggest take takes talk teach tear tell tells thank think thought throw told took
    trust try turn understand use visit wait walk want was wash wears weigh weighs went
    were will win wish wonder work worry would write"""
)
"""The verbs of talk, after which a new sentence does not begin without a joint."""
MORE_VERBS = _set(
    """abandon accept act add affect afford agree allow answer apologise appear apply argue arrive
    avoid bless book borrow bother bought breathe brought burn bury calm cancel cheer chose climb
    close comfort compare complain confront congratulate consider contact cope cover cut dare deal
    decide demand deny depend describe destroy disappear dread drop drove embrace enjoy escape
    exist explain face fail felt fit fix flew focus forgave forgive forgot form fought froze
    function gather grew grip guess handle hang hate held hit hug hung hurry ignore improve
    include invite join judge jump kick kill kiss knock laid last laugh lay led lie light line list
    load lower manage marry mention mess mind miss mourn mute name object occur order own pack
    panic park peak permit phone pick plant play point pop practise pray prefer prepare prevent
    promise protect prove provide punish put qualify quit raise ran rang reckon recognise recommend
    recover reduce refuse regret reject relate relax relieve rely remain remind repair repeat
    replace reply report represent request respect respond return ring rise risk rose ruin sang
    save scare scold scream search seek separate serve shake shout shrink shut sign sink skim
    skip slip slow smell smile solve sort spend spent spill split spread stick stole store strike
    stroke struggle stuck succeed suffer suit support suppose surprise survive swallow swear
    swing tend tease text thank thrive tire touch trade train travel treat trigger twist type
    unfollow upset value vanish visit voice volunteer vote wake warm warn waste watch weep welcome
    withdraw woke wore yell"""
)
"""With those above enough to find a verb, by its stem, in an ordinary sentence; so do -ed and -ing
forms."""
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
    """seems makes feels means takes hopes needs leaves helps goes says tells comes shows hurts
    knows thinks wants gets sounds looks gives keeps happens becomes brings"""
)
NEED_SUBJECT = S_FORMS - _set("sounds seems looks feels makes takes means hurts helps goes comes")
"""Forms of verbs that open no sentence, unlike `Sounds like a lot.`"""
INVERTED = _set("may should had were")
"""`May he rest in peace.`, `Should you need me, I am here.`: no question although they begin so."""
PAST = _set("told said went knew came took began thought got gave saw spoke wrote fell")
BASES = _set("know tell understand believe begin happen bring become")
INFINITIVE_TAKERS = _set(
    "hurts hurt need want wants try tried hard help helps time easy hope ready able"
)
CLAUSE_TAKERS = _set(
    """think thought know knew say said says believe sure hope wish see saw hear heard feel felt
    mean means glad sorry sense guess understand tell told imagine wonder afraid proud worried sad
    happy remember suggest notice expect find found shows show learn learned realise like makes
    make let help helps"""
)
LICENCES = JOINTS | QUESTIONS | CLAUSE_TAKERS | FINITE | _set(
    """that so like while since until before after as though although whether maybe perhaps all
    everything anything something nothing someone anyone everyone one ones things thing way time
    times moment day days people person place reason more most best then now here there once else
    either me you him her us them well yes no oh of course honestly sometimes often today not also
    by about for to with this these those even just only still too it do have"""
)  # fmt: skip
"""Words after which a new clause may begin with its subject."""
_BREAKS = _set("of and but or because if")
_RULES: tuple[tuple[frozenset[str], frozenset[str]], ...] = (
    (ARTICLES, ARTICLES | PRONOUNS | PREPOSITIONS | JOINTS | QUESTIONS | BASES),
    (ARTICLES, (FINITE | S_FORMS) - _set("will hopes")),
    (ARTICLES, _set("to in on by for about do have be so went came told")),
    (SUBJECTS, ARTICLES | PRONOUNS | PREPOSITIONS | ADJECTIVES - {"worried"}),
    (SUBJECTS, _set("but or because if than be been being")),
    (PREPOSITIONS, SUBJECTS | FINITE | S_FORMS | BASES | PAST | _BREAKS),
    (PREPOSITIONS, _set("be been")),
    (MODALS, FINITE | NOUNS | S_FORMS | PAST | PREPOSITIONS - {"with"}),
    (MODALS, _set("a an the my our their its because if")),
    (BE, FINITE | OBJECTS | BASES | _set("be went came knew")),
    (_set("does did has had"), BE | MODALS | _set("of because if")),
    (_set("do does did"), PAST),
    (_set("to"), SUBJECTS | FINITE | S_FORMS | PAST | _BREAKS | {"been"}),
    (_set("because"), _BREAKS | _set("with when be been to at me him")),
    (_set("and"), _set("and but or of than")),
    (_set("but or"), _set("and but or of")),
    (_set("if when"), _BREAKS | _set("be been than me him")),
    (_set("than"), _BREAKS - {"if"} | _set("is are am can could think feel know")),
    (_set("not"), S_FORMS | _set("me is are am was were can could because")),
    (_set("very quite"), ARTICLES - {"a", "an"} | PRONOUNS | FINITE | PREPOSITIONS | JOINTS),
    (_set("very quite"), _set("to not")),
    (_set("be been being"), FINITE | SUBJECTS | OBJECTS | _set("be of if because")),
    (_set("feel seem"), BE | MODALS | {"of"}),
    (OBJECTS, OBJECTS),
    (_set("i you we they"), S_FORMS),
    (_set("i"), _set("are is has does")),
    (_set("he she"), _set("are am have do")),
    (_set("they we"), _set("is am has does was")),
    (_set("you it"), _set("am")),
)  # fmt: skip


def _followers() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for firsts, seconds in _RULES:
        for word in firsts:
            found[word] = found.get(word, frozenset()) | seconds
    return found


FORBIDDEN = _followers()
"""Word -> words that can not follow it."""
