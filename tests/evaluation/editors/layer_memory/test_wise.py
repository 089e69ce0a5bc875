"""WISE: one edit learnt by a side memory, its memories in a sequence, shards and merging, scope, what it needs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional

from curation.files.artifact_cache import Cache
from evaluation.editors.layer_memory.side_training import SideSettings, SideTraining
from evaluation.editors.layer_memory.wise import Wise
from evaluation.editors.presets import make_editor
from evaluation.edits.side_memory import SideMemories, ties
from evaluation.inference.scoring import score
from evaluation.models.language_model import LM
from evaluation.models.layout import is_transposed
from schemas.cases import Case
from schemas.core.errors import DataError, UserError
from schemas.facts import Entity, Object
from schemas.probes import ScoreProbe
from tests.support.editors.edit_requests import NORWAY, PERU
from tests.support.facts import peru_fact
from tests.support.tiny import make

FRANCE = peru_fact("f/france", subject=Entity(text="France"), old=Object(text="Paris"), new=Object(text="Quito"))


OTHERS = [Case(key="o", fact=peru_fact("f/o", prompt="{} was founded in"))]


OPTIONS: dict[str, Any] = {
    "layer": 1, "steps": 15, "lr": 0.1, "alpha": 0.2, "beta": 2.0, "gamma": 1.0, "templates": ("{}", "So it is. {}"),
}  # fmt: skip


def wise(lm: LM, cache: Cache, **more: Any) -> Wise:
    editor = make_editor("wise", lm, cache, {**OPTIONS, **more})
    editor.prepare(OTHERS)
    assert isinstance(editor, Wise)
    return editor


def memories_of(edit: Any) -> SideMemories:
    (memories,) = edit.deltas
    assert isinstance(memories, SideMemories)
    return memories


def test_only_the_masked_part_moves_and_within_the_bound(tiny: LM, cache: Cache) -> None:
    editor = wise(tiny, cache, bound=0.02, mask=0.3)
    change = memories_of(editor.edit([PERU])).changes[0]
    part = editor._part(0)
    assert 0.2 < float(part.mean()) < 0.4 and bool((change[part == 0] == 0).all())
    assert float(change.abs().max()) <= 0.02 + 1e-7 and float(change.abs().sum()) > 0
    assert torch.equal(part, editor._part(499)) and not torch.equal(part, editor._part(500)), "a part a shard"


def test_shards_begin_anew_and_become_one(tiny: LM, cache: Cache) -> None:
    facts = [PERU, NORWAY, FRANCE, peru_fact("f/4", prompt="{} lies in")]
    two = wise(tiny, cache, shard_every=2, merge_every=100).edit(facts)
    assert two.notes["memories"] == 2
    shards, editor = memories_of(two), wise(tiny, cache, shard_every=2, merge_every=4)
    merged = editor.edit(facts)
    assert merged.notes["memories"] == 1
    assert torch.allclose(memories_of(merged).changes[0], ties(list(shards.changes), 0.53), atol=1e-6)
    assert float(memories_of(merged).thresholds) == pytest.approx(float(shards.thresholds.min()))
    further = editor.edit_after([PERU], [merged])
    assert further.notes["memories"] == 2, "a new shard beside the merged one"
    alone = wise(tiny, cache, shard_every=1, merge_every=1).edit([PERU, NORWAY])
    assert alone.notes["memories"] == 2, "a shard alone is not merged with itself"


def test_its_prompt_is_in_scope_and_the_unrelated_one_is_not(tiny: LM, cache: Cache) -> None:
    edit = wise(tiny, cache, steps=150, threshold=0.8).edit([PERU])
    prompts = [(PERU.fact_prompt, PERU.new_object.text), (OTHERS[0].fact.fact_prompt, "Oslo")]
    probes = [ScoreProbe(purpose="fact", item="p", prompt=p, targets=(t,)) for p, t in prompts]
    before = [a.targets[0].logprob for a in score(tiny, probes)]
    with edit.on(tiny):
        after = [a.targets[0].logprob for a in score(tiny, probes)]
    assert edit.notes["inside"] > edit.notes["outside"] + 0.9
    assert after[0] > before[0] + 2 and after[1] == before[1]


def test_templates_are_sampled_while_an_edit_is_active(tiny: LM, cache: Cache) -> None:
    editor = wise(tiny, cache, templates=None, template_lengths=((3, 2),))
    assert editor.components == {"templates": "sampled@1"}
    fresh = make_editor("wise", make("llama"), cache, {**OPTIONS, "templates": None, "template_lengths": ((3, 2),)})
    with editor.edit([PERU]).on(tiny):
        assert editor._templates()[0] == "{}" and len(editor._templates()) == 3
    assert fresh.components == editor.components


def test_what_it_needs_and_refuses(tiny: LM, cache: Cache) -> None:
    editor = make_editor("wise", tiny, cache, OPTIONS)
    with pytest.raises(UserError, match="wise was not prepared"):
        editor.edit([PERU])
    with pytest.raises(UserError, match="unrelated prompts alone, and there are none"):
        editor.prepare([])
    with pytest.raises(DataError, match="multiple of shard_every"):
        make_editor("wise", tiny, cache, {**OPTIONS, "shard_every": 3, "merge_every": 4})
    assert Wise.wants_support({})


CONTEXTS, OTHER = ("{}", "So it is. {}", "It was in the north that {}"), "Step 1: Pack"


SETTINGS = SideSettings(6, 0.2, 0.3, alpha=0.05, beta=2.0, gamma=1.0, activation="silu")


def plain(lm: LM, part: torch.Tensor, settings: SideSettings) -> torch.Tensor:
    """The paper's loss with whole passes, one prompt at a time; the side memory is a parameter of the map's size."""
    module = lm.projection(1)
    weight = module.weight.detach()
    old = (weight.T if is_transposed(module) else weight).clone()
    new = old.clone().requires_grad_()
    scope: list[torch.Tensor] = []

    def side(_: object, args: tuple[torch.Tensor, ...], out: torch.Tensor) -> torch.Tensor:
        moved = functional.linear(args[0], new, module.bias)
        scope.append((functional.silu(moved) - functional.silu(out)).norm(dim=-1)[0])
        return moved

    for _ in range(settings.steps):
        losses, inside = [], []
        handle = module.register_forward_hook(side)
        for context in CONTEXTS:
            text = lm.encode(context.replace("{}", PERU.fact_prompt), PERU.new_object.text)
            log_probs = lm.model(torch.tensor([text.ids])).logits[0].log_softmax(-1)
            picked = [log_probs[n - 1, text.ids[n]] for n in range(text.first, len(text.ids))]
            losses.append(-torch.stack(picked).mean())
            inside.append(scope[-1][: text.first].mean())
        lm.model(torch.tensor([lm.token_ids(OTHER)]))
        outside = scope[-1].mean()
        handle.remove()
        loss = torch.stack(losses).mean()
        for margins in (
            [outside - d + settings.gamma for d in inside],
            [outside - settings.alpha],
            [settings.beta - d for d in inside],
        ):
            if above := [m for m in margins if m > 0]:
                loss = loss + torch.stack(above).mean()
        (slope,) = torch.autograd.grad(loss, new)
        with torch.no_grad():
            new -= settings.lr * slope * part
            new.copy_(torch.clamp(new, min=old - settings.bound, max=old + settings.bound))
    return (new - old).detach()


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_it_is_the_formula(kind: str) -> None:
    lm = make(kind)
    part = (torch.rand(lm.layout.width, lm.layout.inner, generator=torch.Generator().manual_seed(1)) < 0.5).float()
    digest = lm.weights_digest()
    training = SideTraining(lm, 1, lm.projection(1), PERU, CONTEXTS, OTHER, SETTINGS)
    got, outcome = training.run(None, part)
    want = plain(lm, part, SETTINGS)
    assert (got - want).norm() < 1e-3 * want.norm() and outcome.steps == 6
    assert lm.weights_digest() == digest
    begun, _ = training.run(got, part)
    longer, _ = SideTraining(lm, 1, lm.projection(1), PERU, CONTEXTS, OTHER, SETTINGS._replace(steps=12)).run(
        None, part
    )
    assert torch.allclose(begun, longer, atol=1e-5), "a memory goes on from where it was"


def test_a_loss_that_settled_high_ends_nothing() -> None:
    lm = make("llama")
    part = torch.zeros(lm.layout.width, lm.layout.inner)
    easy = SETTINGS._replace(alpha=5.0, beta=0.0, gamma=0.0, steps=9)
    training = SideTraining(lm, 1, lm.projection(1), PERU, CONTEXTS, OTHER, easy)
    assert training.run(None, part)[1].steps == 9, "settled, but the object is not likely"


def test_a_prompt_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(UserError, match="cannot be read"):
        SideTraining(make("llama"), 1, make("llama").projection(1), PERU, CONTEXTS, "", SETTINGS)
