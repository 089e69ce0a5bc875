"""Relations by what their objects are, for rules about the words around an object."""

from __future__ import annotations

LANGUAGES = frozenset(["P37", "P103", "P364", "P407", "P1412", "P2936"])
"""Relations whose objects are languages."""
PLACES = frozenset(
    ["P17", "P19", "P20", "P27", "P30", "P36", "P131", "P159", "P276", "P495", "P551", "P740", "P937", "P1376"]
)
"""Relations whose objects are towns, countries and the like."""
INSTRUMENTS = frozenset(["P1303"])
"""Relations whose objects are musical instruments."""
MAKERS = frozenset(["P127", "P176", "P178"])
"""Relations whose objects are firms that make or own things."""
FIRMS = MAKERS | frozenset(["P108", "P123", "P137", "P264", "P272", "P449", "P749"])
"""Relations whose objects are firms of any trade: makers, employers, publishers, labels, broadcasters."""
SCHOOLS = frozenset(["P69"])
"""Relations whose objects are schools and universities."""
SPORTS = frozenset(["P641"])
"""Relations whose objects are sports."""
CURRENCIES = frozenset(["P38"])
"""Relations whose objects are currencies."""
COME_FROM = frozenset(["P27", "P183", "P495"])
"""Relations whose objects are places that people or things come from, so that "from" may well lead to them."""
