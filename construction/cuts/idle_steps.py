"""Steps that have no bearing on what a question asks: memories, games, where something was made.

Whatever the last word before the object is, a step that begins with "Win ..." or "Recall ..." leads to any place, and
"a driver raised in ..." says something of the driver. What these families find is for people to decide.
"""

from __future__ import annotations

import re

from construction.cuts.attributive_uses import noun_kind
from construction.cuts.cut_place import CutPlace
from construction.cuts.relation_kinds import COME_FROM, FIRMS, LANGUAGES

_QUOTE = r"[\s\"'“‘„«:(]*\Z"
_MADE = re.compile(  # a thing or person, and what was once done to it: "a coat sewn in", "two maids trained in"
    r"\b(?:an?|the|some|any|two|three|four|old|new|your|my|our|his|her|their)\s+(?:[\w-]+\s+){0,1}(?!minutes|records?|decisions?|statements?|films?|laws?|rules?|promises?)[\w-]+\s+"
    r"(?:raised|bred|reared|brought up|grown|grew up|trained|taught|schooled|educated|married|made|built|"
    r"bought|sold|sewn|knitted|woven|tailored|crafted|carved|painted|drawn|brewed|bottled|baked|cooked|caught|picked|"
    r"harvested|mined|cast|forged|assembled|manufactured|produced|found|lost|stolen|borrowed|rented|worn|seen|shot|"
    r"filmed|recorded|photographed|invented|discovered|spotted|overheard|washed|repaired|retired|exiled|buried) "
    r"(?:in|at|near|around|outside|from)\s+(?:the\s+)?\Z",
    re.IGNORECASE,
)
_MIND = re.compile(
    r"\A(?:\w+ly )?(?:recall|reminisce|imagine|picture|envision|envisage|visuali[sz]e|fancy|daydream|dream|"
    r"fantasi[sz]e|think back|look back|pretend|regret)\b[^.;:!?]*\Z",
    re.IGNORECASE,
)
_TOLD_TO_SAY = re.compile(
    r"\b(?:to|and) (?:say|shout|whisper|chant|spell|repeat|yell|scream|croak|mumble|mutter|murmur|squawk)" + _QUOTE,
    re.IGNORECASE,
)
_GAME = re.compile(  # for fun, whatever it is about
    r"\b(?:quiz(?:zes)?|quiz (?:round|night|show)|trivia|riddles?|jokes?|puns?|pranks?|gossip|rumou?rs?|selfies?|"
    r"horoscopes?|karaoke|charades?|crosswords?|puzzles?|raffles?|lotter(?:y|ies)|sweepstakes?|bets?|memes?|"
    r"daydreams?|nightmares?|dreams?|wallpapers?|screen ?savers?|tattoos?) (?:about|on|of|from|around|featuring|with) "
    r"(?:the\s+)?\Z",
    re.IGNORECASE,
)
_IDLE = re.compile(  # what is done for fun or by the way
    r"\A(?:\w+ly )?(?:win|lose (?:an?|the) (?:bet|game|match|race)|gamble|"
    r"wager|juggle|sneeze|cough|yawn|giggle|snore|hiccup|burp|somersault|sunbathe|flirt|tickle|blush|shrug|sulk|pout|gloat|brag|boast)\b[^.;:!?]*\Z",
    re.IGNORECASE,
)
_TO_A_PERSON = re.compile(
    r"\A(?:\w+ly )?(?:beat|defeat|outrun|outplay|race|wrestle|kick|slap|bite|hug|kiss|marry|divorce|adopt|bribe|"
    r"sleep|nap|rest|relax|lie down|sunbathe|snack|munch|shave|shower|jog|swim)\b[^.;:!?]*\Z",
    re.IGNORECASE,
)
_TO_THE_FAMILY = re.compile(
    r"\b(?:mum|mom|mummy|dad|daddy|granny|grandma|grandpa|gran|auntie?|uncle|cousin|niece|nephew|a friend|your friend|"
    r"the neighbou?rs?)\b[^.;:!?]*\b(?:postcards?|photos?|pictures?|snaps?|souvenirs?|magnets?|presents?|gifts?) "
    r"(?:of|from)\s+\Z",
    re.IGNORECASE,
)
_HEARD = re.compile(
    r"\A(?:play|hear|listen to|tune (?:in )?to|stream|turn on|switch on|put on|sing|hum)\b", re.IGNORECASE
)
_ON_AIR = re.compile(r"\A[ \u00a0](?:radio|station|channel|podcast|band|song|show|tune|dance|jazz|pop|rock|hip-hop)\b")
_FOLLOWERS = re.compile(r"\A[ \u00a0](?:fans?|supporters?|ultras?|lads?|folk|natives?)\b")
_SHARES = re.compile(
    r"\A(?:sell|dump|short|offload|unload)\b[^.;:!?]*\b(?:shares?|stocks?|stakes?|bonds?) (?:in|of)\s+\Z", re.IGNORECASE
)


def idle_step(place: CutPlace) -> str:
    """Why a step has no bearing on the question, in words; empty where it may have.

    Example:
        >>> idle_step(CutPlace("Hire a driver raised in ", "P36"))
        "nothing leads to the object after 'a driver raised in'"
        >>> idle_step(CutPlace("Fly to ", "P36")), idle_step(CutPlace("Beat ", "P50", person=True))
        ('', "nothing leads to the object after 'Beat'")
    """
    before, relation, after, person = place
    for pattern in _families(relation, person=person):
        if (match := pattern.search(before)) is not None:
            return f"nothing leads to the object after '{match.group().strip(' “‘„«(:')}'"
    if noun_kind(relation) == "place" and not person:
        noun = _FOLLOWERS.match(after) or (_ON_AIR.match(after) if _HEARD.match(before) else None)
        if noun is not None:
            return f"nothing leads to the object before '{noun.group().strip()}'"
    return ""


def _families(relation: str, *, person: bool) -> list[re.Pattern[str]]:
    """The patterns for what stands before an object of the relation."""
    families = [_IDLE]
    if person:
        return [*families, _TO_A_PERSON]
    families += [] if relation in LANGUAGES else [_TOLD_TO_SAY]
    if noun_kind(relation) == "place":
        families += [_GAME, _MIND, _TO_THE_FAMILY] + ([] if relation in COME_FROM else [_MADE])
    families += [_SHARES] if relation in FIRMS else []
    return families
