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
