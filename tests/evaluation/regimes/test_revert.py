"""A fact edited, edited back and edited again: against edits put on by hand, failing, refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.files.artifact_cache import Cache
from evaluation.analysis.comparison import merge_runs
from evaluation.editors.presets import make_editor
from evaluation.engines.fast import FastEngine
from evaluation.engines.simple import SimpleEngine
from evaluation.inference.answering import ModelScorer
from evaluation.inference.scoring import score
from evaluation.metrics import METRICS
from evaluation.models.language_model import LM
from evaluation.regimes.base import RegimeContext
from evaluation.regimes.config import RegimeChoice
from evaluation.regimes.table import RevertRegime, reverted
from evaluation.report.write import write_report
from evaluation.runs.results import load_run
from schemas.core.errors import UserError
from tests.evaluation.engines.test_fast import OPTIONS
from tests.support.arithmetic import go, make_case
from tests.support.documents.records import document_case

PERU = make_case("Peru")


def test_the_way_back_changes_the_objects_over_and_is_a_request_of_its_own() -> None:
    back = reverted(PERU)
    assert (back.new_object.text, back.old.text) == ("Lima", "Oslo") and back.fact_prompt == PERU.fact.fact_prompt
    assert back.id != PERU.fact.id and len({PERU.fact.id, back.id, PERU.fact.id}) == 2
    chains = {name: RevertRegime(RegimeChoice(name=name)).chain(PERU) for name in ("revert", "reedit")}
    assert [[f.new_object.text for f in chain] for chain in chains.values()] == [
        ["Oslo", "Lima"],
        ["Oslo", "Lima", "Oslo"],
    ]
    keys = {name: RevertRegime(RegimeChoice(name=name)).units([PERU])[0].key for name in ("revert", "reedit")}
    assert len(set(keys.values())) == 2


@pytest.mark.parametrize("engine", ["fast", "simple"])
@pytest.mark.parametrize("name", ["revert", "reedit"])
def test_equals_edits_put_on_by_hand(tiny: LM, cache: Cache, engine: str, name: str, tmp_path: Path) -> None:
    """FT: each edit is searched on the weights that the one before it left, and weights come back bit for bit."""
    digest, scorer = tiny.weights_digest(), ModelScorer(tiny)
    editor = make_editor("ft", tiny, cache, OPTIONS["ft"])
    probes = tuple(METRICS.get("es")().probes(PERU))
    regime = RevertRegime(RegimeChoice(name=name))
    working = FastEngine(tiny) if engine == "fast" else SimpleEngine(scorer)
    context = RegimeContext([PERU], editor, working, scorer, tmp_path, "run")
    ((unit, done),) = regime.run(regime.units([PERU]), lambda u: probes, context)
    assert done.error is None and tiny.weights_digest() == digest and unit.after == (2 if name == "revert" else 3)
    first = editor.edit([PERU.fact])
    with first.on(tiny):
        second = editor.edit([reverted(PERU)])
        with second.on(tiny):
            (by_hand,) = score(tiny, list(probes))
            if name == "reedit":
                with editor.edit([PERU.fact]).on(tiny):
                    (by_hand,) = score(tiny, list(probes))
    values, expected = ([t.logprob for t in a.targets] for a in (done.answers[0], by_hand))
    assert values == pytest.approx(expected, abs=1e-3)


def test_the_old_answer_is_back_and_a_failure_stays_with_its_case(tmp_path: Path) -> None:
    editors = [{"name": "push", "params": {"fail": ["Land01"]}}]
    for regime in ("single", "revert", "reedit"):
        go(tmp_path / regime, metrics=["es"], regime=regime, editors=editors)
    runs = {regime: load_run(tmp_path / regime) for regime in ("single", "revert", "reedit")}
    for run in runs.values():
        errors = {k: r.error for k, r in run.editors[1].results.items() if r.error}
        assert len(errors) == 1 and "cannot edit Land01" in next(iter(errors.values()))
    lifted = {
        name: {a.targets[0].logprob > a.targets[1].logprob for r in run.editors[1].results.values() for a in r.answers}
        for name, run in runs.items()
    }
    assert lifted["single"] == lifted["reedit"] and False in lifted["revert"]
    (merged,) = merge_runs(list(runs.values()))
    assert [e.label for e in merged.editors] == [
        "none", "push (single)", "push (edited and reverted)", "push (edited, reverted, edited again)",
    ]  # fmt: skip
    html = write_report([tmp_path / "revert"]).files[0].read_text(encoding="utf-8")
    assert "each edit made and taken back by another edit, alone" in html and "holds many edits at once" not in html
    assert "edits made at once" not in html


def test_only_facts_can_be_taken_back() -> None:
    regime = RevertRegime(RegimeChoice(name="revert"))
    with pytest.raises(UserError, match="only facts can be edited back"):
        regime.units([document_case()])
