"""Routed changes: each row goes by its own prompt, in any batch, packed or cached; silence on prompts is refused."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from benchmarks.support.naive_reference import with_target
from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.edits.codebook import Codebook
from evaluation.edits.delta_stack import DeltaStack, applied
from evaluation.edits.edit import WeightEdit
from evaluation.edits.per_row import PerRow
from evaluation.edits.routed_deltas import PromptRows, RoutedDelta, is_routed, tell_prompts
from evaluation.edits.side_memory import SideMemories
from evaluation.edits.weight_deltas import DenseDelta, LowRankDelta
from evaluation.engines.base import Job
from evaluation.engines.fast import FastEngine
from evaluation.engines.simple import SimpleEngine
from evaluation.inference.answering import ModelScorer, answer
from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.batching import TokenBudget
from evaluation.inference.passes import EditedProbes
from evaluation.inference.scoring import score
from evaluation.models.hooks import capture
from evaluation.models.language_model import LM
from schemas.answers import Answer, GeneratedText, TargetScore
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.probes import GenerateProbe, Probe, ScoreProbe
from tests.support.facts import peru_fact
from tests.support.tiny import make

LAYER = 1
PROMPTS = [
    "The capital of Peru is",
    "The capital of Peru is Lima, and",
    "Norway is a kingdom in",
    "She said",
    "Peru is a",
]
TARGETS = ("Lima", "Oslo and Paris", "a city; is it the capital?")
PROBES: list[Probe] = [
    *(ScoreProbe(purpose="fact", item=p, prompt=p, targets=TARGETS) for p in PROMPTS),
    # prompts that begin alike, one being another's beginning with its target, and targets of one token
    ScoreProbe(purpose="fact", item="x", prompt="The capital of", targets=("Peru is Lima", "Norway")),
    ScoreProbe(purpose="fact", item="y", prompt="The capital of Peru", targets=("is", "is Lima")),
    *(GenerateProbe(purpose="text", item=p, prompt=p, most=5) for p in PROMPTS),
]


def key_of(lm: LM, prompt: str, layer: int = LAYER) -> Tensor:
    """What the layer's projection reads at a prompt's last token."""
    ids = lm.token_ids(prompt)
    with torch.no_grad(), tell_prompts(lm.model, None), capture(lm.projection(layer)) as seen:
        lm.model(torch.tensor([ids]))
    return seen.input[0, -1].float()


def codebook(lm: LM, *prompts: str, size: float = 5.0, radius: float = 0.5, layer: int = LAYER) -> Codebook:
    keys = torch.stack([key_of(lm, prompt, layer) for prompt in prompts])
    draws = torch.Generator().manual_seed(len(prompts))
    values = size * torch.randn(len(prompts), lm.layout.width, generator=draws)
    labels = tuple((n,) for n in range(len(prompts)))
    return Codebook(lm.layout.weight(layer), keys, values, torch.full((len(prompts),), radius), labels)


def memories(lm: LM, *thresholds: float, layer: int = LAYER, size: float = 0.5) -> SideMemories:
    draws = torch.Generator().manual_seed(4)
    changes = size * torch.randn(len(thresholds), lm.layout.width, lm.layout.inner, generator=draws)
    return SideMemories(lm.layout.weight(layer), changes, torch.tensor(thresholds), "silu")


def deviations(lm: LM, delta: SideMemories, prompt: str) -> list[float]:
    """d of every memory for a prompt, from the formula."""
    ids = lm.token_ids(prompt)
    with (
        torch.no_grad(),
        tell_prompts(lm.model, None),
        capture(lm.module(delta.weight.removesuffix(".weight"))) as seen,
    ):
        lm.model(torch.tensor([ids]))
    f, keys, out = torch.nn.functional.silu, seen.input[0], seen.output[0]
    return [float((f(out + keys @ c.T) - f(out)).norm(dim=1).mean()) for c in delta.changes]


def edits_of(lm: LM, layer: int = LAYER) -> list[list[Any]]:
    """Codebooks, memories, an ordinary change, none, and a codebook beside an ordinary change."""
    found = sorted(deviations(lm, memories(lm, 0.0, layer=layer), p)[0] for p in PROMPTS)
    middle = (found[2] + found[3]) / 2  # at a prompt's own d rounding would decide
    low = LowRankDelta(lm.layout.weight(layer), torch.ones(lm.layout.width, 1), torch.ones(lm.layout.inner, 1) / 9)
    return [
        [codebook(lm, PROMPTS[0], layer=layer)],
        [low],
        [memories(lm, middle, layer=layer)],
        [],
        [codebook(lm, PROMPTS[2], "The capital of Peru", size=3.0, layer=layer), low],
        [memories(lm, middle, 0.0, layer=layer)],
    ]


def assert_same(got: Sequence[Answer], want: Sequence[Answer]) -> None:
    for a, b in zip(got, want, strict=True):
        assert a.error is None and b.error is None
        assert [t.logprob for t in a.targets] == pytest.approx([t.logprob for t in b.targets], abs=2e-4)
        assert (a.written and a.written.text) == (b.written and b.written.text)


def output_by_hand(delta: Any, keys: Tensor, out: Tensor, length: int) -> Tensor:
    """What a module gives under one change, token by token: keys [tokens, in], its own output [tokens, out]."""
    if isinstance(delta, Codebook):
        gaps = [math.dist(keys[length - 1].tolist(), key.tolist()) for key in delta.keys]
        near = gaps.index(min(gaps))
        rows = list(out)
        if gaps[near] <= delta.radii[near]:
            rows[length - 1] = delta.values[near]
        return torch.stack(rows)
    if isinstance(delta, SideMemories):
        f, best, answer_of = torch.nn.functional.silu, -math.inf, out
        for change, threshold in zip(delta.changes, delta.thresholds, strict=True):
            moved = torch.stack([row + change @ key for key, row in zip(keys, out, strict=True)])
            d = sum(float((f(moved[n]) - f(out[n])).norm()) for n in range(length)) / length
            if d >= threshold and d > best:
                best, answer_of = d, moved
        return answer_of
    return torch.stack([row + delta.left @ (delta.right.T @ key) for key, row in zip(keys, out, strict=True)])


def log_probs_by_hand(lm: LM, deltas: Sequence[Any], ids: list[int], length: int) -> Tensor:
    """One whole pass over one row whose first tokens are the prompt; routed changes after the ordinary ones."""
    handles = []
    for delta in sorted(deltas, key=lambda one: isinstance(one, RoutedDelta)):

        def hook(_: Any, given: tuple[Tensor, ...], out: Tensor, delta: Any = delta) -> Tensor:
            return output_by_hand(delta, given[0][0], out[0], length)[None]

        handles.append(lm.module(delta.weight.removesuffix(".weight")).register_forward_hook(hook))
    try:
        with torch.no_grad():
            result: Tensor = lm.model(torch.tensor([ids])).logits[0].log_softmax(-1)
    finally:
        for handle in handles:
            handle.remove()
    return result


def slowly(lm: LM, deltas: Sequence[Any], probe: Probe) -> Answer:
    """One edit, one probe, one row a target, whole passes with hooks of PyTorch's; a text is written token by token."""
    if isinstance(probe, ScoreProbe):
        targets = []
        for target in probe.targets:
            read = with_target(lm, probe.prompt, target, probe.separator)
            found = log_probs_by_hand(lm, deltas, read.ids, read.at)
            total = sum(float(found[n - 1, read.ids[n]]) for n in range(read.at, len(read.ids)))
            targets.append(TargetScore(text=target, logprob=total, tokens=len(read.ids) - read.at))
        return Answer(probe=probe.id, targets=tuple(targets))
    ids = lm.tokenizer(probe.prompt)["input_ids"]
    written: list[int] = []
    while len(written) < (probe.most or 0) and lm.tokenizer.eos_token_id not in written:
        written.append(int(log_probs_by_hand(lm, deltas, [*ids, *written], len(ids))[-1].argmax()))
    text = lm.tokenizer.decode(written, skip_special_tokens=True)
    return Answer(probe=probe.id, written=GeneratedText(text=text, tokens=len(written), ended="length"))


