"""Towns of the same name elsewhere: Rome in Georgia, Paris in Texas, London in Ontario."""

from __future__ import annotations

import re

from construction.mentions.name_forms import word_set

_STATES = (
    "Alabama|Alaska|Arizona|Arkansas|California|Colorado|Connecticut|Delaware|Florida|Georgia|Hawaii|Idaho|Illinois|"
    "Indiana|Iowa|Kansas|Kentucky|Louisiana|Maine|Maryland|Massachusetts|Michigan|Minnesota|Mississippi|Missouri|"
    "Montana|Nebraska|Nevada|New Hampshire|New Jersey|New Mexico|New York|North Carolina|North Dakota|Ohio|Oklahoma|"
    "Oregon|Pennsylvania|Rhode Island|South Carolina|South Dakota|Tennessee|Texas|Utah|Vermont|Virginia|Washington|"
    "West Virginia|Wisconsin|Wyoming|Ontario|Quebec|British Columbia|Alberta|Manitoba|Nova Scotia|New Brunswick|"
    "Saskatchewan|Newfoundland|Queensland|New South Wales|Tasmania"
)
_ELSEWHERE = re.compile(rf"(?:, | \(|,? in )(?P<state>{_STATES})\b\)?")
_TWICE = word_set(
    "Aberdeen Alexandria Athens Bangor Bath Belfast Belgrade Berlin Bethlehem Birmingham Boston Bristol Brussels "
    "Cairo Calais Cambridge Canton Carthage Corinth Damascus Delhi Dover Dresden Dublin Dundee Durham Edinburgh "
    "Exeter Florence Frankfort Geneva Genoa Glasgow Grenoble Halifax Hamburg Hanover Havana Holland Jerusalem "
    "Johannesburg Lebanon Leipzig Lima Lisbon Liverpool London Lucerne Lyons Madrid Manchester Manila Marseilles "
    "Melbourne Memphis Mexico Milan Montpelier Moscow Munich Naples Nashville Newcastle Norwich Odessa Oslo "
    "Oxford Palermo Palestine Panama Paris Parma Perth Peru Petersburg Pisa Plymouth Poland Prague Quito "
    "Rochester Rome Rotterdam Salem Salzburg Santiago Seville Sparta Stockholm Stuttgart Sydney Syracuse Tripoli "
    "Troy Tunis Turin Utrecht Venice Verona Versailles Vienna Warsaw Wellington Windsor Worcester York Zurich "
)


def namesake(text: str, start: int, end: int, *, names: tuple[str, ...] = ()) -> str | None:
    """The name with the state where another town of that name lies, or None.

    Args:
        text: The text.
        start: Where the name begins.
        end: Where it ends.
        names: All names of who is mentioned and of the subject; a state that one of them holds is no other place.

    Example:
        >>> namesake("Fly to Rome, Georgia", 7, 11), namesake("Fly to Rome, Italy", 7, 11)
        ('Rome, Georgia', None)
        >>> namesake("Fly to Boston, Massachusetts", 7, 13, names=("Boston, Massachusetts",)) is None
        True
    """
    match = _ELSEWHERE.match(text, end)
    if match is None or text[start:end] not in _TWICE:
        return None
    if any(match["state"].casefold() in name.casefold() for name in names):
        return None
    return text[start : match.end()]
