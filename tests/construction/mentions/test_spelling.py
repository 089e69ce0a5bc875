from __future__ import annotations

import pytest

from construction.mentions.object_mentions import find_object
from construction.mentions.spelling import common_words, is_common, read_spelling
from schemas.facts import Object

CASES = [
    # (text, name, label)
    ("Meet at the town square", "Square", "word"),
    ("Pay with Square", "Square", "name"),
    ("Drink apple juice", "Apple", "word"),
    ("Call Apple", "Apple", "name"),
    ("Roast the turkey", "Turkey", "word"),
    ("Fly to Turkey", "Turkey", "name"),
    ("Put the china away", "China", "word"),
    ("Wear a nice hat", "Nice", "word"),
    ("Take a train to Nice", "Nice", "name"),
    ("Ask the central editorial office", "Central", "word"),
    ("Start reading", "Reading", "word"),
    ("polish the shoes", "Polish", "word"),
    ("Speak Polish", "Polish", "name"),
    # a step begins with a capital
    ("Square the dough", "Square", "word"),
    ("Dodge all obstacles", "Dodge", "word"),
    ("Split it in two", "Split", "word"),
    ("Square headquarters open late", "Square", "unsure"),
    ("Square", "Square", "unsure"),
    ("Turkey's coast is long", "Turkey", "name"),
    ("Square-the-circle", "Square", "unsure"),
    ("Pack a bag. Nice weather helps", "Nice", "unsure"),
    # capitals throughout, titles
    ("MEET ME AT THE TOWN SQUARE", "Square", "unsure"),
    ("Meet Your Friends At The Square", "Square", "unsure"),
    # names that are no words keep none of this
    ("fly to paris", "Paris", "name"),
    ("FLY TO PARIS NOW", "Paris", "name"),
    ("Paris the city", "Paris", "name"),
    ("ask google", "Google", "name"),
    # names of several words
    ("paint the white house", "White House", "unsure"),
    ("White House tours start here", "White House", "name"),
    ("fly to new york", "New York", "name"),
    # objects that are words and no names
    ("Play the piano", "piano", "name"),
    ("Piano lessons help", "piano", "name"),
    ("Guard the gate", "guard", "word"),
    ("Learn to guard the gate", "guard", "word"),
    ("Ask the guard", "guard", "name"),
    ("Search eBay", "eBay", "name"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "label"), CASES, ids=[f"{t} | {n}" for t, n, _ in CASES])
def test_a_name_or_another_word(text, name, label):
    start = text.casefold().rindex(name.casefold())
    reading = read_spelling(text, start, start + len(name), name)
    assert reading.label == label
    assert bool(reading.why) == (label != "name")
    assert not reading.why or text[start : start + len(name)] in reading.why


def test_the_list_is_lower_case_words_and_no_plain_names():
    words = common_words()
    assert len(words) > 5000 and all(w.isalpha() and w == w.casefold() for w in words)
    assert {"square", "apple", "turkey", "china", "nice", "central", "polish", "reading"} <= words
    assert not {"paris", "london", "google", "french", "european", "microsoft"} & words


def test_a_name_is_common_when_all_its_words_are():
    assert is_common("Apples") and is_common("Red Cross") and not is_common("Red Paris") and not is_common("42")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Valve", "Close the radiator valve"),
        ("Caterpillar", "Pick the caterpillar off"),
        ("Puma", "Film a puma at night"),
        ("Jaguar", "Feed the jaguar"),
        ("Hull", "Scrub the hull"),
        ("Cork", "Pull the cork out"),
        ("Rye", "Toast the rye bread"),
        ("Sage", "Chop some sage"),
        ("Buffalo", "Roast a buffalo steak"),
        ("Phoenix", "Draw a phoenix"),
        ("Alphabet", "Sing the alphabet"),
    ],
)
def test_further_common_words_in_lower_case_are_no_names(name: str, text: str) -> None:
    assert [one.label for one in find_object(text, Object(text=name))] == ["word"]
    assert [one.label for one in find_object(f"Go to {name}", Object(text=name))] == ["name"]
