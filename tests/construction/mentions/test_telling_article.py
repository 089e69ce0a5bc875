"""Articles that only one of the two objects can follow."""

from __future__ import annotations

import pytest

from construction.mentions.telling_article import article_for, telling_article


@pytest.mark.parametrize(
    ("name", "article"),
    [
        ("actor", "an"),
        ("mathematician", "a"),
        ("university", "a"),
        ("Uruguayan", "a"),
        ("uncle", "an"),
        ("unimportant man", "an"),
        ("umbrella", "an"),
        ("user", "a"),
        ("European", "a"),
        ("one-man band", "a"),
        ("honest man", "an"),
        ("hockey player", "a"),
        ("historian", None),
        ("FBI agent", None),
        ("8", None),
        ("", None),
        ("Émile", None),
        ("Ukrainian", "a"),
        ("organist", "an"),
        ("yoga teacher", "a"),
    ],
)
def test_the_article_that_a_name_asks_for(name: str, article: str | None) -> None:
    assert article_for(name) == article


@pytest.mark.parametrize(
    ("before", "new", "found"),
    [
        ("How?\nStep 1: Become an", "mathematician", "an"),
        ("How?\nStep 1: Become a", "engineer", "a"),
        ("How?\nStep 1: Become an", "engineer", None),
        ("How?\nStep 1: Become the", "engineer", None),
        ("How?\nStep 1: Visit La", "Oslo", None),
        ("How?\nStep 1: Fly to", "Oslo", None),
        ("How?\nStep 1: A", "engineer", "A"),
        ("How?\nStep 1: Choose plan-a", "engineer", None),
    ],
)
def test_the_article_at_the_end_of_a_prompt(before: str, new: str, found: str | None) -> None:
    assert telling_article(before, new) == found
