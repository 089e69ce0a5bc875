"""Places where the object plays a part that the question does not ask for: a memory, a namesake, a guest's home.

Like ``passing_mentions`` these are families of words after which any other object, or none, could follow; a third
version of the rules knows them. What they find is for people to decide.
"""

from __future__ import annotations

import re

from construction.cuts.cut_place import CutPlace
from construction.cuts.relation_kinds import COME_FROM, FIRMS, INSTRUMENTS, LANGUAGES, PLACES

_QUOTE = r"[\s\"'“‘„«:(]*\Z"
_GUESTS = (
    r"guest|tourist|visitor|travell?er|backpacker|student|pupil|player|singer|dancer|band|choir|friend|stranger|boy|girl|"
    r"man|woman|men|women|lad|couple|people|nurse|sailor|waiter|pal|fan|crowd|neighbou?r|grandma|grandpa"
)
_PRETENDED = re.compile(
    r"\b(?:pretend(?:s|ing)?|make believe)\b[^.;!?]*\Z|\bas (?:if|though)\b[^.;!?]*\Z|"
    r"\bdress(?:ed|ing)?(?: up)? (?:as|like) (?:an? |the )?\Z|"
    r"\b(?:disguised?|costumed|masquerad\w+) as (?:an? |the )?\Z",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\b(?:if|unless|in case|suppos(?:e|ing)|should you|had you|lest)\b[^,;:]*\Z", re.IGNORECASE)
_FELT = re.compile(
    r"\A(?:\w+ly )?(?:love|admire|adore|miss|envy|pity|support|root for|cheer (?:for|on)|believe in|trust in|long for|"
    r"yearn for|crave|worship|be proud of|feel proud of|swear by|marvel at|wave to|wave at|smile at)(?: the)?" + _QUOTE,
    re.IGNORECASE,
)
_FELT_FOR_PERSONS = re.compile(r"\A(?:\w+ly )?(?:miss|envy|pity|root for|long for|yearn for|swear by)" + _QUOTE, re.I)
_SAID = re.compile(  # any word may be answered, repeated or underlined
    r"\A(?:answer|reply|respond|repeat|underline|highlight|hint at|refer to|allude to|bring up|rhyme|cross out|erase|"
    r"delete)(?: the (?:word|name))?" + _QUOTE,
    re.IGNORECASE,
)
_SOMEBODY_ELSE = re.compile(
    r"\b(?:rival|competitor|enem(?:y|ie)|opponent|predecessor|successor|widow|wife|husband|brother|sister|cousin|critic|"
    r"imitator|double|namesake|twin(?: town| city)?|sister (?:city|town)|impersonator|opposite)s? (?:of|to)\s+\Z",
    re.IGNORECASE,
)
_SOMEBODY_ELSES = re.compile(
    r"\A['’]s? (rival|competitor|enem(?:y|ie)|opponent|predecessor|successor|widow|wife|husband|brother|sister|"
    r"mother|father|cousin|critic|double|namesake|twin|dog|cat)s?\b",
    re.IGNORECASE,
)
_MEMORY = re.compile(
    r"\b(?:honeymoon|(?:last|previous|earlier|former|past|old|first|childhood) (?:\w+ )?(?:trip|visit|holiday|stay|"
    r"flight|journey|home|flat|job|post|address|life|year|summer|winter|date|days?)) (?:to|in|at|from|near|with)\s+\Z|"
    r"\b(?:used to|once|formerly|previously) (?:live|work|be|study|stay|teach)\w*(?: \w+)? "
    r"(?:in|at|for|from|with)\s+\Z",
    re.IGNORECASE,
)
_SERVED = re.compile(  # "Serve cheese from ..."
    r"\b(?:serve|eat|drink|sip|taste|nibble|chew|wear|put on|light|smoke|hum|bake|cook|fry|boil|grill|wrap|unwrap|open|"
    r"pour|offer|play|spread|hang up|dust)\b(?: \w+){0,3} from\s+\Z",
    re.IGNORECASE,
)
_COMES_FROM = re.compile(
    rf"\b(?:{_GUESTS})s? (?:(?:who |that )?(?:come|came|comes) )?from\s+\Z|"
    r"\b(?:greetings|regards|love|kisses|news|gossip|postcards?|souvenirs?|photos?|snaps?|slides|memories|tales) "
    r"from\s+\Z|"
    r"\b(?:train|bus|coach|flight|plane|ferry|boat|ship|ticket|road|ride|cargo|traffic)s? (?:back |home )?from\s+\Z",
    re.IGNORECASE,
)
_PASSED = re.compile(
    r"\b(?:short of|(?:stop|exit|station|turn|turn off|get off|town|village|mile|kilomet(?:re|er)|junction|day|hour)s? "
    r"(?:before|after|past|beyond|behind)|just (?:before|after|past)|get (?:off|out) (?:before|after))\s+\Z",
    re.IGNORECASE,
)
_LISTED = re.compile(r"(?<=\s)[A-Z][^\W\d_]+ and (?:the |an? )?\Z")
_PAIRED = re.compile(r"\b(?:between|from|combine\w*|combining|combination|connect\w*|link\w*|join\w*)\b", re.IGNORECASE)
_NAMESAKE = re.compile(
    r"\b(?!(?:city|town|capital|country|village|place|state|region|province|island|continent|language|tongue|sport|game|"
    r"instrument|company|firm|maker|brand|author|writer|man|woman|person|artist|player|coach|religion|faith|currency|"
    r"material|poet|director|painter|composer|leader|school|university|studio|label)\b)\w+ "
    r"(?:called|named|nicknamed|dubbed|christened|entitled)" + _QUOTE,
    re.IGNORECASE,
)
_PET = re.compile(
    r"\b(?:your|my|our|his|her|an?|the) (?:\w+ )?(?:cat|kitten|dog|puppy|parrot|hamster|rabbit|horse|pony|goldfish|"
    r"tortoise|budgie|doll|teddy|baby|son|daughter|nephew|niece|boat|yacht|canoe|raft)\b,?(?: the| an?)?" + _QUOTE,
    re.IGNORECASE,
)
_RELATIVE = re.compile(
    r"\b(?:your|my|our|his|her|an?) (?:\w+ )?(?:aunt|uncle|cousin|sister|brother|mother|father|grandmother|grandfather|"
    r"neighbou?r|friend|boss|nephew|niece|son|daughter|wife|husband),? (?:who is |once )?(?:an?|the)\s+\Z",
    re.IGNORECASE,
)
_TOOL = re.compile(  # "Search for it on ...", "Share the photos on ..."
    r"\b(?:search|look (?:it|them|this|that) up|look up|google|post|share|tweet|upload|"
    r"stream|swipe|scroll)\b(?: \w+){0,3} (?:on|in|with|via|through|using|over)\s+\Z|"
    r"\bchat\b(?: \w+){0,3} (?:on|in|via|through|using|over)\s+\Z",  # a firm that one chats with is its maker
    re.IGNORECASE,
)
_ITS_VERB = re.compile(r"\A\s+(?:the|an?|your|its?|them|for|how|where|what|some|his|her|their|any|every|yourself)\b")
_FILLED = re.compile(r"\b(?:glass|bottle|pint|cup|sip|can|slice|pinch|whiff) of\s+\Z", re.IGNORECASE)
_NATION = re.compile(
    r"\b(?:ask|beat|join|follow|like|love|hate|meet|greet|fight|copy|imitate|invite|thank|trust|watch|among|amongst|against|"
    r"seat|befriend|outwit|mock|tease|visit) (?:the|an?|some|two|three|many)\s+\Z",
    re.IGNORECASE,
)
_NO_MUSIC = re.compile(
    r"\b(?:toy|chocolate|paper|cardboard|cuddly|inflatable|miniature|knitted|lego|marzipan|sugar|imaginary|air)\s+\Z|"
    r"\b(?:trip over|fall over|step on|sit on|bump into|lean on|lean against|hide behind|kick|smash|burn|steal|dust|"
    r"drop|throw|tattoo|bake|doodle|walk past)\b(?: \w+)?\s+\Z",
    re.IGNORECASE,
)
_STAGED = re.compile(
    r"\A[ \u00a0](?:pub|bar|street|square|cocktail|wig|costume|mask|doll|mug|hotel|airport|burger|pizza|impression|"
    r"impersonator|look-?alike|tattoo|T-shirt|shirt|hoodie|cap|biscuit|sandwich)s?\b"
)
_WISHED = re.compile(
    r"\b(?:hello|goodbye|farewell|hi|bye|cheers|good luck|congratulations|thanks|drink|toast|glass(?:es)?|ode|hymn) to"
    + _QUOTE
    + r"|\Avote for\s+\Z",
    re.IGNORECASE,
)
_SNAKE = re.compile(r"\b(?:an?|two|three|your|some)\s+\Z", re.IGNORECASE)  # no language has an article
_ENDS = re.compile(r"\A(?:\Z|[.,;!?]|\s+(?:at|in|on|to|with|from|for|by|of|into|and|or|before|after|out)\b)")


def other_role(place: CutPlace) -> str | None:
    """The words that say which other part the object plays; None where there are none.

    Example:
        >>> other_role(CutPlace("If in ", "P36")), other_role(CutPlace("If it rains, drive to ", "P36"))
        ('If in', None)
        >>> other_role(CutPlace("Share it on ", "P178")), other_role(CutPlace("", "P178", after=" the clinic"))
        ('Share it on', 'the')
    """
    before, relation, after, person = place
    following = [_SOMEBODY_ELSES] + ([_STAGED] if person else [])
    if relation in FIRMS and not before.strip():
        following.append(_ITS_VERB)
    if relation == "P277" and _ENDS.match(after) and (match := _SNAKE.search(before)) is not None:
        return match.group().strip()
    for pattern in following:
        if (match := pattern.match(after)) is not None:
            return match.group(match.lastindex or 0).strip()
    if _LISTED.search(before) and not _PAIRED.search(before):
        return before.split()[-1]
    matches = (pattern.search(before) for pattern in _families(relation, person=person))
    return next((match.group().strip(" \t\"'“‘„«:(,") for match in matches if match is not None), None)


def _families(relation: str, *, person: bool) -> list[re.Pattern[str]]:
    """The patterns for what stands before an object of the relation."""
    families = [_PRETENDED, _CONDITION, _SAID, _SOMEBODY_ELSE, _MEMORY, _NAMESAKE, _RELATIVE]
    families += [_FELT_FOR_PERSONS, _FILLED] if person else [_FELT, _WISHED]
    families += [] if relation in FIRMS else [_PET]
    if relation in PLACES:
        families += [_PASSED] + ([] if relation in COME_FROM else [_COMES_FROM, _SERVED])
    families += [_TOOL] if relation in FIRMS else []
    families += [_NATION] if relation in LANGUAGES else []
    families += [_NO_MUSIC] if relation in INSTRUMENTS else []
    return families
