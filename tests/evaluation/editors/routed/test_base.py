"""What routers share: the memory, whatever is edited; learning once for each support."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from curation.files.artifact_cache import Cache
from evaluation.editors.routed.base import Route, Router, RoutingEditor
from schemas.events.event import Event
from tests.support.events import event_case, make_event

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
