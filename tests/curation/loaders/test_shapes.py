"""Parts of source records: hostile subjects, keys that stay apart, what is left over."""

from __future__ import annotations

from typing import Annotated

import pytest

from curation.loaders.shapes import (
    Id,
    Listed,
    Names,
    Shape,
    Target,
    Text,
    Texts,
    relation_of,
    rest,
    template,
    unique_key_part,
    wikidata,
)


@pytest.mark.parametrize(
    ("prompt", "subject", "expected"),
    [
        ("Peru is in Peru", "Peru", "{} is in Peru"),
        ("In {x} Peru is", "Peru", "In {x} {} is"),
        ("The author of {braces} in C is", "{braces}", "The author of {} in C is"),
        (
            "The Alban hills were first climbed by Al, born in",
            "Al",
            "The Alban hills were first climbed by {}, born in",
        ),
        ("Anna's sister Ann was born in", "Ann", "Anna's sister {} was born in"),
        ("\u79d8\u9c81\u7684\u9996\u90fd\u662f", "\u79d8\u9c81", "{}\u7684\u9996\u90fd\u662f"),
        ("a.c abc", "abc", "a.c {}"),
    ],
)
def test_the_first_occurrence_becomes_the_gap(prompt: str, subject: str, expected: str) -> None:
    assert template(prompt, subject) == expected


def test_an_absent_subject_is_told() -> None:
    with pytest.raises(ValueError, match="'Chile' is not in the prompt 'Peru is'"):
        template("Peru is", "Chile")
    with pytest.raises(ValueError, match="'Al' stands only inside a word of the prompt 'The Alban hills'"):
        template("The Alban hills", "Al")
    with pytest.raises(ValueError, match="holds {}, which stands for the subject"):
        template("f{} by Ann is", "Ann")


def test_relations_without_a_name_are_their_template() -> None:
    assert relation_of("{}") == "template:x"
    assert len(relation_of("{} is " + "very " * 99)) <= 80 + len("template:")


def test_equal_slugs_stay_apart() -> None:
    assert unique_key_part("Peru", "a") != unique_key_part("peru", "a") != unique_key_part("Peru", "b")
    assert unique_key_part("Peru", "ab", "c") != unique_key_part("Peru", "a", "bc")
    assert unique_key_part("?!") != unique_key_part("!?")


class Probe(Shape):
    """A record with every kind of field."""

    text: Text
    texts: Texts = ()
    names: Names = ()
    id: Id = "-"
    inner: Annotated[tuple[Target, ...], Listed] = ()


@pytest.mark.parametrize(
    ("values", "texts"),
    [(None, ()), ("", ()), (" a ", ("a",)), (["a", "", " ", None, 3, "b "], ("a", "b")), ([], ())],
)
def test_texts(values: object, texts: tuple[str, ...]) -> None:
    assert Probe.of({"text": " x ", "texts": values}).texts == texts


def test_names_are_flat_and_come_once() -> None:
    told = [["Berlin", "Berlin, Germany"], {"value": "no", "aliases": ["not", ""]}, None, 1994, True, [], "Berlin"]
    assert Probe.of({"text": "x", "names": told}).names == ("Berlin", "Berlin, Germany", "no", "not", "1994")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"text": ""}, "the field 'text' must be a text with something in it, it is empty"),
        ({"text": "  "}, "it is empty"),
        ({"text": None}, "it is null"),
        ({"text": ["x"]}, "it is a list"),
        ({"text": 5}, 'it is a number: write "5"'),
        ({"texts": ["a", {"b": 1}]}, r"the field 'texts' must hold texts, its item \[1\] is an object"),
        ({"texts": {"b": 1}}, "the field 'texts' must be a text, it is an object"),
        ({"id": 3.0}, "the field 'id' must be an id .*, it is 3.0"),
        ({"id": True}, "it is true or false"),
        ({"inner": [{"str": "a"}, {"id": "Q1"}]}, r"the field 'inner\[1\].str' is missing"),
        ({"inner": [3]}, r"the field 'inner\[0\]' must be an object, it is a number"),
        ({"inner": 3}, "the field 'inner' must be a list, it is a number"),
    ],
)
def test_a_field_that_cannot_be_read_is_named_with_its_whole_path(change: dict[str, object], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        Probe.of({"text": "x", **change})


def test_a_missing_field_and_the_fields_of_others() -> None:
    with pytest.raises(ValueError, match="the field 'text' is missing"):
        Probe.of({})
    assert Probe.of({"text": "x", "odd": [1]}).others == {"odd": [1]}


@pytest.mark.parametrize(
    ("value", "letter", "known_values"),
    [
        ("Q1", "Q", True),
        ("P31", "P", True),
        ("P31", "Q", False),
        ("Q1x", "Q", False),
        ("Q", "Q", False),
        (1, "Q", False),
    ],
)
def test_wikidata_ids(value: object, letter: str, known_values: bool) -> None:
    assert wikidata(value, letter) == (value if known_values else None)


def test_what_a_fact_does_not_carry_is_kept_once() -> None:
    (extra,) = rest("f/1", {"a": 1, "b": 0, "c": None, "d": [], "e": ""}, ("a",))
    assert (extra.key, extra.subject_key, extra.value) == ("f/1/extra/fields", "f/1", {"b": 0})
    assert not list(rest("f/1", {"a": 1, "b": None}, ("a",)))