@functools.cache
def all_slowly(kind: str, layer: int) -> list[list[Answer]]:
    lm = make(kind)
    return [[slowly(lm, deltas, probe) for probe in PROBES] for deltas in edits_of(lm, layer)]


@pytest.mark.parametrize(("kind", "layer"), [("llama", 2), ("gpt2", 1)])
def test_every_row_is_as_if_it_stood_alone(kind: str, layer: int) -> None:
    """Packed and written in one batch under six edits, against one edit, one probe and one target at a time."""
    lm = make(kind)
    edits, digest = edits_of(lm, layer), lm.weights_digest()
    asked = [EditedProbes(deltas, None, PROBES) for deltas in edits]
    from evaluation.engines.fast import _ask

    for tokens in (10_000, 60):
        got = _ask(EditScorer(lm, budget=TokenBudget(tokens)), asked)
        for answers, want in zip(got, all_slowly(kind, layer), strict=True):
            assert_same(answers, want)
    changed = [[a != b for a, b in zip(one, got[3], strict=True)] for one in got]
    for n in (0, 2, 4, 5):
        assert any(changed[n]), "the edit does something"
    assert not all(changed[0]) and not all(changed[2]), "and leaves other prompts alone"
    assert lm.weights_digest() == digest and not is_routed(lm.model)
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in lm.model.modules())


