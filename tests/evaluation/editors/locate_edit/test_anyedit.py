"""AnyEdit against a system of the keys' full size; windows of a target and the search for their states."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from benchmarks.support.naive_reference import hooked, with_deltas
from curation.files.artifact_cache import Cache
from evaluation.covariance.covariance import Corpus, key_covariances
from evaluation.editors.locate_edit.target_windows import TargetWindow, search_windows, windows_of
from evaluation.editors.locate_edit.value_search import SearchSettings
from evaluation.editors.presets import make_editor, preset
from evaluation.edits.delta_stack import DeltaStack
from evaluation.edits.weight_deltas import DenseDelta
from evaluation.inference.scoring import score
from evaluation.models.language_model import LM
from schemas.core.errors import DataError, ModelError, UserError
from schemas.facts import Fact, Object
from schemas.probes import ScoreProbe
from tests.support.documents.records import make_document
from tests.support.editors import memit
from tests.support.editors.edit_requests import NORWAY, PERU
from tests.support.facts import peru_fact
from tests.support.tiny import make

corpus = memit.corpus


LONG = peru_fact("f/long", new=Object(text="Quito, a city in the north, and people travel there by bus or by train."))


OPTIONS: dict[str, Any] = {"layers": [0, 1], "steps": 8, "window": 6, "lam": 60.0}


def editor(lm: LM, cache: Cache, corpus: str, **more: Any) -> Any:
    return make_editor("anyedit", lm, cache, {**OPTIONS, "corpus": corpus, **more})


def read(lm: LM, module: Any, ids: tuple[int, ...], places: list[int], what: str) -> Tensor:
    seen: list[Tensor] = []
    with torch.no_grad(), hooked(module, lambda given, out: seen.append(given if what == "input" else out)):  # type: ignore[func-returns-value]
        lm.model(torch.tensor([ids]))
    return seen[0][0, places].double().T


def plain(lm: LM, requests: list[Fact], corpus: str, cache: Cache, overlap: int = 0) -> list[Tensor]:
    """λC + KₚKₚᵀ + KKᵀ solved whole, layer after layer, each on the model with the earlier layers' changes."""
    settings = SearchSettings(8, 0.5, 0.0, 1e-3, 4.0, 1e-2)
    windows = [windows_of(lm, n, r, window=6, overlap=overlap, lead=5) for n, r in enumerate(requests)]
    z = torch.stack([v.target for some in windows for v in search_windows(lm, 1, some, settings=settings)], 1).double()
    moments = key_covariances(lm, [0, 1], Corpus([Path(corpus)]), cache=cache)
    changes: list[Tensor] = []
    for n, layer in enumerate([0, 1]):
        with with_deltas(lm, [DenseDelta(lm.layout.weight(i), c.float()) for i, c in enumerate(changes)]):
            wanted, kept, now = [], [], []
            for some in windows:
                ids, first = some[-1].ids, some[0].first
                begins = [w.first - 1 for w in some]
                others = [i for i in range(first, len(ids) - 1) if i not in begins]
                wanted.append(read(lm, lm.projection(layer), ids, begins, "input"))
                kept.append(read(lm, lm.projection(layer), ids, others, "input"))
                now.append(read(lm, lm.block(1), ids, begins, "output"))
        k, kp = torch.cat(wanted, 1), torch.cat(kept, 1)
        residual = (z - torch.cat(now, 1)) / (2 - n)
        c = moments[layer].second.double()
        changes.append(residual @ torch.linalg.solve(60.0 * c + kp @ kp.T + k @ k.T, k).T)
    return changes


@pytest.mark.parametrize(("kind", "overlap"), [("llama", 0), ("gpt2", 0), ("llama", 2)])
def test_changes_are_those_of_the_whole_system(kind: str, overlap: int, cache: Cache, corpus: str) -> None:
    """Where windows overlap, a place before a window is none of the tokens that are to stay, and none counts twice."""
    lm = make(kind)
    digest, edit = lm.weights_digest(), editor(lm, cache, corpus, overlap=overlap).edit([LONG, NORWAY])
    assert memit.close(edit, plain(lm, [LONG, NORWAY], corpus, cache, overlap))
    assert lm.weights_digest() == digest


def likelihood(lm: LM, fact: Fact) -> float:
    probe = ScoreProbe(purpose="fact", item=fact.key, prompt=fact.fact_prompt, targets=(fact.new_object.text,))
    return score(lm, [probe])[0].targets[0].logprob


