"""Case ids of ScEdit files beside the keys of their facts."""

from __future__ import annotations

from typing import Any

import pytest

from curation.splits.case_ids import case_id_extra, fallback, id_of, number_of

TOLD_BY_THE_KEY = [0, 7, 10**17, "007", "-4", "2.5", "None", "a12", "1\u0663", "12-of-files", "-of-file"]
NOT_TOLD = [
    -4,
    2.5,
    -0.0,
    1e300,
    None,
    True,
    "0",
    "17",
    "a/b",
    "3-of-file",
    [1],
    {"a": 1},
    "3-of-file-of-file",
]


@pytest.mark.parametrize("case_id", TOLD_BY_THE_KEY)
def test_an_id_that_the_key_tells_needs_no_extra(case_id: Any) -> None:
    assert case_id_extra("f", str(case_id), case_id) is None
    assert id_of(str(case_id)) == case_id and type(id_of(str(case_id))) is type(case_id)


@pytest.mark.parametrize("case_id", NOT_TOLD, ids=repr)
def test_another_stands_in_an_extra_with_its_type(case_id: Any) -> None:
    extra = case_id_extra("scedit-cf/x", str(case_id), case_id)
    assert extra is not None and (extra.name, extra.subject_key) == ("case_id", "scedit-cf/x")
    assert repr(extra.value) == repr(case_id)


@pytest.mark.parametrize("text", ["01", "1" * 19, "1\u0663", "\u0661", "-1", "1.0", "", "3-of-file"])
def test_what_is_no_number_of_a_case(text: str) -> None:
    assert number_of(text) is None


def test_a_fallback_is_no_key_of_another_record() -> None:
    taken = {"3-of-file", "3-of-file-of-file"}
    assert fallback(3, taken) == "3-of-file-of-file-of-file" and fallback(4, taken) == "4-of-file"
