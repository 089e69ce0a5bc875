"""The plain texts: different ones, long enough, and without anybody's name."""

from __future__ import annotations

import re

from evaluation.regimes.general_texts import TEXTS, general_probes
from tests.support.small import small_split


def test_they_are_different_and_ask_one_text_each() -> None:
    probes = general_probes()
    assert len({p.id for p in probes}) == len({p.item for p in probes}) == len(TEXTS) == 24
    assert all(len(p.targets) == 1 and len(p.targets[0].split()) > 30 for p in probes)


def test_they_name_nothing_that_could_be_edited() -> None:
    objects = {o.text for c in small_split().cases for o in (c.fact.subject, c.fact.old, c.fact.new) if o}
    for sentence, rest in TEXTS:
        inside = re.findall(r"(?<![.!?] )(?<!^)\b[A-Z]\w+", f"{sentence} {rest}")
        assert not inside, "a capital inside a sentence is a name"
        assert not objects & set(re.findall(r"\w+", f"{sentence} {rest}"))
