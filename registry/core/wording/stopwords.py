"""Request words: what people say around what they want. Left out of queries only; documents keep their words.

The list was written from the closed word classes of English grammar and from the phrases of asking and politeness,
not from any collection of queries. Words that can name a thing or an action of a service (find, search, check,
create, list, information, tool) are not on it: a query may consist of little else.
"""

_ARTICLES_AND_DETERMINERS = """
a an the this that these those each every either neither some any no all both few many much more most less least
several enough such other another own same certain
"""

_PRONOUNS = """
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself
it its itself they them their theirs themselves one ones who whom whose which what whoever whatever whichever
someone somebody something anyone anybody anything everyone everybody everything nobody nothing none
"""

_VERBS_THAT_CARRY_OTHERS = """
am is are was were be been being do does did doing done have has had having can could may might must shall should
will would ought cannot get gets getting got gotten go goes going gonna gotta wanna
"""

_PREPOSITIONS = """
about above across after against along among around as at before behind below beneath beside besides between beyond by
despite during except for from in inside into of off on onto out over per regarding since than
through throughout till to toward towards under until up upon via with within without
"""

_CONJUNCTIONS_AND_ADVERBS = """
and or nor but so yet if unless whether because although though while whereas when whenever where wherever why how
not only just also too very quite rather really even still already again ever never always often sometimes perhaps maybe
here there now then else well however therefore instead soon once actually basically currently simply
"""

_ASKING = """
please kindly thanks thank help helps helping need needs needed needing want wants wanted wanting wish wishes hope
hoping like liked looking seeking trying try tries tried tell show give gives giving let lets allow allows able unable
wonder wondering love interested possible possibly know think guess suppose mean say says
hello hi hey dear sorry excuse okay ok yes sure
"""

_CONTRACTIONS = """
i'm i've i'd i'll you're you've you'd you'll he's he'd he'll she's she'd she'll it's it'd it'll we're we've we'd we'll
they're they've they'd they'll that's that'll there's there're here's what's what're who's who're where's when's why's
how's how'd let's isn't aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't can't couldn't won't wouldn't
shan't shouldn't mustn't mightn't needn't ain't y'all
"""


_SPELL_ANOTHER_WORD = frozenset({"id", "ill", "shell", "hell", "wed", "shed"})
"""What a contraction must not become without its apostrophe: people search for `id` and `shell`."""


def _with_and_without_apostrophe(contractions: str) -> set[str]:
    """Return both spellings: people type `don't` and `dont`."""
    plain = {word.replace("'", "") for word in contractions.split()}
    return set(contractions.split()) | (plain - _SPELL_ANOTHER_WORD)


REQUEST_WORDS: frozenset[str] = frozenset(
    " ".join(
        (
            _ARTICLES_AND_DETERMINERS,
            _PRONOUNS,
            _VERBS_THAT_CARRY_OTHERS,
            _PREPOSITIONS,
            _CONJUNCTIONS_AND_ADVERBS,
            _ASKING,
        )
    ).split()
) | frozenset(_with_and_without_apostrophe(_CONTRACTIONS))
