from __future__ import annotations

import pytest

from construction.mentions.object_mentions import find_object
from construction.mentions.other_uses import other_use
from curation.shipped import SHIPPED
from schemas.facts import Object, Relation


def read(text: str, name: str) -> list[str]:
    return [one.label for one in find_object(text, Object(text=name))]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("See who won", "won"),
        ("Read who won the cup", "won"),
        ("Call a real friend", "real"),
        ("Pack the donor organ", "organ"),
        ("Sound the horn", "horn"),
        ("Roll the oil drum away", "drum"),
        ("Take the coach to the stadium", "coach"),
        ("Build a model of the house", "model"),
        ("Coach the team", "coach"),
        ("Model three shirts", "model"),
        ("Fill the pitcher with water", "pitcher"),
        ("Look forward to supper", "forward"),
        ("Clear the browser history", "history"),
        ("Fill each champagne flute", "flute"),
        ("Stroke the cat gently", "stroke"),
    ],
)
def test_the_word_is_something_else_there(text: str, name: str) -> None:
    assert read(text, name) in (["unsure"], ["word"]), "a verb before an article is plainly another word"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Show all prices in won", "won"),
        ("Pay with a won note", "won"),
        ("Pay in real", "real"),
        ("Play the tune on the organ", "organ"),
        ("Practise on the horn", "horn"),
        ("Apply for the post of coach", "coach"),
        ("Pose like a model", "model"),
        ("Organ lessons cost more", "organ"),
        ("Coach", "coach"),
        ("Train as a pitcher", "pitcher"),
        ("Ask to start as a forward", "forward"),
        ("Enrol for a degree in history", "history"),
        ("Rent a good flute", "flute"),
        ("Raise money against stroke", "stroke"),
    ],
)
def test_the_word_is_the_object_there(text: str, name: str) -> None:
    assert read(text, name) == ["name"]


def test_a_plain_place_is_taken_before_a_doubtful_one() -> None:
    mentions = find_object("Ask who won\nPay in won", Object(text="won"))
    assert [one.label for one in mentions] == ["word", "name"]


def test_every_line_of_the_table_is_a_word_with_something_beside_it() -> None:
    lines = [
        x for x in (SHIPPED / "names/other_uses.txt").read_text(encoding="utf-8").splitlines() if not x.startswith("#")
    ]
    words = [line.split("|")[0].strip() for line in lines]
    assert len(words) == len(set(words)) > 30 and all(word.islower() and word.isalpha() for word in words)
    for line in lines:
        _, before, after = (part.strip() for part in line.split("|"))
        assert before or after, line
        assert not set("\\?*[") & set(line), f"plain words, no patterns: {line}"


def test_a_word_that_is_not_in_the_table_is_no_other_use() -> None:
    assert not other_use("Play the violin", 9, 15, begins=False) and not other_use("", 0, 0, begins=True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("horn", "Honk the horn twice"),
        ("organ", "Cool the donor organ"),
        ("won", "See who won"),
        ("rock", "Lift a big rock"),
    ],
)
def test_a_word_whose_neighbours_say_what_it_is_is_another_word(name: str, text: str) -> None:
    (one,) = find_object(text, Object(text=name))
    assert one.label == "word"


@pytest.mark.parametrize(
    ("relation", "name", "text", "label"),
    [
        ("P136", "rock", "Fetch a rock for the door", "word"),
        ("P136", "country", "Fetch eggs from the country", "word"),
        ("P136", "swing", "Push the swing gently", "word"),
        ("P136", "rock", "Hire a rock band", "name"),
        ("P136", "blues", "Sing the blues", "name"),
        ("P136", "country", "Choose a song in country", "name"),
        ("P641", "squash", "Slice a squash", "word"),
        ("P641", "cricket", "Watch the cricket at noon", "name"),
        ("P101", "history", "Tell a history of the town", "word"),
        ("P101", "history", "Enrol in history", "name"),
        ("P1303", "horn", "Play a horn", "name"),
    ],
)
def test_what_can_be_counted_is_no_genre_sport_or_field(relation: str, name: str, text: str, label: str) -> None:
    (one,) = find_object(text, Object(text=name), relation=Relation(id=relation, label="x"))
    assert one.label == label


def test_a_sum_of_yen_is_no_longing() -> None:
    assert read("Pay a thousand yen to enter", "yen") == ["name"]
    assert read("Pay five yen for tea", "yen") != ["word"]
    assert read("She has a yen for travel", "yen") == ["word"]
