from __future__ import annotations

from pathlib import Path

from curation.files.artifact_cache import Cache
from evaluation.editors.in_context.retrieval import said_before
from evaluation.editors.presets import make_editor
from tests.support.documents.records import TRAM, make_document
from tests.support.tiny import make

BRIDGE, TRAMWAY = make_document(), make_document(TRAM, "Line 9 runs to Rovo.", entity=None)


def test_another_document_stands_before_the_question(tmp_path: Path) -> None:
    made = make_editor("swapped", make("llama"), Cache(tmp_path))
    made.read_split([BRIDGE, TRAMWAY])
    for document, other in ((BRIDGE, TRAMWAY), (TRAMWAY, BRIDGE)):
        edit = made.edit([document])
        assert edit.rewrite("Question: x") == said_before(other) + "Question: x"
        assert edit.notes == {"placebo": [other.key]} and edit.deltas == ()
