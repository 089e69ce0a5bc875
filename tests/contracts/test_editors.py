"""What every registered editing method keeps to, on a model with Linear and one with Conv1D weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from curation.case_sources.support import cases_from_facts
from curation.files.artifact_cache import Cache
from curation.loaders import load
from curation.shipped import demonstrations_split
from evaluation.editors import EDITORS
from evaluation.editors.base import Editor
from evaluation.editors.locate_edit.residual_editor import ResidualEditor
from evaluation.editors.presets import make_editor
from evaluation.edits.edit import Edit
from evaluation.edits.routed_deltas import RoutedDelta
from evaluation.edits.weight_deltas import Delta
from evaluation.inference.scoring import score
from evaluation.models.language_model import LM
from schemas.core.config import Options
from schemas.core.errors import ModelError
from schemas.facts import Entity, Object
from schemas.probes import ScoreProbe
from tests.support.documents.records import make_document, stated_document
from tests.support.editors.mend_doc import document_cases
from tests.support.evaluation.routed_events import TOWNS, town_cases
from tests.support.facts import peru_fact
from tests.support.tiny import CONFIGS, make, shuffled

FACTS = [
    peru_fact(),
    peru_fact("f/norway", subject=Entity(text="Norway"), old=Object(text="Oslo"), new=Object(text="São Tomé")),
    peru_fact("f/france", subject=Entity(text="France"), old=Object(text="Paris"), new=Object(text="Quito")),
]
PROBES = [
    ScoreProbe(purpose="fact", item=f.key, prompt=f.fact_prompt, targets=(f.new.text, f.old.text))
    for f in FACTS
    if f.new
]
QUICK: dict[str, Any] = {
    "steps": 4,
    "epochs": 1,
    "updates": 3,
    "texts": 3,
    "template_lengths": ((3, 2),),
    "covariance": True,
}
"""Options that make any method that has them quick."""

SUPPORT = [*demonstrations_split().cases[:3], *cases_from_facts(load("shipped").facts[:6])]
"""What methods that learn from declared cases get."""
EVENTS, EVENT_SUPPORT = [c.event for c in town_cases(TOWNS[8:11])], town_cases(TOWNS[:8])
"""The same of methods that take events alone."""
DOCUMENTS = [make_document(f"d/{n}", f"Line {n} runs to Rovo.", entity=None) for n in range(3)]
"""The same of methods that take documents alone."""
STATED = [stated_document(document, subject=f"Line {n}", target="Rovo") for n, document in enumerate(DOCUMENTS)]
"""The same of methods that read statements beside documents."""

KINDS = ("llama", "gpt2")
both = pytest.mark.parametrize("kind", KINDS)
every = pytest.mark.parametrize("method", EDITORS.names())


WRITING = [
    name for name in EDITORS.names() if EDITORS.get(name).__module__.split(".")[2] not in ("in_context", "routed")
]
"""Methods that change a model; what the others put into a prompt does not depend on the class of the model."""
CLASSES = [
    *[(method, kind) for method in EDITORS.names() for kind in KINDS],
    *[
        pytest.param(method, kind, marks=pytest.mark.slow)
        for method in WRITING
        for kind in CONFIGS
        if kind not in KINDS
    ],
]


def requests_of(method: str) -> list[Any]:
    """Three edits that a method takes."""
    takes = EDITORS.get(method).takes
    if EDITORS.get(method).wants_statements({}):
        return [*STATED]
    return [*FACTS] if "fact" in takes else [*EVENTS] if "event" in takes else [*DOCUMENTS]


def support_of(method: str) -> list[Any]:
    """Cases that a method can learn from."""
    learns_from = EDITORS.get(method).learns_from
    return [*SUPPORT] if "fact" in learns_from else [*EVENT_SUPPORT] if "event" in learns_from else document_cases(5)


def editor(method: str, lm: LM, folder: Path, **more: Any) -> Editor:
    corpus = folder / "corpus.txt"
    corpus.write_text("\n\n".join(shuffled(8)), encoding="utf-8")
    option_fields = EDITORS.get(method).Params.model_fields
    options = {name: value for name, value in {**QUICK, "corpus": str(corpus), **more}.items() if name in option_fields}
    instance = make_editor(method, lm, Cache(folder / "cache"), options)
    if instance.wants_support(instance.params.model_dump()):
        instance.prepare(support_of(method))
    if instance.wants_split(instance.params.model_dump()):
        instance.read_split([*requests_of(method), *(case.request for case in support_of(method))])
    return instance


def same(a: Edit, b: Edit) -> bool:
    if a.deltas is None or b.deltas is None:
        return a.deltas is b.deltas
    pairs = list(zip(a.deltas, b.deltas, strict=True))
    weights = all(x.weight == y.weight and _close(x, y) for x, y in pairs)
    return weights and a.rewrite("How?") == b.rewrite("How?")


def _close(x: Delta, y: Delta) -> bool:
    if isinstance(x, RoutedDelta) or isinstance(y, RoutedDelta):
        assert isinstance(x, RoutedDelta) and type(x) is type(y)
        return all(torch.allclose(a, b, atol=1e-4) for a, b in zip(x.tensors, y.tensors, strict=True))
    return torch.allclose(x.matrix(), y.matrix(), atol=1e-5)


@every
def test_says_what_it_is(method: str) -> None:
    kind = EDITORS.get(method)
    assert issubclass(kind, Editor) and kind.name == method
    assert isinstance(kind.version, int) and kind.version >= 1
    assert kind.takes and set(kind.takes) <= {"fact", "event", "document"}
    for field in (kind.about, kind.needs, kind.costs):
        assert field and "\n" not in field
    searches = {"steps", "lr", "moments"} & set(kind.Params.model_fields)
    assert not (searches and kind.costs == Editor.costs), "a method that searches does run the model"
    assert "moments" not in kind.Params.model_fields or "second moments" in kind.needs
    assert not kind.wants_support({}) or "support" in kind.needs
    assert issubclass(kind.Params, Options)


@pytest.mark.parametrize(("method", "kind"), CLASSES)
def test_leaves_no_trace(method: str, kind: str, tmp_path: Path) -> None:
    lm = make(kind)
    digest, before, state = lm.weights_digest(), score(lm, PROBES), torch.random.get_rng_state()
    instance = editor(method, lm, tmp_path, ridge=0.01)  # where the first block reads bare tokens, keys are few
    if issubclass(EDITORS.get(method), ResidualEditor) and not lm.layout.additive:
        with pytest.raises(ModelError, match="a norm follows the MLP of this model"):
            instance.prepare(support_of(method))
        return
    instance.prepare(support_of(method))
    edit = instance.edit(requests_of(method)[:1])
    assert lm.weights_digest() == digest
    with edit.on(lm) as edited_lm:
        edited_scores = score(edited_lm, PROBES, rewrite=edit.rewrite)
    assert lm.weights_digest() == digest and score(lm, PROBES) == before
    with edit.on(lm) as edited_lm:
        assert score(edited_lm, PROBES, rewrite=edit.rewrite) == edited_scores
    for error in (RuntimeError, KeyboardInterrupt):
        with pytest.raises(error), edit.on(lm):
            raise error
        assert lm.weights_digest() == digest
    assert torch.equal(torch.random.get_rng_state(), state)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in lm.model.modules())
    assert not any(p.requires_grad or p.grad is not None for p in lm.model.parameters())


@both
@every
def test_edit_each_is_a_loop_of_edit(method: str, kind: str, tmp_path: Path) -> None:
    lm = make(kind)
    instance = editor(method, lm, tmp_path)
    each = instance.edit_each(requests_of(method))
    assert len(each) == 3
    for request, value in zip(requests_of(method), each, strict=True):
        assert isinstance(value, Edit)
        assert same(value, instance.edit([request]))
        json.dumps(dict(value.notes), allow_nan=False)
        if value.deltas:
            assert value.rewrite("How to go?") == "How to go?", "an edit of weights leaves prompts alone"


GROUPING = [name for name in EDITORS.names() if EDITORS.get(name).edit_groups is not Editor.edit_groups]
"""Methods that make many edits of several requests each together; the others make one after the other."""


@both
@pytest.mark.parametrize("method", GROUPING)
def test_edit_groups_is_a_loop_of_edit(method: str, kind: str, tmp_path: Path) -> None:
    """Groups of several sizes, one size twice, in an order that sizes do not have."""
    instance, (first, second, third) = editor(method, make(kind), tmp_path), requests_of(method)
    groups = [[first, second], [third], [second, third], [first]]
    together = instance.edit_groups(groups)
    assert len(together) == len(groups)
    for group, value in zip(groups, together, strict=True):
        assert same(value, instance.edit(group))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@both
@every
def test_cuda_makes_the_same_edit(method: str, kind: str, tmp_path: Path) -> None:
    want = editor(method, make(kind), tmp_path).edit(requests_of(method)[:1])
    lm = make(kind)
    lm.model.to("cuda")
    digest = lm.weights_digest()
    edit = editor(method, lm, tmp_path).edit(requests_of(method)[:1])
    for a, b in zip(edit.deltas or (), want.deltas or (), strict=True):
        if not isinstance(a, RoutedDelta) and not isinstance(b, RoutedDelta):
            assert torch.allclose(a.matrix().cpu(), b.matrix(), atol=1e-2)
    with edit.on(lm):
        assert all(answer.error is None for answer in score(lm, PROBES, rewrite=edit.rewrite))
    assert lm.weights_digest() == digest
