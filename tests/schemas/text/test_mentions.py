"""Mentions: by hand, against a naive twin that tries every stretch of the text, and laws that any text must obey."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.facts import Object
from schemas.text.folding import fold
from schemas.text.mentions import find, first
from tests.support.drawn_text import SHORT, WILD


def bare(text: str, *, case: bool) -> str:
    """Folding for the twin, written apart from the real one: letters without marks, lower case, plain signs."""
    out = unicodedata.normalize("NFKD", re.sub("[‐‑–—−]", "-", re.sub("[’‘ʼ´`]", "'", text)))
    out = "".join(c for c in out if not "\u0300" <= c <= "\u036f" and unicodedata.category(c) != "Cf")
    out = out.casefold() if case else out
    return unicodedata.normalize("NFC", out.replace("ł", "l").replace("ø", "o"))


def letters(text: str) -> list[str]:
    """The text cut before every character that is no mark."""
    cells: list[str] = []
    for char in text:
        if cells and unicodedata.category(char) in ("Mn", "Mc", "Me", "Cf"):
            cells[-1] += char
        else:
            cells.append(char)
    return cells


def spaced(char: str) -> bool:
    """A letter or digit of a script with spaces between words."""
    return char.isalnum() and not "\u0e00" <= char <= "\u0eff" and not "\u3040" <= char <= "\ud7ff"


def twin(text: str, name: str) -> list[str]:
    """All stretches that equal a name of no fancy kind (no dots, digits, acronym, final y), left to right."""
    cells = letters(text)
    expected = " ".join(re.split(r"[\s_-]+", bare(name, case=True).strip()))
    results, at = [], 0
    while at < len(cells):
        ends = [e for e in range(at + 1, len(cells) + 1) if same("".join(cells[at:e]), expected)]
        before = bare(cells[at - 1], case=True)[-1:] if at else ""
        fits = [
            e
            for e in ends
            if not (spaced(expected[0]) and spaced(before)) and fair_end(bare("".join(cells[e:]), case=True), expected)
        ]
        if fits:
            results.append("".join(cells[at : fits[-1]]))
            at = fits[-1]
        else:
            at += 1
    return results


def same(stretch: str, wanted: str) -> bool:
    folded_text = bare(stretch, case=True)
    return (
        not re.match(r"[\s_-]|.*[\s_-]$", folded_text, re.S) and " ".join(re.split(r"[\s_-]+", folded_text)) == wanted
    )


def fair_end(rest: str, wanted: str) -> bool:
    if not spaced(wanted[-1]):
        return True
    endings = ["", "'s", "s'", "s", "'"] + (["es"] if re.search("([sxzo]|ch|sh)$", wanted) else [])
    rests = [rest[len(e) :] for e in endings if rest.startswith(e)]
    return any(not spaced(after[:1] or " ") and not re.match(r"[+#]+(?!\w)", after) for after in rests)


_LATIN = ["rome", "Rome", "ROME", "Römé", "ro\u0301me", "new york", "New-York", "new\nyork", "york", "new", "ｒｏｍｅ"]

_REST = ["ł", "lo", "łó", "s", "es", "'s", "’s", "'", " ", "-", "–", "_", "(", ",", "a", "x", "x\u200d", "é"]

_ASIAN = ["東京", "東", "京", "パリ", "ハ\u309aリ", "バリ"]

PIECES = st.sampled_from([*_LATIN, *_ASIAN, *_REST])

NAMES = st.sampled_from(["Rome", "New York", "York", "東京", "京", "パリ", "バリ", "łó", "Lox", "a", "x", "new"])


@SHORT
@given(st.lists(PIECES, max_size=9).map("".join), NAMES)
def test_what_is_found_is_what_the_naive_twin_finds(text: str, name: str) -> None:
    assert [m.text for m in find(text, Object(text=name))] == twin(text, name)


_ANY = st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("aeE' .-1U+_ñж")), max_size=20)


@SHORT
@given(_ANY, _ANY, _ANY, NAMES | _ANY.filter(str.strip))
def test_the_short_pattern_finds_what_the_whole_one_finds(before: str, middle: str, after: str, name: str) -> None:
    from schemas.text import mentions

    pattern = mentions._name(name)
    text = fold(f"{before}{name}{middle}{name}{after}", case=pattern.case if pattern else True).text
    if pattern is not None and not mentions._NO_SPACES.search(text):
        assert list(pattern.places(text, spaced=True)) == list(pattern.places(text, spaced=False))


WORD = st.text("abcdefghij", min_size=4, max_size=8)


@given(before=st.lists(st.text("klmnopq", min_size=1, max_size=6)), name=WORD, after=st.lists(WORD))
def test_an_inserted_name_is_found_where_it_was_put(before: list[str], name: str, after: list[str]) -> None:
    text = " ".join([*before, name, *after])
    mention = first(text, Object(text=name))
    assert mention is not None
    assert mention.start == len(" ".join([*before, ""]))


@SHORT
@given(WILD, WILD.filter(str.strip))
def test_wild_text_and_wild_names_give_true_offsets(text: str, name: str) -> None:
    """Also with the name standing in the text: whatever is found is found again in what was found."""
    thing = Object(text=name.strip())
    for m in find(f"{text} {thing.text} {text}", thing):
        assert f"{text} {thing.text} {text}"[m.start : m.end] == m.text
        inner_match = find(m.text, thing)
        assert inner_match and (inner_match[0].start, inner_match[0].end) == (0, len(m.text))


LATIN = st.text("abcdeéñöçABCDEÉÑÖÇ", min_size=5, max_size=9)


@SHORT
@given(LATIN, st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]), st.booleans())
def test_neither_case_nor_marks_nor_their_form_matter(name: str, form: str, upper: bool) -> None:
    variant = unicodedata.normalize(form, name.upper() if upper else name.lower())  # type: ignore[arg-type]
    (m,) = find(f"to {variant}, at once", Object(text=name))
    assert m.text == variant
    plain = "".join(c for c in unicodedata.normalize("NFD", name) if not unicodedata.combining(c))
    assert find(plain, Object(text=name)) and find(name, Object(text=plain))


@SHORT
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), LATIN)
def test_a_composed_and_a_decomposed_text_mention_alike(text: str, name: str) -> None:
    full_text = f"{text} {name} {text}"
    counts = {f: len(find(unicodedata.normalize(f, full_text), Object(text=name))) for f in ("NFC", "NFD")}  # type: ignore[arg-type]
    assert counts["NFC"] == counts["NFD"] >= 1


BESIDE = [
    ("part of the other object", "Fly to New York", "York", "New York", []),
    ("beside the other object", "From York to New York", "York", "New York", ["York"]),
    ("the longer one is looked for", "Fly to New York", "New York", "York", ["New York"]),
    ("both have the same name", "Call the King", "King", "king", ["King"]),
    ("overlapping, not inside", "New York City", "York City", "New York", ["York City"]),
    ("in the subject", "Wash a Porsche Panamera", "Porsche", "Porsche Panamera", []),
]


@pytest.mark.parametrize(("text", "name", "other", "mentions"), [c[1:] for c in BESIDE], ids=[c[0] for c in BESIDE])
def test_what_is_part_of_a_longer_other_is_no_mention(text: str, name: str, other: str, mentions: list[str]) -> None:
    assert [m.text for m in find(text, Object(text=name), beside=[Object(text=other), None])] == mentions


CASES = [
    ("plain", "Fly to Rome now", "Rome", (), ["Rome"]),
    ("case", "fly to ROME", "Rome", (), ["ROME"]),
    ("possessive", "Rome's gates", "Rome", (), ["Rome"]),
    ("curly possessive", "Rome\u2019s gates", "Rome", (), ["Rome"]),
    ("plural", "two Hondas", "Honda", (), ["Honda"]),
    ("plural es", "the Ortizes", "Ortiz", (), ["Ortiz"]),
    ("inside a word", "a Roman chrome pot", "Rome", (), []),
    ("hyphen for space", "a New-York hotel", "New York", (), ["New-York"]),
    ("line break", "New\nYork", "New York", (), ["New\nYork"]),
    ("diacritics folded", "to Brasilia", "Brasília", (), ["Brasilia"]),
    ("diacritics added", "to Málaga", "Malaga", (), ["Málaga"]),
    ("decomposed", "to Brasi\u0301lia.", "Brasília", (), ["Brasi\u0301lia"]),
    ("alias", "the Eternal City", "Rome", ("Eternal City",), ["Eternal City"]),
    ("longest name wins", "the United States of America", "United States", ("United States of America",),
     ["United States of America"]),
    ("acronym keeps case", "ask us in the US", "United States", ("US",), ["US"]),
    ("acronym possessive", "the US's coast", "United States", ("US",), ["US"]),
    ("acronym no plural", "the USes", "United States", ("US",), []),
    ("dotted acronym", "in the U.S. today", "United States", ("U.S.",), ["U.S."]),
    ("no spaces", "我住在東京都", "東京", (), ["東京"]),
    ("punctuation", '("Rome")', "Rome", (), ["Rome"]),
    ("symbol at the end", "learn C++ now", "C++", (), ["C++"]),
    ("full width", "in Ｒｏｍｅ", "Rome", (), ["Ｒｏｍｅ"]),
    ("invisible joiner", "Ro\u200dme", "Rome", (), ["Ro\u200dme"]),
    ("twice", "Rome, Rome", "Rome", (), ["Rome", "Rome"]),
    ("sharp s", "in Gießen", "Giessen", (), ["Gießen"]),
    ("dots left out", "in the US now", "U.S.", (), ["US"]),
    ("dots put in", "in the U.S. now", "US", (), ["U.S."]),
    ("abbreviation", "to St Petersburg", "St. Petersburg", (), ["St Petersburg"]),
    ("company with its dot", "ask Apple Inc. now", "Apple Inc.", (), ["Apple Inc."]),
    ("company without its dot", "ask Apple Inc now", "Apple Inc.", (), ["Apple Inc"]),
    ("decimal", "add 2.5 litres or 1,200 g", "2", ("200",), []),
    ("number", "take line 2.", "2", (), ["2"]),
    ("sign after", "write C++ and C#", "C", (), []),
    ("plural in ies", "two cities", "city", (), ["cities"]),
    ("plural of a name with a dot", "St.Maries, St.Mary, StMary", "St.Mary", (), ["St.Maries", "St.Mary", "StMary"]),
    ("no plural in es", "the Romees", "Rome", (), []),
    ("plural possessive", "the nurses' room", "nurse", (), ["nurse"]),
    ("underscore", "New_York_hotel", "New York", (), ["New_York"]),
    ("stroke letters", "to Lodz", "Łódź", (), ["Lodz"]),
    ("okina", "in Hawai\u02bbi", "Hawai'i", (), ["Hawai\u02bbi"]),
    ("non-breaking hyphen", "Saint\u2011Denis", "Saint-Denis", (), ["Saint\u2011Denis"]),
    ("soft hyphen", "Bra\u00adsil", "Brasil", (), ["Bra\u00adsil"]),
    ("right-to-left marks", "go \u200fRome\u200f now", "Rome", (), ["Rome\u200f"]),
    ("voicing is another letter", "バリに行く", "パリ", (), []),
    ("voicing written apart", "ハ\u309aリに行く", "パリ", (), ["ハ\u309aリ"]),
    ("half width kana", "ﾊﾟﾘに行く", "パリ", (), ["ﾊﾟﾘ"]),
    ("Korean particle", "서울에서 산다", "서울", (), ["서울"]),
    ("within a Korean syllable", "각", "가", (), []),
    ("Korean decomposed", unicodedata.normalize("NFD", "서울에서"), "서울", (), [unicodedata.normalize("NFD", "서울")]),
    ("Thai", "ไปกรุงเทพวันนี้", "กรุงเทพ", (), ["กรุงเทพ"]),
    ("Latin between Chinese", "我在Rome住", "Rome", (), ["Rome"]),
    ("Hindi word", "वह हिन्दी बोलता है", "हिन्दी", (), ["हिन्दी"]),
    ("half a Hindi letter", "का घर", "क", (), []),
    ("Arabic vowels", "مِصْرُ", "مصر", (), ["مِصْرُ"]),
    ("half of a sharp s", "Gieß", "Gies", (), []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "aliases", "mentions"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_what_is_mentioned(text: str, name: str, aliases: tuple[str, ...], mentions: list[str]) -> None:
    found = find(text, Object(text=name, aliases=aliases))
    assert [m.text for m in found] == mentions == [text[m.start : m.end] for m in found]


DUTCH, BOGOTA = Object(text="Dutch", aliases=("Netherlands",)), Object(text="Bogotá", aliases=("Bogota",))
LITERAL = [
    *(
        (DUTCH, text, n)
        for text, n in (("Dutch and dutch", 2), ("the Netherlands", 0), ("Dutch's", 1), ("Dutchman", 0))
    ),
    *(
        (BOGOTA, text, n)
        for text, n in (("Bogota", 0), ("Bogotás", 0), ("BOGOTÁ!", 1), ("住在Bogotá的", 1), ("Bogotá's", 1))
    ),
]


@pytest.mark.parametrize(("thing", "text", "count"), LITERAL)
def test_the_literal_rule_folds_nothing_but_case_and_knows_the_text_only(thing: Object, text: str, count: int) -> None:
    assert len(find(text, thing, literal=True)) == count


def test_names_are_compiled_once() -> None:
    from schemas.text import mentions

    thing = Object(text="Compiled Once", aliases=("Just Once",))
    first("x", thing)
    first("Compiled Once", thing)
    before = mentions._names.cache_info().misses, mentions._compile.cache_info().misses
    for n in range(50):
        first(f"Compiled Once {n}", Object(text="Compiled Once", aliases=("Just Once",)))
    assert (mentions._names.cache_info().misses, mentions._compile.cache_info().misses) == before


def test_a_long_text_is_searched_whole() -> None:
    text = "é" * 1_000_000 + " Rome"
    assert [m.start for m in find(text, Object(text="Rome"))] == [1_000_001]
