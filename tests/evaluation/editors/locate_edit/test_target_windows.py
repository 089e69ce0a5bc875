"""Windows of a target, and the search for their states against whole passes with plain hooks."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch

from evaluation.editors.locate_edit.target_windows import TargetWindow, search_windows, windows_of
from evaluation.editors.locate_edit.value_search import SearchSettings
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from schemas.facts import Object
from tests.support.documents.records import make_document
from tests.support.facts import peru_fact
from tests.support.tiny import make

LONG = peru_fact("f/long", new=Object(text="Quito, a city in the north, and people travel there by bus or by train."))
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


def plain(lm: LM, layer: int, windows: list[TargetWindow]) -> list[tuple[torch.Tensor, torch.Tensor, float]]:
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


@pytest.mark.parametrize("layer", [1, pytest.param(2, id="the last layer")])
@pytest.mark.parametrize(("kind", "overlap"), [("llama", 0), ("gpt2", 0), ("llama", 2)])
def test_states_are_those_of_the_plain_loop(kind: str, overlap: int, layer: int) -> None:
    lm = make(kind)
    windows = windows_of(lm, 0, LONG, window=6, overlap=overlap, lead=2)
    digest, got = lm.weights_digest(), search_windows(lm, layer, windows, settings=SETTINGS)
    for value, (target, start, nll) in zip(got, plain(lm, layer, windows), strict=True):
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