def test_windows_carry_a_long_target_further_than_one_state(cache: Cache, corpus: str) -> None:
    lm, found = make("llama"), {}
    for window in (4, 100):
        edit = editor(lm, cache, corpus, window=window, steps=25, lam=1.0).edit([LONG])
        with edit.on(lm):
            found[window] = likelihood(lm, LONG)
    assert found[4] > found[100] + 10 and found[4] > likelihood(lm, LONG) + 10


def test_documents_are_edited_by_what_follows_their_lead(tiny: LM, cache: Cache, corpus: str) -> None:
    document = make_document("d/1", "Line 1 runs to Quito, a city in the north, by bus.", entity=None)
    edit = editor(tiny, cache, corpus, lead=3, steps=20, lam=1.0).edit([document])
    ids = tiny.token_ids(document.text)

    def loss() -> float:
        with torch.no_grad():
            log_probs = tiny.model(torch.tensor([ids])).logits[0].log_softmax(-1)
        return -float(torch.stack([log_probs[n - 1, ids[n]] for n in range(4, len(ids))]).mean())

    before = loss()
    with edit.on(tiny):
        assert loss() < before - 0.5


def test_a_sequence_may_hold_what_it_wrote(tiny: LM, cache: Cache, corpus: str) -> None:
    """With ``accumulate`` the keys of earlier windows take part with residuals of 0."""
    moved = {}
    key = editor(tiny, cache, corpus, stabilise=["accumulate"], lam=1.0).edit([PERU]).carried.keys[0]
    for stabilise in ([], ["accumulate"]):
        made = editor(tiny, cache, corpus, stabilise=stabilise, lam=1.0)
        with DeltaStack(tiny.model) as stack:
            first = made.edit([PERU])
            stack.add(first.deltas)
            second = made.edit_after([NORWAY], [first])
        assert bool(first.carried.keys) == bool(stabilise), "only who is asked for keys holds them"
        moved[bool(stabilise)] = float((second.deltas[0].matrix() @ key.T).norm())
    assert moved[True] < 0.2 * moved[False]


def test_options_and_models_that_are_refused(cache: Cache, corpus: str, tiny: LM) -> None:
    with pytest.raises(ModelError, match="'anyedit' writes into the residual"):
        editor(make("gemma2"), cache, corpus).edit([PERU])
    for options, words in (
        ({"rho": 0.5, "lam": 2.0}, "either lam"),
        ({"stabilise": ["nas"]}, "none of this method's"),
        ({"window": 6, "overlap": 6}, "overlap \\(6\\) must be less than window \\(6\\)"),
    ):
        with pytest.raises(DataError, match=words):
            editor(tiny, cache, corpus, **options)
    assert preset("anyedit", "meta-llama/Meta-Llama-3-8B-Instruct")["window"] == 40


SETTINGS = SearchSettings(steps=6, lr=0.5, kl_weight=0.0, weight_decay=1e-3, clamp=0.8, stop_below=1e-2)


def test_windows_cut_the_target_and_nothing_else() -> None:
    lm = make("llama")
    text = lm.encode(LONG.fact_prompt, LONG.new_object.text)
    windows = windows_of(lm, 3, LONG, window=5, lead=2)
    assert [w.first for w in windows] == list(range(text.first, len(text.ids), 5))
    assert windows[-1].ids == text.ids and {w.request for w in windows} == {3}
    covered = [n for w in windows for n in range(w.first, len(w.ids))]
    assert covered == list(range(text.first, len(text.ids))), "every token of the target in one window"
    read = sorted([w.place.last for w in windows] + [place.last for w in windows for place in w.inside])
    assert read == list(range(text.first - 1, len(text.ids) - 1)), "every place where one is predicted, once"
    assert all(place.ids == text.ids[: place.last + 1] for w in windows for place in (w.place, *w.inside))
    assert len(windows_of(lm, 0, LONG, window=1000, lead=2)) == 1


@pytest.mark.parametrize(("window", "overlap"), [(5, 2), (4, 3), (6, 1), (1000, 999)])
def test_windows_may_begin_with_the_end_of_the_one_before(window: int, overlap: int) -> None:
    """The published loop over the target's tokens; a window without a token of its own is none."""
    lm = make("llama")
    text = lm.encode(LONG.fact_prompt, LONG.new_object.text)
    parts, start = [], text.first
    while start < len(text.ids) and (not parts or parts[-1][1] < len(text.ids)):
        parts.append((start, min(start + window, len(text.ids))))
        start += window - overlap
    found = windows_of(lm, 0, LONG, window=window, overlap=overlap, lead=2)
    assert [(w.first, len(w.ids)) for w in found] == parts and found[-1].ids == text.ids
    assert all(second[0] == first[1] - overlap for first, second in pairwise(parts))


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_a_document_is_asked_for_by_its_first_tokens(kind: str) -> None:
    """A start token of the tokenizer (llama's) is none of them."""
    lm = make(kind)
    document = make_document("d/1", "Line 1 runs to Rovo, a town in the north.", entity=None)
    ids = lm.token_ids(document.text)
    (window,) = windows_of(lm, 0, document, window=100, lead=3)
    assert window.first == (4 if kind == "llama" else 3) and window.ids == ids


