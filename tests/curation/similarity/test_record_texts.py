from __future__ import annotations

import pytest

from curation.similarity.record_texts import case_records, group_of, record_text
from schemas.cases import Case
from schemas.core.errors import UserError
from tests.support.arithmetic import make_case
from tests.support.curation.rule_records import EDIT, LINK, P0, Q0, S0


def test_each_kind_is_compared_by_its_own_text() -> None:
    assert record_text(Q0) == Q0.text and record_text(P0) == P0.text
    assert record_text(S0) == "Pack\nFly to Lima"
    assert record_text(EDIT) == "The capital of Peru is Lima"
    with pytest.raises(UserError, match="a neighbour has no text to compare; allowed: question, fact, prompt, script"):
        record_text(LINK)


def test_a_record_that_cases_share_comes_once_and_neighbours_stay_out() -> None:
    case = make_case("Peru")
    twice = [case, Case(**{**dict(case), "key": "case/again"})]
    assert list(case_records(twice, "prompt")) == list(case.prompts)
    assert list(case_records(twice, "fact")) == [case.fact]
    with pytest.raises(UserError, match="a split's cases hold no script; allowed: question, prompt, fact"):
        list(case_records(twice, "script"))


@pytest.mark.parametrize(
    ("scope", "groups"), [("all", ["", "", ""]), ("fact", [EDIT.key] * 3), ("relation", ["P36"] * 3)]
)
def test_inside_which_group(scope: str, groups: list[str]) -> None:
    assert [group_of(r, scope, {EDIT.key: "P36"}) for r in (EDIT, Q0, P0)] == groups


def test_a_script_does_not_say_its_fact() -> None:
    assert group_of(S0, "all", {}) == ""
    with pytest.raises(UserError, match="a script does not say which fact it belongs to; compare all: --within all"):
        group_of(S0, "fact", {})
    assert group_of(Q0, "relation", {}) == "", "a fact that is not there is in no relation"
