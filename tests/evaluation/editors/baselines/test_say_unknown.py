"""The control method that answers "unknown", under every engine and regime."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.engines.fast import FastEngine
from evaluation.engines.simple import SimpleEngine
from evaluation.inference.answering import ModelScorer
from evaluation.metrics.event_questions import choice_probes, chosen_option, fact_probe
from evaluation.metrics.generation import EventChoice
from evaluation.regimes.base import RegimeContext
from evaluation.regimes.config import RegimeChoice
from evaluation.regimes.table import make_regime
from tests.support.events import event_case
from tests.support.tiny import make

CASE = event_case()
PROBES = (fact_probe(CASE.facts[0], EventChoice()), *choice_probes(CASE.tendencies[0], EventChoice()))


@pytest.mark.parametrize("regime", ["single", "batch", "sequential"])
@pytest.mark.parametrize("fast", [True, False])
def test_the_answer_is_unknown_and_no_model_is_asked(regime: str, fast: bool, tmp_path: Path) -> None:
    lm = make("gpt2")
    method = make_editor("say_unknown", lm, Cache(tmp_path))
    engine = FastEngine(lm) if fast else SimpleEngine(ModelScorer(lm))
    lm.model.forward = None  # asking it would raise
    choice = RegimeChoice.model_validate({"name": regime, "size": None if regime == "single" else 2})
    cases = [CASE, event_case("case/two")]
    made_regime = make_regime(choice)
    context = RegimeContext(cases, method, engine, ModelScorer(lm), tmp_path, "run")
    results = list(made_regime.run(made_regime.units(cases), lambda unit: PROBES, context))
    assert len(results) >= 2
    for _, result in results:
        assert result.error is None and [a.probe for a in result.answers] == [p.id for p in PROBES]
        assert result.answers[0].written is not None and result.answers[0].written.text == "unknown"
        option = chosen_option(CASE.tendencies[0], {a.probe: a for a in result.answers}, EventChoice())
        assert not isinstance(option, str) and (option.letter, option.mass) == (None, pytest.approx(0.0))
