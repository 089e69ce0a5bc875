"""Every edit has an entry, every length a state; the first entry of an edit stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.inference.scoring import score
from evaluation.regimes.base import edits_digest, edits_digests
from evaluation.regimes.general_texts import general_probes
from evaluation.regimes.sequence_log import FILE, SequenceEntries
from tests.evaluation.regimes.test_sequential import CASES
from tests.evaluation.regimes.test_snapshots import SEQUENCE, folder_of, go
from tests.support.tiny import make

DIGESTS = edits_digests(CASES)


def test_digests_of_all_beginnings_are_those_of_each() -> None:
    assert [edits_digest(CASES[:n]) for n in range(len(CASES) + 1)] == DIGESTS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("log")
    again = {**SEQUENCE, "snapshot_every": 0}  # the second run makes all edits again
    go(out, stop=4, regime=again)
    go(out, fail="Quito", regime=again)
    return folder_of(out)


def test_edits_and_states_are_there(folder: Path) -> None:
    entries = SequenceEntries(folder, DIGESTS)
    assert [(e.after, e.case) for e in entries.edits] == [(n, c.key) for n, c in enumerate(CASES, 1)]
    assert all(e.error is None for e in entries.edits), "of an edit that is made again the first entry stays"
    assert all(e.seconds > 0 and e.processor_seconds > 0 and e.peak_bytes for e in entries.edits)
    assert sorted(entries.states) == [0, 2, 5] and entries.states[0].norms == ()
    (norm,) = entries.states[2].norms
    assert norm.norm > 0 and 0 < norm.ratio < 1 and not norm.routed
    assert entries.states[2].held_bytes == 0, "ft carries nothing on"
    assert sum(b"state" in line for line in (folder / FILE).read_bytes().splitlines()) == 3, "each said once"


def test_texts_of_the_unedited_model_are_as_it_answers(folder: Path) -> None:
    probes = general_probes()
    answers = {p.item: a for p, a in zip(probes, score(make("llama"), list(probes)), strict=True) if a.targets}
    texts = SequenceEntries(folder, DIGESTS).states[0].texts
    assert [text.item for text in texts] == [*answers], "texts that do not fit the tiny model's window are left out"
    for text in texts:
        (target,) = answers[text.item].targets
        assert text.logprob == pytest.approx(target.logprob, abs=1e-3) and text.tokens == target.tokens


def test_other_sequences_are_left_out(folder: Path) -> None:
    entries = SequenceEntries(folder, edits_digests(CASES[::-1]))
    assert entries.edits == [] and sorted(entries.states) == [0]
