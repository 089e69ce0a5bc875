"""Places that lead to nothing in particular: "think of ...", "write ... below", "avoid the ferry from ..."."""

from __future__ import annotations

import re

from construction.cuts.cut_place import CutPlace
from construction.cuts.relation_kinds import INSTRUMENTS, LANGUAGES, PLACES

_NO_PLACE = re.compile(  # "the musical Chicago", "Mrs London": works, things and persons
    r"\b(?:films?|movies?|musical|songs?|hit|album|tune|anthem|ballad|band|group|book|novel|magazine|poem|painting|"
    r"game|ship|boat|yacht|horse|pony|dog|cat|font|typeface|perfume|cocktail|drink|pizza|burger|actor|actress|singer|"
    r"player|rapper|brand|app|fabric|mr|mrs|ms|miss|dr|prof|sir|dame|aunt|uncle)\.?[\s\"'“‘„«(]+\Z",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"\b(?:(?:nick|re)?(?:name|names|naming)|christen) (?:it|him|her|them|(?:the|your|a|an|my) \w+)[\s\"'“‘(]+\Z|"
    r"\b(?:guess|bet on|wish for|pray for|tattoo)[\s\"'“‘(]+\Z",
    re.IGNORECASE,
)
_ANYTHING = re.compile(  # what may be thought of, or said and written with nothing before it, is any word at all
    r"(?:\b(?:(?:think|thinking|dream|dreaming|joke|jokes|gossip|chat|brag|boast|daydream) (?:of|about)|"
    r"(?:imagine|remember|recall|forget|picture)s?|imagining|remembering|recalling|"
    r"forget(?:ting)?(?: about)?|to mind)|"
    r"\A(?:mention|say|shout|whisper|chant|spell|print|type|write|yell|cry|hum|mumble|murmur|scream|scribble|"
    r"doodle|utter|exclaim|call out|cry out|shout out|sign with)(?: down| out)?)"
    r"[\s\"'“‘„«:(]*\Z",
    re.IGNORECASE,
)
_WORDING = re.compile(  # a sign, a shirt, a caption may say any place at all
    r"\b(?:(?:that|which) (?:says?|reads?|spells?)|saying|labell?ed|titled|captioned|spelling|spelt|"
    r"(?:posters?|signs?|banners?|cards?|shirts?|stickers?|badges?|flags?|placards?|labels?|cake|caption|slogan|"
    r"headline|motto|title|hashtag|password|tag|stamp) (?:reading|with)|"
    r"(?:password|caption|slogan|headline|hashtag|nickname|codeword|code word)(?: to| is)?)"
    r"[\s\"'“‘„«:(#]*\Z",
    re.IGNORECASE,
)
_GREETED = re.compile(
    r"\A(?:thank|praise|bless|curse|toast|cheer|salute|hail|applaud|blame)(?: for)?\s+\Z", re.IGNORECASE
)
_SPOKEN = re.compile(r"\b(?:say|writ|typ|read|spell|print|whisper|shout|chant)\w*\W*\Z", re.IGNORECASE)
_AWAY = re.compile(  # away from the object, or anywhere else
    r"(?:\b(?:avoid(?:s|ing)?|ignor(?:e|es|ing)|skip(?:s|ping)?|without|except(?: for)?|instead of|rather than|"
    r"other than|anywhere but|anything but|unlike|away from|far from|nothing to do with|no matter|as opposed to|"
    r"regardless of|apart from|leave out|refus(?:e|es|ing)|reject(?:s|ing)?|declin(?:e|es|ing)|cancel(?:s|l?ing)?|"
    r"boycott(?:s|ing)?)|(?:\bnot|\bnever|\bneither|\bnor|n[’']t)(?! (?:miss|forget|only|just|far)\b))\b[^.;!?]*\Z",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(
    r"\b(?:such as|for example|for instance|e\.g\.,?|perhaps|maybe|somewhere like)[\s\"'“‘(:,]*\Z", re.IGNORECASE
)
_DYNAMIC = re.compile(
    r"(?:[,;]|\b(?:play|sing|begin|start|end|finish|perform|soft\w*|quiet\w*|gent\w*|loud\w*))\s+in\s+\Z", re.I
)
_NO_LANGUAGE = re.compile(  # "French dressing": what is made, worn or done in a country, and no words of its language
    r"\A[ \u00a0-](?:style |made )?(?:dressing|sauce|mustard|bread|loaf|baguette|pastr\w+|cakes?|pies?|tarts?|"
    r"pancakes?|cheese\w*|wines?|beers?|vodka|brandy|liqueur|champagne|tea|coffee|water|chocolates?|sweets|candy|sausages?|ham|"
    r"salami|meat\w*|fish|salmon|soups?|stew|salad|onions?|olives?|pepper|beans?|fries|fried|toast|omelette|rice|"
    r"noodles?|pasta|pizza|curry|food|cooking|cuisine|dishes?|meals?|dinners?|lunch|breakfast|restaurants?|"
    r"cafes?|cafés?|bakery|bistro|pub|bar|chefs?|cooks?|hats?|berets?|caps?|shirts?|dress(?:es)?|suits?|coats?|shoes?|"
    r"boots?|socks?|lace|linen|silk|wool|leather|perfumes?|soap|horns?|press|doors?|windows?|beds?|chairs?|carpets?|"
    r"rugs?|vases?|glass|porcelain|furniture|bulldogs?|terriers?|shepherds?|hounds?|cats?|horses?|cows?|hens?|roses?|"
    r"tulips?|oaks?|gardens?|houses?|castles?|cars?|trucks?|bikes?|bicycles?|trains?|planes?|ships?|boats?|"
    r"flags?|passports?|visas?|coins?|money|currency|stamps?|army|navy|troops|soldiers?|police|government|"
    r"embassy|border|coast|alps|riviera|mountains?|lakes?|rivers?|weather|massage|manicure|braids?|kiss\w*|roulette|"
    r"dolls?|toys?|football\w*|team|player|club|league|open|sauna|bath|delight|polish|dance|dancing|ballet|"
    r"revolution|war|empire|king|queen|royals?|tourists?|sailors?|girls?|boys?)\b",
    re.IGNORECASE,
)


def open_place(place: CutPlace) -> str | None:
    """The words that make a place one where any object may follow, or none; None where there are no such words.

    A language may well be written or said, a person thanked.

    Example:
        >>> [open_place(CutPlace(before)) for before in ("Think of ", "Write ", "As the city, write ")]
        ['Think of', 'Write', None]
        >>> open_place(CutPlace("Avoid the ferry from "))
        'Avoid the ferry from'
        >>> open_place(CutPlace("Write ", "P37")) is None
        True
        >>> open_place(CutPlace("Serve salad with ", "P37", after=" dressing"))
        'dressing'
    """
    before, relation, after, person = place
    language = relation in LANGUAGES
    if language and (thing := _NO_LANGUAGE.match(after)) is not None:
        return thing.group().strip(" \u00a0-")
    patterns = [_AWAY, _EXAMPLE, _ANYTHING, _NAMED]
    patterns += [] if person else [_GREETED]
    patterns += [_WORDING, _NO_PLACE] if relation in PLACES else []
    patterns += [_DYNAMIC] if relation in INSTRUMENTS else []
    match = next((leader for pattern in patterns if (leader := pattern.search(before))), None)
    if match is None or (language and _SPOKEN.search(before)):
        return None
    return match.group().strip(" \t\"'“‘„«:(,;#")
