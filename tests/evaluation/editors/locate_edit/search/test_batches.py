"""Batches of a search: what a row needs stays with it, whichever rows leave and however batches are put together."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from evaluation.editors.locate_edit.search.batches import SearchBatch, SearchReads, apart, keep_rows, make_batch
from evaluation.editors.locate_edit.search.passes import Stems
from evaluation.editors.locate_edit.search.rows import SearchRow, rows_of
from evaluation.inference.partial_forward import LayerInput
from evaluation.inference.prefix_cache import Prefix
from evaluation.models.language_model import LM
from schemas.facts import Entity, Object
from tests.support.facts import peru_fact
from tests.support.tiny import make

CONTEXTS = ("{}", "She left. {}")


def search_rows(lm: LM) -> list[SearchRow]:
    """Rows of three requests, the essence prompts among them."""
    lands, objects = ("Peru", "Norway", "The Gulf of Guinea"), ("Oslo", "a city of the north", "Quito")
    facts = [
        peru_fact(f"f/{n}", subject=Entity(text=land), new=Object(text=new), prompt="The capital of {} is")
        for n, (land, new) in enumerate(zip(lands, objects, strict=True))
    ]
    return [row for n, fact in enumerate(facts) for row in rows_of(lm, n, fact, CONTEXTS)]


def numbered(ids: Tensor, mask: Tensor, prefix: Prefix | None) -> tuple[LayerInput, Tensor]:
    """Stands for the model: states that say which token they are of."""
    hidden = ids[..., None].float().expand(*ids.shape, 4).clone()
    return LayerInput(1, hidden, 0), hidden + 0.5


def batch_of(lm: LM, rows: list[SearchRow], *, continued: bool = True) -> SearchBatch:
    beginnings = [row.ids[: row.subject] for row in rows]
    stems = Stems(lm, [row.template for row in rows], beginnings, max_tokens=999) if continued else None
    batch, out = make_batch(lm, rows, stems, {0: 0, 1: 1, 2: 2}, numbered)
    assert torch.equal(out, batch.layer_input.hidden + 0.5)
    essences = sum(not row.goals for row in rows)
    return batch._replace(held=torch.arange(3.0 * essences, device=lm.device).reshape(essences, 3))


def check(batch: SearchBatch, rows: Sequence[SearchRow], *, continued: bool) -> None:
    """Everything in a batch is that of its rows."""
    assert batch.rows == list(rows) and batch.requests.tolist() == [row.request for row in rows]
    begins = [row.subject if continued else 0 for row in rows]
    assert batch.lengths == tuple(len(row.ids) - begin for row, begin in zip(rows, begins, strict=True))
    assert batch.ids.shape == batch.mask.shape == (len(rows), max(batch.lengths))
    reads = []
    for n, (row, begin) in enumerate(zip(rows, begins, strict=True)):
        own = batch.ids[n][batch.mask[n].bool()].tolist()
        assert own == list(row.ids[begin:]) and batch.layer_input.hidden[n, : len(own), 0].tolist() == own
        assert batch.subjects[n] == row.subject - begin
        if batch.prefix is not None:
            assert int(batch.prefix.lengths[n]) == begin and batch.prefix.past.layers[0].keys.shape[0] == len(rows)
        reads += [(n, place - begin, token, row.share) for place, token in row.goals or ((row.subject, -1),)]
    assert batch.at.tolist() == [[n, place] for n, place, *_ in reads]
    assert batch.reads == (tuple(r[0] for r in reads), tuple(r[1] for r in reads))
    assert batch.goals.tolist() == [r[2] for r in reads]
    assert batch.shares.tolist() == pytest.approx([r[3] for r in reads])
    assert batch.essence.tolist() == [n for n, r in enumerate(reads) if r[2] == -1]


@pytest.mark.parametrize("continued", [True, False])
def test_a_batch_is_made_of_its_rows_and_so_is_what_is_left_of_it(continued: bool) -> None:
    lm = make("llama")
    rows = search_rows(lm)
    batch = batch_of(lm, rows, continued=continued)
    check(batch, rows, continued=continued)
    assert (batch.prefix is not None) == continued and batch.upper is None and not batch.tried
    essences = [row for row in rows if not row.goals]
    for stay in ([0], [2, 3, 4], [1, 5, 8], list(range(len(rows)))):
        left = keep_rows(batch._replace(tried=True), stay)
        check(left, [rows[n] for n in stay], continued=continued)
        wanted = [essences.index(row) for row in left.rows if not row.goals]
        assert left.held is not None and left.held.tolist() == batch.held[sorted(wanted)].tolist()  # type: ignore[index]
        assert left.tried


def test_reads_of_several_batches_are_theirs_one_after_the_other() -> None:
    lm = make("llama")
    rows = search_rows(lm)
    parts = [rows[6:], rows[:2], rows[2:6]]
    batches = [batch_of(lm, part) for part in parts]
    reads, (single,) = SearchReads.of(batches), [SearchReads.of([batch_of(lm, [row for p in parts for row in p])])]
    for name in ("requests", "owners", "goals", "shares", "essence"):
        assert torch.equal(getattr(reads, name), getattr(single, name)), name
    assert reads.owners.shape == reads.goals.shape and len(reads.requests) == len(rows)
    held = [b.held for b in batches if b.held is not None]
    assert reads.held is not None and torch.equal(reads.held, torch.cat(held))
    assert SearchReads.of([batches[0]._replace(held=None)]).held is None


def test_a_pass_that_was_too_large_is_taken_apart() -> None:
    lm = make("llama")
    rows = search_rows(lm)
    one, two = batch_of(lm, rows[:5]), batch_of(lm, rows[5:])
    assert apart([one, two]) == [[one], [two]]
    (first,), (second,) = apart([one])
    check(first, rows[:2], continued=True)
    check(second, rows[2:5], continued=True)
