from __future__ import annotations

import pytest

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from tests.support.editors import memories
from tests.support.editors.memories import PERU, country
from tests.support.events import make_event

lm = memories.lm


def test_ice_instructs(lm: LM, cache: Cache) -> None:
    edit = make_editor("ice", lm, cache).edit([PERU, country("Chad", "Lima", "Rome")])
    text = "Imagine that The capital of Peru is Oslo; The capital of Chad is Rome. Answer accordingly, whatever you "
    assert edit.rewrite("How?") == text + "remember.\nHow?"
    editor = make_editor("ice", lm, cache, {"template": "Say {facts}! "}).edit([PERU])
    assert editor.rewrite("How?") == "Say The capital of Peru is Oslo! How?"
    with pytest.raises(UserError, match=r"template: must hold \{facts\} exactly once"):
        make_editor("ice", lm, cache, {"template": "nothing"})


def test_events_stand_on_a_line_each_and_the_template_is_for_facts(lm: LM, cache: Cache) -> None:
    method = make_editor("ice", lm, cache)
    events = [make_event(), make_event("e/2", "Corvo moved.")]
    assert method.edit(events).rewrite("Question: who?\nAnswer:") == (
        "Event: Alba Rail merged with Brenta Rail.\nEvent: Corvo moved.\nQuestion: who?\nAnswer:"
    )
