from __future__ import annotations

from itertools import combinations

from construction.cuts import relation_kinds as kinds


def test_no_relation_is_of_two_kinds() -> None:
    every = (
        kinds.LANGUAGES, kinds.PLACES, kinds.INSTRUMENTS, kinds.FIRMS, kinds.SCHOOLS, kinds.SPORTS, kinds.CURRENCIES
    )  # fmt: skip
    assert kinds.MAKERS < kinds.FIRMS and kinds.COME_FROM & kinds.PLACES
    assert all(every) and not any(a & b for a, b in combinations(every, 2))
    assert all(name[0] == "P" and name[1:].isdigit() for group in every for name in group)
