"""ES-gen, PS-gen and NS-gen by hand."""

from __future__ import annotations

import pytest

from tests.support.metrics.text_scores import scored

HAND = [
    pytest.param("es_gen", [" Oslo."], [1.0], id="the new object"),
    pytest.param("es_gen", [" Lima and Oslo"], [0.0], id="the old one first"),
    pytest.param("es_gen", [" a town.\nOslo"], [0.0], id="the next line is another answer"),
    pytest.param("es_gen", [None], [None], id="none written: unscored"),
    pytest.param("ps_gen", [" Oslo", ""], [1.0, 0.0], id="two paraphrases, one empty answer"),
    pytest.param("ns_gen", [" Lima"], [1.0], id="neighbours keep the old object"),
    pytest.param("ns_gen", [" Oslo"], [0.0], id="a neighbour that took the new one"),
    pytest.param("ns_gen", [" Bonn"], [0.0], id="a neighbour that names neither"),
]


@pytest.mark.parametrize(("name", "texts", "values"), HAND)
def test_by_hand(name: str, texts: list[str | None], values: list[float | None]) -> None:
    assert [i.value for i in scored(name, texts).items] == values
