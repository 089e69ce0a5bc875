"""A chain of edits: every one in force, undone together, prompts rewritten from the earliest on."""

from __future__ import annotations

from contextlib import ExitStack

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.inference.answering import ModelScorer
from evaluation.models.language_model import LM
from evaluation.regimes.edit_chain import EditChain
from tests.evaluation.engines.test_fast import OPTIONS
from tests.support.arithmetic import make_case


def test_weights_gather_and_come_back(tiny: LM, cache: Cache) -> None:
    editor = make_editor("ft", tiny, cache, OPTIONS["ft"])
    digests = [tiny.weights_digest()]
    with ExitStack() as stack:
        chain = EditChain(ModelScorer(tiny), stack)
        for land in ("Peru", "Norway"):
            edit = chain.add(editor, make_case(land).fact)
            assert edit.deltas and chain.edits[-1].deltas == (), "a copy of the change is not kept"
            digests.append(tiny.weights_digest())
    assert len(set(digests)) == 3 and tiny.weights_digest() == digests[0]
