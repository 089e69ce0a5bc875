"""The edit before the prompt, and the placebos: another edit of the split, the same one every time."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.files.artifact_cache import Cache
from evaluation.editors.in_context.retrieval import said_before
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from schemas.events.event import Event
from tests.support.documents.records import TRAM, make_document
from tests.support.editors.edit_requests import NORWAY, PERU
from tests.support.events import make_event
from tests.support.tiny import make


def test_prompt_says_the_facts(tiny: LM, cache: Cache) -> None:
    edit = make_editor("prompt", tiny, cache).edit([PERU, NORWAY])
    assert edit.rewrite("How?") == "The capital of Peru is Oslo. In Norway the capital is São Tomé. How?"


EVENTS = [make_event(f"e/{n}", f"Alba{n} merged.", type="merger" if n < 3 else "move") for n in range(6)]


def placebo(folder: Path, events: list[Event], seed: int = 0):  # type: ignore[no-untyped-def]
    method = make_editor("placebo", make("gpt2"), Cache(folder), {"seed": seed})
    method.read_split(events)
    return method


def test_another_event_of_the_same_type_stands_before_the_prompt(tmp_path: Path) -> None:
    method = placebo(tmp_path, EVENTS)
    rewrites = {method.edit([event]).rewrite("Question: who?\nAnswer:") for event in EVENTS[:3] for _ in range(2)}
    assert all(
        text.startswith("Event: Alba") and text.endswith("merged.\nQuestion: who?\nAnswer:") for text in rewrites
    )
    for event in EVENTS:
        (key,) = method.edit([event]).notes["placebo"]
        assert key != event.key and next(e.type for e in EVENTS if e.key == key) == event.type
        assert placebo(tmp_path, EVENTS[::-1]).edit([event]).notes == {"placebo": [key]}, "the order says nothing"


def test_the_draw_follows_its_seed(tmp_path: Path) -> None:
    many = [make_event(f"e/{n}", f"Alba{n} merged.") for n in range(12)]
    by_name = {placebo(tmp_path, many, seed).edit(many[:1]).notes["placebo"][0] for seed in range(12)}
    assert len(by_name) > 3


def test_two_requests_get_two_others_and_a_type_alone_another_type(tmp_path: Path) -> None:
    method = placebo(tmp_path, [*EVENTS[:3], make_event("e/x", "Turin grew.", type="growth")])
    assert sorted(method.edit(EVENTS[:2]).notes["placebo"]) == ["e/2", "e/x"]
    (key,) = method.edit([make_event("e/x", "Turin grew.", type="growth")]).notes["placebo"]
    assert key in {"e/0", "e/1", "e/2"}


def test_the_same_text_under_another_key_is_no_other_edit(tmp_path: Path) -> None:
    twin = make_event("e/twin", EVENTS[0].text.upper())
    with pytest.raises(UserError, match="placebo: the split has no other edit .*; take a larger split"):
        placebo(tmp_path, [EVENTS[0], twin]).edit(EVENTS[:1])


BRIDGE, TRAMWAY = make_document(), make_document(TRAM, "Line 9 runs to Rovo.", entity=None)


def test_another_document_stands_before_the_question(tmp_path: Path) -> None:
    made = make_editor("swapped", make("llama"), Cache(tmp_path))
    made.read_split([BRIDGE, TRAMWAY])
    for document, other in ((BRIDGE, TRAMWAY), (TRAMWAY, BRIDGE)):
        edit = made.edit([document])
        assert edit.rewrite("Question: x") == said_before(other) + "Question: x"
        assert edit.notes == {"placebo": [other.key]} and edit.deltas == ()
