"""Hops by preference: the answer after the edit against the one before it."""

from __future__ import annotations

import pytest

from evaluation.metrics.document_answers import PreferredHop, PreferredScriptHop
from evaluation.metrics.documents import preference_probe
from tests.support.documents.grouped import CHOICE, answer, grouped_case, probe_of
from tests.support.documents.records import make_probe

SCRIPT = "How to pay in Rovo?\n1. Find a shop.\n2. Pay in ___"
CASE = grouped_case()
ASKED = preference_probe(probe_of(CASE, "hop"), CHOICE)


@pytest.mark.parametrize(
    ("logprobs", "value", "tie"), [((-1.0, -2.0), 1.0, False), ((-2.0, -1.0), 0.0, False), ((-1.0, -1.0), 0.0, True)]
)
def test_strictly_more_probable(logprobs: tuple[float, float], value: float, tie: bool) -> None:
    told = {ASKED.id: answer(ASKED, (None, None), logprobs)}
    (item,) = PreferredHop().score(CASE, told, {}, "mean").items
    assert (item.value, item.tie, ASKED.targets) == (value, tie, ("Sorne", "Lund"))


def test_probes_that_do_not_say_what_was_right_before_are_not_asked() -> None:
    probes = tuple(p.model_copy(update={"old_answer": None}) for p in CASE.probes)
    case = grouped_case(probes=probes)
    assert PreferredHop().probes(case) == [] and PreferredHop().score(case, {}, {}, "mean").items == ()
    (item,) = PreferredHop().score(CASE, {}, {}, "mean").items
    assert (item.value, item.reason) == (None, "no answer")


def test_a_script_is_continued_as_it_is() -> None:
    probe = make_probe(SCRIPT, "yen", key="d/bridge/1", level=None, group="script_hop", old_answer="euro")
    (asked,) = PreferredScriptHop().probes(grouped_case(probes=(probe,)))
    assert asked.prompt == SCRIPT.removesuffix(" ___") and asked.separator == " " and asked.instruction == ""
    glued = probe.model_copy(update={"query": "Go.\n1. Say '___'"})
    (asked,) = PreferredScriptHop().probes(grouped_case(probes=(glued,)))
    assert (asked.prompt, asked.separator) == ("Go.\n1. Say '", "")
