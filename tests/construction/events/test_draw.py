from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from construction.events.draw import draw_events
from construction.events.templates import TemplateFile
from schemas.facts import Source
from tests.support.construction.event_templates import data, table, templates

ANY = {"feasible": [], "derived": {}, "text": "{A} plays for {B}.", "impacted": [
    {"role": "A", "relation": "P54", "object": "B"}]}  # fmt: skip


def test_every_event_that_can_happen_is_drawn_once() -> None:
    lists = templates()
    draw = draw_events(lists.template[0], lists, table(), count=100)
    assert sorted(e.text for e in draw.events) == sorted(
        f"{a} has left {c} and plays for {b} from now on."
        for a, c in (("Ana Roe", "Alba"), ("Ben Sy", "Brenta"), ("Cleo Tam", "Corvo"))
        for b in ("Alba", "Brenta", "Corvo")
        if b != c
    )
    assert draw.infeasible.keys() == {"B and C are the same"}  # which the rule 'differ' would say, too
    assert draw.drawn == 3000


def test_the_draw_hangs_on_names_and_number_only() -> None:
    lists = templates()
    few = [e.key for e in draw_events(lists.template[0], lists, table(), count=3).events]
    template_file = TemplateFile.model_validate({**data(), "entity": data()["entity"][::-1]})
    assert few == [e.key for e in draw_events(template_file.template[0], template_file, table(), count=3).events]
    assert few == [e.key for e in draw_events(lists.template[0], lists, table(), count=6).events][:3]
    others = {tuple(e.key for e in draw_events(lists.template[0], lists, table(), count=3, number=str(n)).events)
              for n in range(8)}  # fmt: skip
    assert len(others) > 1


@pytest.mark.parametrize(("cap", "share"), [(10_000.0, 900 / 920), (10.0, 1 / 3)])
def test_entities_are_drawn_by_frequency_up_to_the_cap(cap: float, share: float) -> None:
    """The first draw of 400 numbers: 900 of 920, or a third where the cap makes all equal."""
    lists = templates(**ANY)
    first = Counter(
        draw_events(lists.template[0], lists, table(), count=1, cap=cap, number=str(n)).events[0].roles["A"].text
        for n in range(400)
    )
    assert abs(first["Ana Roe"] / 400 - share) < 4 * (share * (1 - share) / 400) ** 0.5


@pytest.mark.parametrize(
    ("more", "omission", "reason"),
    [
        ((("Ana Roe", "P570", "1990"),), None, "A has a 'P570'"),
        ((), ("Ana Roe", "P54"), "no single fact says what C (A.P54) is"),
        ((("Ana Roe", "P54", "Brenta"),), None, "no single fact says what C (A.P54) is"),
        ((), ("Ana Roe", "P641"), "A and B have no 'P641' in common"),
    ],
)
def test_what_cannot_happen_is_left_out_with_its_reason(
    more: tuple[Any, ...], omission: tuple[str, str] | None, reason: str
) -> None:
    lists = templates()
    draw = draw_events(lists.template[0], lists, table(*more, without=omission), count=100)
    assert reason in draw.infeasible
    assert draw.events and not any(e.roles["A"].text == "Ana Roe" for e in draw.events)


def test_the_same_entity_or_what_is_already_so_is_no_event() -> None:
    lists = templates(derived={}, text="{A} joined {B}.", places={"A": "club", "B": "club"}, untouched=[],
                      impacted=[{"role": "A", "relation": "P54", "object": "B"}],
                      feasible=[{"rule": "differ", "role": "A", "relation": "P118", "other": "B"}])  # fmt: skip
    draw = draw_events(lists.template[0], lists, table(("Alba", "P118", "Brenta")), count=100)
    assert draw.infeasible.keys() == {"A and B are the same", "the 'P118' of A is B already"}
    assert {(e.roles["A"].text, e.roles["B"].text) for e in draw.events}.isdisjoint({("Alba", "Brenta")})


def test_the_event_names_its_roles_and_its_template() -> None:
    lists = templates()
    filling = draw_events(lists.template[0], lists, table(), count=1).events[0]
    event = filling.event(Source(name="tests", licence="CC0-1.0"))
    assert [r.role for r in event.roles] == ["Player", "B", "C"] and event.template == "transfer"
    assert event.key.startswith("events/transfer-player/") and event.origin == "template"
