"""``edit_format = "chat"``: every method that has it computes edits from the fact prompt as a chat asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluation.editors import EDITORS
from evaluation.editors.base import FactFormat
from evaluation.editors.presets import make_editor
from evaluation.inference.scoring import encode_probe, score
from evaluation.models.language_model import LM
from schemas.core.errors import DataError, ModelError
from schemas.probes import ScoreProbe
from tests.contracts.test_editors import FACTS, PROBES, editor
from tests.support.tiny import chatting, make

WITH_FORMAT = [
    name for name in EDITORS.names() if issubclass(EDITORS.get(name).Params, FactFormat) and name != "mend_doc"
]


@pytest.fixture
def lm() -> Iterator[LM]:
    with chatting() as lm:
        yield lm


def test_a_fact_prompt_has_the_tokens_of_its_probe_in_the_chat(lm: LM) -> None:
    fact = FACTS[0]
    asked = ScoreProbe(
        purpose="fact", item=fact.key, prompt=fact.fact_prompt, targets=(fact.new_object.text,), chat=True
    )
    (probe,), _ = encode_probe(lm, asked, None)
    chat = lm.reading_in_chat()
    assert chat.encode(fact.fact_prompt, fact.new_object.text) == probe
    assert lm.encode(fact.fact_prompt, fact.new_object.text) != probe
    end = fact.fact_prompt.index(fact.subject.text) + len(fact.subject.text)
    placed = chat.encode_at(fact.fact_prompt, end=end)
    assert placed.ids == probe.ids[: probe.first]
    assert lm.tokenizer.decode(placed.ids[: placed.last + 1]).endswith(fact.subject.text)
    assert fact.subject.text not in lm.tokenizer.decode(placed.ids[placed.last + 1 :])  # the reply's, not the user's


@pytest.mark.parametrize("method", WITH_FORMAT)
def test_an_edit_in_the_chat_format_is_another_edit(lm: LM, method: str, tmp_path: Path) -> None:
    before = lm.weights_digest()
    scored = []
    for form in ("raw", "chat"):
        with editor(method, lm, tmp_path, edit_format=form).edit(FACTS[:1]).on(lm):
            scored.append(score(lm, PROBES))
    assert scored[0] != scored[1]
    assert lm.weights_digest() == before and not lm.in_chat


def test_a_model_without_a_chat_template_refuses_it() -> None:
    with pytest.raises(ModelError, match="no chat template"):
        make_editor("ft", make("llama"), overrides={"layer": 0, "edit_format": "chat"})


def test_methods_that_compute_nothing_from_a_prompt_have_no_such_option(lm: LM) -> None:
    with pytest.raises(DataError, match="edit_format: unknown field"):
        make_editor("prompt", lm, overrides={"edit_format": "chat"})
    with pytest.raises(DataError, match="edit_format"):
        make_editor("mend_doc", lm, overrides={"edit_format": "chat"})
