"""What routers share, and the null router: scope by wording alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from curation.files.artifact_cache import Cache
from evaluation.editors.routed.base import Route, Router, RoutingEditor
from evaluation.editors.routed.wording import ScopeByWording, Wording, WordingRouter
from schemas.core.errors import UserError
from schemas.events.event import Event
from tests.support.events import event_case, make_event, make_fact_question, make_tendency

EVENTS = [make_event(f"e/{n}", f"Town{n} grew.") for n in range(4)]


class LastRouter(Router):
    """Everything goes to the last event."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts

    def route(self, prompt: str) -> Route:
        return Route(len(self.texts) - 1, 1.0)


class LastEditor(RoutingEditor):
    name: ClassVar[str] = "last"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "all to the last"
    learnt = 0
    made = 0

    def learn(self) -> None:
        self.learnt += 1

    def router(self, texts: Sequence[str]) -> Router:
        self.made += 1
        return LastRouter(texts)


def editor(folder: Path, memory: str = "split") -> LastEditor:
    return LastEditor(LastEditor.Params(memory=memory), None, Cache(folder))  # type: ignore[arg-type]


def test_the_memory_is_the_whole_split_in_its_order_whatever_is_edited(tmp_path: Path) -> None:
    method = editor(tmp_path)
    assert method.wants_split({}) and method.wants_split({"memory": "split"})
    method.read_split(EVENTS)
    for event in EVENTS:
        edit = method.edit([event])
        assert edit.rewrite("q") == "Event: Town3 grew.\nq" and edit.notes["memory"] == 4
    assert (method.learnt, method.made) == (1, 1), "learnt and indexed once for all edits"
    stranger: Event = make_event("e/9", "Fano grew.")
    assert method.edit([stranger]).rewrite("q") == "Event: Fano grew.\nq", "an event that the split lacks is added"


def test_the_edits_alone_are_the_memory_where_that_is_asked_for(tmp_path: Path) -> None:
    method = editor(tmp_path, "edit")
    assert not method.wants_split({"memory": "edit"})
    method.read_split(EVENTS)
    assert method.edit(EVENTS[:2]).rewrite("q") == "Event: Town1 grew.\nq"


def test_other_support_is_learnt_anew(tmp_path: Path) -> None:
    method = editor(tmp_path)
    method.prepare([event_case()])
    method.edit(EVENTS)
    assert method.learnt == 1
    method.prepare([event_case("case/other")])
    assert method.learnt == 2


TOWNS = ["Alba", "Brenta", "Corvo", "Dorno"]


def support() -> list[Any]:
    """What begins with "who" is in scope, what begins with "when" is not; of tendencies the other way round."""
    cases = []
    for town in TOWNS:
        key = f"s/{town}"
        facts = (
            make_fact_question(f"Who leads {town}?", "Ada", event=key, key=f"{key}/1"),
            make_fact_question(f"When was {town} founded?", "1200", event=key, key=f"{key}/2", scope="out"),
        )
        tendencies = (
            make_tendency(f"When may rents in {town} rise?", event=key, key=f"{key}/3"),
            make_tendency(f"Who may move to {town}?", "C", event=key, key=f"{key}/4", scope="out"),
        )
        event = make_event(key, f"{town} has a new mayor.")
        cases.append(event_case(f"case/{key}", event=event, facts=facts, tendencies=tendencies))
    return cases


def wording(folder: Path, **params: Any) -> Wording:
    lm = Wording(Wording.Params(**params), None, Cache(folder))  # type: ignore[arg-type] - no model has a part in it
    lm.prepare(support())
    lm.read_split([make_event("e/1", "Elva has bought a ship."), make_event("e/2", "Fano has bought a train.")])
    return lm


def test_the_wording_decides_and_the_nearest_event_stands_before_the_question(tmp_path: Path) -> None:
    edit = wording(tmp_path).edit([make_event("e/1", "Elva has bought a ship.")])
    fact = "Question: {}\nAnswer:"
    assert edit.rewrite(fact.format("Who leads Fano?")).startswith("Event: Fano has bought a train.\nQuestion:")
    assert edit.rewrite(fact.format("When was Fano founded?")) == fact.format("When was Fano founded?")
    choice = "Question: {} (A) x (B) y (C) z\nAnswer:"
    assert edit.rewrite(choice.format("When may rents in Elva rise?")).startswith("Event: Elva")
    assert not edit.rewrite(choice.format("Who may move to Elva?")).startswith("Event:"), "tendencies apart"
    assert edit.notes == {"memory": 2, "edited": 1}


def test_a_question_that_shares_no_word_with_any_event_goes_nowhere() -> None:
    router = WordingRouter(["Elva has bought a ship."], ScopeByWording(support()), 0.5)
    route = router.route("Question: Who leads Gavi?\nAnswer:")
    assert route.item is None and route.score > 0.5


@pytest.mark.parametrize(("threshold", "payload"), [(0.0, True), (1.0, False)])
def test_the_threshold(tmp_path: Path, threshold: float, payload: bool) -> None:
    edit = wording(tmp_path, threshold=threshold).edit([make_event("e/1", "Elva has bought a ship.")])
    assert edit.rewrite("Question: When was Elva founded?\nAnswer:").startswith("Event:") is payload


def test_one_kind_of_questions_is_learnt_from_both_where_it_stands_alone() -> None:
    no_tendencies = [c.model_copy(update={"tendencies": ()}) for c in support()]
    scopes = ScopeByWording(no_tendencies)
    assert scopes.probability("Who leads Elva?", tendency=True) > 0.5


def test_questions_without_a_word_teach_nothing() -> None:
    silent = [make_fact_question("?" * n, key=f"e/merger/{n}", scope="in" if n % 2 else "out") for n in range(1, 5)]
    with pytest.raises(UserError, match="worded questions in and out of scope"):
        ScopeByWording([event_case(facts=tuple(silent), tendencies=())])


def test_support_of_one_scope_teaches_nothing() -> None:
    inner_questions = [c.model_copy(update={"facts": c.facts[:1], "tendencies": c.tendencies[:1]}) for c in support()]
    with pytest.raises(UserError, match="there are none of one scope"):
        ScopeByWording(inner_questions)
    with pytest.raises(UserError, match="events_from_facts"):
        ScopeByWording([])
