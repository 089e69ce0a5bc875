"""Places that name the object in passing: one of several, on the way, where somebody lives, the name of another thing.

A careful editor asks whether another object of the relation could follow at the cut, and whether anything leads to it.
These families of words say that it is not so; what they find is for people to decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from construction.cuts.cut_place import CutPlace
from construction.cuts.relation_kinds import LANGUAGES, MAKERS, PLACES

_QUOTE = r"[\s\"'“‘„«(]*\Z"
_PEOPLE = (
    r"aunt|uncle|cousin|sister|brother|mother|father|mum|mom|dad|parent|grandmother|grandfather|grandparent|granny|"
    r"friend|pal|penfriend|neighbou?r|colleague|boss|nephew|niece|son|daughter|wife|husband|relative|classmate|ex"
)
_EITHER = re.compile(  # one of several: any other may stand there
    r"(?:\bor\s+(?:(?:the|an?|in|to|at|into|with|for|from)\s+){0,2}|"
    r"(?<=\s)[A-Z][^\W\d_]+,\s+(?:(?:the|an?)\s+)?|"
    r"\b(?i:cho\w+|pick|decid\w+|toss up|torn|waver|hesitate) between\b[^.;!?]*\band\s+(?:(?:the|an?)\s+)?|"
    r"\b(?i:either)\b[^.;!?]*)[\"'“]?\Z"
)
_OR_ELSE = re.compile(r"\A[\"'”]?,?\s+or\s+(?:(?:in|to|at|the|an?)\s+)?(?:[A-Z]|else|another|any|some|wherever)")
_DENIED = re.compile(  # "Riga is not needed", "Riga aside"
    r"\A[\"'”’)]*\s+(?:(?:is|was|are|were|will|would|does|did|do|has|have|can|could|should|may|might|must|need)"
    r"(?:n['’]t|\s+(?:not|no|never|hardly))\b|won['’]t\b|can['’]t\b|cannot\b|aside\b|excepted\b|excluded\b|"
    r"(?:is|was) (?:closed|out|off|wrong|irrelevant|useless)\b)"
)
_NO_NEED = re.compile(
    r"\b(?:no(?! (?:later|earlier|sooner|more|less|matter|fewer)\b)|nobody|none|hardly|scarcely|seldom|unless|"
    r"stop \w+ing|hate|dislike|fear|dread|doubt|mistake|confuse)\b[^.;,!?]*\Z",
    re.IGNORECASE,
)
_LEFT = re.compile(r"\b(?:leave|leaving|cross|strike|scratch|rule|count|drop)\s+\Z", re.IGNORECASE)
_LEFT_OUT = re.compile(r"\A\s+(?:off|out|aside|behind|alone)\b")
_COMPARED = re.compile(
    r"\b(?:(?<!later )(?<!earlier )(?<!sooner )than|as \w+ as|similar to|compar\w+ (?:(?:it|them) )?(?:to|with)|"
    r"rhymes? (?:for|on)|anagrams? of|letters? of|(?:count|spell)(?:ing)? (?:the )?letters in|"
    r"short for|reminds? \w+ of)" + _QUOTE,
    re.IGNORECASE,
)
_LIKE = re.compile(r"(?<!would )(?<!you )(?<!['’]d )\blike" + _QUOTE, re.IGNORECASE)
_TALKED_ABOUT = re.compile(
    r"\b(?:rav(?:e|ing)|complain\w*|argu(?:e|ing)|rant\w*|fantasi[sz]\w*|wonder\w*|worr(?:y|ying)|reminisc\w*|"
    r"quarrel\w*|hear|laugh\w*|smile|grin|swear|jokes?|rumou?rs?) (?:about|over|at|of)" + _QUOTE,
    re.IGNORECASE,
)
_CHEERED = re.compile(
    r"\b(?:viva|hello|goodbye|bye|hooray for|hurrah for|long live|forza|allez|good morning)" + _QUOTE, re.IGNORECASE
)
_WORD = re.compile(r"\b(?:syllables?|crossword|riddle|anagram)[\s:\"'“‘«]*\Z", re.IGNORECASE)

_ON_THE_WAY = re.compile(
    r"\b(?:via|by way of|chang(?:e|ing) (?:trains?|planes?|bus(?:es)?|flights?|lines?|coach(?:es)?|there) "
    r"(?:in|at|near)|(?:stop|lay)(?:s|ped|ping)?[- ]?over (?:\w+ )?(?:in|at)|transit (?:in|at|through)|"
    r"pass(?:ing)? (?:by|through)|(?:drive|walk|sail) past|en route (?:to|through)|halfway to|"
    r"refuel (?:in|at)|break the journey (?:in|at))\s+\Z",
    re.IGNORECASE,
)
_FROM_THERE = re.compile(
    r"\b(?:(?:come|get|fly|travel|go|drive|walk|head|sail|run|ride|move|return|depart|start|set (?:out|off)|arrive|"
    r"hike|cycle|escape|commute)(?:s|ed|ing)?(?: (?:back|home|away|straight|directly|up|down))? (?:from|out of)|"
    r"\A(?:leave|quit|flee|exit|bypass)|"
    r"(?:miles?|kilomet(?:re|er)s?|hours?|minutes?)(?: (?:away|drive|walk))? (?:from|outside|out of)|"
    r"(?:north|south|east|west)(?:ern)? of)\s+\Z",
    re.IGNORECASE,
)
_AT_HOME = re.compile(
    r"\b(?:(?:you|I|we) (?:(?:still|now|already|once|also|happen to) )?(?:lived?|grew up|were born|was born|reside)|"
    r"(?:your|my|our) (?:\w+ )?(?:home|house|flat|apartment|desk|bed|garden|kitchen|cellar|hometown|office|school|"
    r"childhood|youth)|"
    rf"(?:your|my|our|his|her|an?|the) (?:\w+ )?(?:{_PEOPLE})s?(?: (?:back|over))?) "
    r"(?:in|at|near|from|of|outside)\s+\Z",
    re.IGNORECASE,
)
_BEARS_THE_NAME = re.compile(  # "your cousin Florence", "a yacht called Odessa", "hum Vienna"
    r"\b(?:(?:your|my|our|his|her|an?|the) (?:\w+ )?"
    rf"(?:{_PEOPLE}|guide|maid|waiter|nurse|parrot|kitten|puppy|hamster|pet|hen|cow|opera|series|single|track|quiz|pub|"
    r"bistro|heroine|hero|character|detective|baby|doll|hurricane|storm)|"
    r"(?:(?!(?:city|town|capital|country|village|place|state|region|province|island|continent)\b)\b\w+) "
    r"(?:called|named|nicknamed|entitled|titled|dubbed)|"
    r"(?:hum|whistle|sing|sing along to|stream|binge|dance to|listen to|strum)),?" + _QUOTE,
    re.IGNORECASE,
)
_STREET = re.compile(r"\A (?:street|avenue|boulevard|lane|crescent|alley)\b", re.IGNORECASE)
_SHOWN_ON = re.compile(
    r"\b(?:mug|jigsaw|puzzle|tattoo|magnet|calendar|wallpaper|screen ?saver|snow globe|t-?shirt|tea towel|cushion|"
    r"poster|sticker|badge|keyring) (?:of|with|from|showing)(?: the)?\s+\Z",
    re.IGNORECASE,
)
_WARES = re.compile(
    r"\A[ \u00a0-](?:mugs?|jigsaws?|puzzles?|tattoos?|magnets?|calendars?|t-?shirts?|shirts?|caps?|hats?|scar(?:f|ves)|"
    r"stickers?|posters?|keyrings?|badges?|pens?|socks?|jackets?|boots?|toys?)\b",
    re.IGNORECASE,
)
_MADE_THERE = re.compile(  # "Kobe beef", "a Jersey cow", "Vienna sausages"
    r"\A[ \u00a0-](?:style |made )?(?:sausages?|ham|beef|lamb|beans?|peppers?|sprouts|onions?|olives?|potato(?:es)?|"
    r"oranges?|lemons?|apples?|peach(?:es)?|figs?|fennel|cherries|cheese|butter|mustard|sauce|salt|sugar|bread|rolls?|"
    r"buns?|cakes?|tarts?|pies?|pastr(?:y|ies)|biscuits?|cookies?|waffles?|pancakes?|omelettes?|steaks?|chops|stew|soup|"
    r"salad|curry|rice|noodles|pizza|pasta|tea|wine|beer|rum|gin|whisky|vodka|sherry|champagne|coffee(?! house)|"
    r"chocolates?|sweets|fudge|cow|cattle|bull|horse|pony|goat|sheep|rabbit|hens?|ducks?|geese|cat|kitten|dog|puppy|"
    r"terrier|spaniel|hound|poodle|shepherd|rose|lil(?:y|ies)|daisy|violet|fern|cedar|pine|oak|lace|linen|silk|wool|"
    r"cotton|velvet|leather|tweed|shawl|blue|green|red|marble|granite|glass|porcelain|china|clay|chairs?|carpet|rug)\b",
    re.IGNORECASE,
)
_BESIDE_ONE = re.compile(
    r"\b(?:behind|beside|next to|past|overtake|follow|race|hail|honk at|wave at|in front of)\s+"
    r"(?:an?|the|another)\s+\Z",
    re.IGNORECASE,
)
_NATIONALS = re.compile(  # people and places have a nationality, and no words of the language
    r"\A[ \u00a0](?:people|persons?|m[ae]n|wom[ae]n|lad(?:y|ies)|famil(?:y|ies)|guests?|visitors?|customers?|sailors?|"
    r"nurses?|doctors?|lawyers?|farmers?|actors?|actress(?:es)?|singers?|bands?|artists?|painters?|architects?|hotels?|"
    r"towns?|villages?|cit(?:y|ies)|islands?|compan(?:y|ies)|firms?|goods|products?|brands?|holidays?|weddings?|"
    r"awards?|prizes?)\b",
    re.IGNORECASE,
)


class _Sides(NamedTuple):
    """Patterns for what stands before a place, and for what stands after it."""

    before: tuple[re.Pattern[str], ...]
    after: tuple[re.Pattern[str], ...]


_ALL = _Sides((_EITHER, _NO_NEED, _COMPARED, _TALKED_ABOUT, _CHEERED, _WORD), (_OR_ELSE, _DENIED))
_OF_PLACES = _Sides((_ON_THE_WAY, _FROM_THERE, _AT_HOME, _BEARS_THE_NAME, _SHOWN_ON), (_STREET, _WARES, _MADE_THERE))
_OF_MAKERS = _Sides((_BESIDE_ONE,), (_WARES,))
_OF_LANGUAGES = _Sides((), (_NATIONALS,))


def passing_mention(place: CutPlace) -> str | None:
    """The words that make a place one where the object is named in passing; None where there are none.

    Another may be like a person.

    Example:
        >>> passing_mention(CutPlace("Compare Madrid, Rome or ")), passing_mention(CutPlace("Fly from Madrid to "))
        ('or', None)
        >>> [passing_mention(CutPlace("Change trains in ", relation)) for relation in ("P131", "P407")]
        ['Change trains in', None]
        >>> passing_mention(CutPlace("Grill thin ", "P131", after=" beef"))
        'beef'
    """
    before, relation, after, person = place
    if _LEFT.search(before) and (out := _LEFT_OUT.match(after)) is not None:
        return out.group().strip()
    for sides in _sides(relation):
        for pattern in sides.before:
            if (match := pattern.search(before)) is not None:
                return match.group().strip(" \t\"'“‘„«:(,")
        for pattern in sides.after:
            if (match := pattern.match(after)) is not None:
                return match.group().strip(" \u00a0-\"'”’),")
    if not person and (match := _LIKE.search(before)) is not None:
        return match.group().strip(" \t\"'“‘„«:(,")
    return None


def _sides(relation: str) -> Iterator[_Sides]:
    yield _ALL
    if relation in PLACES:
        yield _OF_PLACES
    if relation in MAKERS:
        yield _OF_MAKERS
    if relation in LANGUAGES:
        yield _OF_LANGUAGES
