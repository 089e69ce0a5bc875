"""How texts are drawn, and what of it is refused."""

from __future__ import annotations

import pytest

from evaluation.metrics.generation import Generation, GenerationChoice
from evaluation.runs.plan import load_metrics
from schemas.core.errors import UserError
from schemas.probes import GenerateProbe
from tests.support.arithmetic import make_case


def test_choices_reach_the_probes() -> None:
    choice = GenerationChoice(temperature=0.5, top_p=0.8, samples=3, max_tokens=40, step_tokens=7, chat="never")
    script, rest = load_metrics(["script_format", "s_es_gen"], Generation(choice, "digest"))
    probes = script.probes(make_case("Peru"))
    assert len(probes) == 6 and len({p.seed for p in probes}) == 6 and len({p.id for p in probes}) == 6
    assert {(p.most, p.top_p, p.chat, p.temperature) for p in probes} == {(40, 0.8, "never", 0.5)}
    assert {p.most for p in rest.probes(make_case("Peru"))} == {7}
    (reloaded, _) = load_metrics(["script_format", "es"], Generation(choice, "another"))
    assert reloaded.probes(make_case("Peru"))[0].seed != probes[0].seed


def test_stop_texts_reach_scripts_and_make_them_other_questions() -> None:
    """Without any the probe is the one of earlier versions, so that stored answers stay theirs."""
    ids = []
    for stop in ((), ("Step 10",)):
        script, rest = load_metrics(["script_format", "s_es_gen"], Generation(GenerationChoice(stop=stop), "digest"))
        (probe, *_) = script.probes(make_case("Peru"))
        assert probe.stop == stop and {p.stop for p in rest.probes(make_case("Peru"))} == {("\n",)}
        ids.append(probe.id)
    assert ids[0] != ids[1] and ids[0] == GenerateProbe.model_validate({**probe.model_dump(), "stop": ()}).id
    with pytest.raises(ValueError, match="at least 1 character"):
        GenerationChoice(stop=("",))


def test_an_unknown_way_of_writing_is_refused() -> None:
    from schemas.core.config import validate

    with pytest.raises(UserError, match="chat"):
        validate(GenerationChoice, {"chat": "sometimes"}, where="generation")