def test_a_model_that_carries_an_edit_is_asked_as_slowly() -> None:
    """As regimes ask: the edit is on the model, and the engine packs prompts of many probes."""
    lm = make("llama")
    for deltas, want in zip(edits_of(lm, 2), all_slowly("llama", 2), strict=True):
        with WeightEdit(tuple(deltas)).on(lm):
            got = FastEngine(lm).ask([Job("a", Case(key="a", fact=peru_fact()), tuple(PROBES))], rewrite=None)[0]
            whole = answer(ModelScorer(lm), PROBES, rewrite=None)
        assert_same(got.answers, want)
        assert_same(whole, want)


def test_the_engines_agree_with_the_states_of_the_unedited_model_kept(cache: Cache) -> None:
    lm = make("llama")
    editor = make_editor("grace", lm, cache, {"layer": 1, "steps": 4})
    facts = [peru_fact(), peru_fact("f/2", prompt="{} lies in")]
    jobs = [Job(f.key, Case(key=f.key, fact=f), tuple(PROBES)) for f in facts]
    fast = FastEngine(lm)
    fast.expect([editor])
    list(fast.work(make_editor("none", lm, cache), jobs))
    slow = SimpleEngine(ModelScorer(lm))
    for a, b in zip(fast.work(editor, jobs), slow.work(editor, jobs), strict=True):
        assert a.error is None
        assert_same(a.answers, b.answers)


def test_a_pass_that_says_nothing_of_its_prompts_is_refused() -> None:
    lm = make("llama")
    ids, _ = lm.pad([(5, 6, 7)])
    with WeightEdit((codebook(lm, "Peru"),)).on(lm):
        with pytest.raises(UserError, match="does not say where its prompts end") as refusal:
            lm.model(input_ids=ids)
        assert "\n" not in str(refusal.value)
        with tell_prompts(lm.model, None):
            plain = lm.model(input_ids=ids).logits
        with tell_prompts(lm.model, PromptRows.of([3], lm.device)):
            lm.model(input_ids=ids)
    assert torch.equal(plain, lm.model(input_ids=ids).logits)
    with PerRow(lm.model, [[codebook(lm, "Peru")]]).on([0]), pytest.raises(UserError, match="where its prompts end"):
        lm.model(input_ids=ids)


def test_what_was_said_of_prompts_ends_with_its_block() -> None:
    lm = make("llama")
    with WeightEdit((codebook(lm, "Peru"),)).on(lm):
        around = tell_prompts(lm.model, PromptRows.of([1], lm.device))
        with around, pytest.raises(KeyboardInterrupt), tell_prompts(lm.model, None):
            raise KeyboardInterrupt
        with pytest.raises(UserError, match="prompts end"):
            lm.model(input_ids=torch.tensor([[5]]))
    with pytest.raises(RuntimeError), WeightEdit((codebook(lm, "Peru"),)).on(lm):
        raise RuntimeError
    assert not is_routed(lm.model)


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_of_several_on_one_module_the_newest_holds(kind: str) -> None:
    lm = make(kind)
    one, two = codebook(lm, PROMPTS[0]), codebook(lm, PROMPTS[0], PROMPTS[2], size=2.0)
    digest, probes = lm.weights_digest(), [p for p in PROBES if isinstance(p, ScoreProbe)]
    with DeltaStack(lm.model) as stack:
        stack.add([one])
        first = score(lm, probes)
        stack.add([two])
        both = score(lm, probes)
        stack.add([DenseDelta(lm.layout.weight(0), torch.full((lm.layout.width, lm.layout.inner), 0.01))])
        assert score(lm, probes) != both
    with applied(lm.model, [two]):
        assert_same(both, score(lm, probes))
    with applied(lm.model, [one]):
        assert_same(first, score(lm, probes))
    assert lm.weights_digest() == digest and not is_routed(lm.model)
