from __future__ import annotations

from schemas.cases import Case
from tests.support.facts import peru_fact


def test_a_case_is_known_by_all_of_its_material() -> None:
    case = Case(key="case/1", fact=peru_fact())
    assert Case(key="case/1", fact=peru_fact(paraphrases=())).id != case.id
    assert case.model_copy(update={"key": "case/2"}).id == Case(key="case/2", fact=peru_fact()).id != case.id
