"""Every method that changes a model on every class (slow).

``make test`` has all methods on two classes and all classes with three methods; what a method puts into a prompt does
not depend on the class.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.editors import EDITORS
from evaluation.editors.locate_edit.residual_editor import ResidualEditor
from evaluation.edits.edit import own_answers
from evaluation.edits.routed_deltas import RoutedDelta
from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.passes import EditedProbes
from evaluation.inference.scoring import score
from schemas.core.errors import ModelError
from tests.contracts.test_editors import PROBES, editor, requests_of, same, support_of
from tests.support.tiny import CONFIGS, make

METHODS = [
    name for name in EDITORS.names() if EDITORS.get(name).__module__.split(".")[2] not in ("in_context", "routed")
]
CLASSES = [kind for kind in CONFIGS if kind not in ("llama", "gpt2")]


@pytest.mark.slow
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("method", METHODS)
def test_a_method_on_a_class(method: str, kind: str, tmp_path: Path) -> None:
    lm = make(kind)
    digest, before = lm.weights_digest(), score(lm, PROBES)
    instance = editor(method, lm, tmp_path, ridge=0.01)  # where the first block reads bare tokens, keys are few
    if issubclass(EDITORS.get(method), ResidualEditor) and not lm.layout.additive:
        with pytest.raises(ModelError, match="a norm follows the MLP of this model"):
            instance.prepare(support_of(method))
        return
    instance.prepare(support_of(method))
    one, *_ = each = instance.edit_each(requests_of(method)[:2])
    assert same(one, instance.edit(requests_of(method)[:1])) and lm.weights_digest() == digest
    inner = []
    for edit in each:
        with edit.on(lm):
            inner.append(score(lm, PROBES, rewrite=edit.rewrite))
            writes = edit.deltas is None or any(not isinstance(delta, RoutedDelta) for delta in edit.deltas)
            assert (lm.weights_digest() != digest) == writes
    assert all(answer.error is None for answers in inner for answer in answers)
    acts = (
        one.deltas is None or bool(one.deltas) or one.rewrite("How?") != "How?" or bool(instance.wants_support({}))
    )  # a memory may stay silent
    assert acts or inner[0] == before
    assert not one.deltas or inner[0] != before
    if one.deltas is None or own_answers([one], PROBES) is not None:  # such edits share no batch
        assert lm.weights_digest() == digest and score(lm, PROBES) == before
        return
    batches = [EditedProbes(edit.deltas or (), edit.rewrite, PROBES) for edit in each]
    for scores, want in zip(EditScorer(lm).score(batches), inner, strict=True):
        for a, b in zip(scores, want, strict=True):
            pairs = zip(a.targets, b.targets, strict=True)
            assert all(x.logprob == pytest.approx(y.logprob, abs=1e-4) for x, y in pairs)
    assert lm.weights_digest() == digest and score(lm, PROBES) == before
