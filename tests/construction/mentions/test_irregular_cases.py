"""Cases of Cyrillic names that the regular endings miss, ."""

from __future__ import annotations

import pytest

from construction.mentions.disguised_names import cases
from construction.mentions.irregular_cases import irregular_cases
from construction.mentions.object_mentions import find_object
from schemas.facts import Object


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("Орёл", "Орла"),
        ("Египет", "Египта"),
        ("Лев Толстой", "Льва Толстого"),
        ("Пётр Чайковский", "Петра Чайковского"),
        ("Павел", "Павла"),
        ("Афины", "Афин"),
        ("Афины", "Афинах"),
        ("Ростов-на-Дону", "Ростове-на-Дону"),
        ("Санкт-Петербург", "Санкт-Петербурге"),
        ("Комсомольск-на-Амуре", "Комсомольске-на-Амуре"),
        ("Київ", "Києві"),
        ("Київ", "Києва"),
        ("Львів", "Львова"),
        ("Харків", "Харкові"),
        ("Чернівці", "Чернівцях"),
        ("Ванкувер", "Ванкувере"),
    ],
)
def test_irregular_cases_of_cyrillic_names(name: str, form: str) -> None:
    assert form in cases(name)
    (one,) = find_object(f"Узнать: {form}.", Object(text=name))
    assert (one.mention.text, one.kind, bool(one.why)) == (form, "inflected", True)


def test_a_long_cyrillic_name_has_not_too_many_forms() -> None:
    assert len(cases("Нижний Новгород Великий")) < 2000


@pytest.mark.parametrize("word", ["Москва", "Лима", "Токио"])
def test_regular_words_have_no_irregular_cases(word: str) -> None:
    assert irregular_cases(word) == []