def test_what_cannot_be_read_is_refused_in_one_sentence() -> None:
    document = make_document("d/1", "Rovo is here.", entity=None)
    for lm, request, lead in ((make("llama"), document, 50), (make("llama", max_position_embeddings=8), LONG, 2)):
        with pytest.raises(UserError, match="cannot be edited") as refusal:
            windows_of(lm, 0, request, window=5, lead=lead)
        assert "\n" not in str(refusal.value) and request.key in str(refusal.value)


def windows_one_by_one(
    lm: LM, layer: int, windows: list[TargetWindow]
) -> list[tuple[torch.Tensor, torch.Tensor, float]]:
    """The published loop: whole passes, a hook that adds all earlier changes and the one that is searched for."""
    found: list[tuple[int, torch.Tensor]] = []
    out = []
    for window in windows:
        at, ids = window.first - 1, torch.tensor([window.ids[:-1]])
        start: list[torch.Tensor] = []
        delta = torch.zeros(lm.layout.width, requires_grad=True)
        optimiser = torch.optim.Adam([delta], lr=SETTINGS.lr)

        def hook(_: Any, args: Any, output: Any, at: int = at, delta: Any = delta, start: Any = start) -> Any:
            state = output if isinstance(output, torch.Tensor) else output[0]
            start.append(state[0, at].detach().clone())
            rows = list(state[0])
            for place, change in [*found, (at, delta)]:
                rows[place] = rows[place] + change
            new = torch.stack(rows)[None]
            return new if isinstance(output, torch.Tensor) else (new, *output[1:])

        handle = lm.block(layer).register_forward_hook(hook)
        for step in range(SETTINGS.steps):
            log_probs = lm.model(ids).logits[0].log_softmax(-1)
            picked = [log_probs[n - 1, window.ids[n]] for n in range(window.first, len(window.ids))]
            nll = -torch.stack(picked).mean()
            loss = nll + SETTINGS.weight_decay * delta.norm() / start[0].norm() ** 2
            if step == SETTINGS.steps - 1 or loss < SETTINGS.stop_below:
                break
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            with torch.no_grad():
                most = SETTINGS.clamp * start[0].norm()
                if delta.norm() > most:
                    delta *= most / delta.norm()
        handle.remove()
        found.append((at, delta.detach().clone()))
        out.append((start[0] + found[-1][1], start[0], float(nll.detach())))
    return out


@pytest.mark.parametrize(
    ("kind", "overlap", "layer"), [("llama", 0, 1), pytest.param("gpt2", 0, 2, id="the last layer"), ("llama", 2, 1)]
)
def test_states_are_those_of_the_plain_loop(kind: str, overlap: int, layer: int) -> None:
    lm = make(kind)
    windows = windows_of(lm, 0, LONG, window=6, overlap=overlap, lead=2)
    digest, got = lm.weights_digest(), search_windows(lm, layer, windows, settings=SETTINGS)
    for value, (target, start, nll) in zip(got, windows_one_by_one(lm, layer, windows), strict=True):
        assert torch.allclose(value.initial, start, atol=1e-4)
        assert (value.target - target).norm() < 1e-2 * (target - start).norm()
        assert value.nll == pytest.approx(nll, abs=1e-2) and value.updates == SETTINGS.steps - 1
        assert (value.target - value.initial).norm() <= SETTINGS.clamp * start.norm() * 1.001
    assert lm.weights_digest() == digest and not any(m._forward_hooks for m in lm.model.modules())


def test_a_search_ends_where_its_loss_is_low() -> None:
    lm = make("llama")
    windows = windows_of(lm, 0, LONG, window=3, lead=2)
    got = search_windows(lm, 1, windows, settings=SearchSettings(
        steps=6, lr=0.5, kl_weight=0.0, weight_decay=1e-3, clamp=0.8, stop_below=1e6
    ))  # fmt: skip
    assert all(value.updates == 0 and torch.equal(value.target, value.initial) for value in got)
