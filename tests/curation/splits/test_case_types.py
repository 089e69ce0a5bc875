from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from curation.splits.split_file import CaseStream, header_type, make_split, one_type
from schemas.cases import CASE_TYPES, Case, read_case
from schemas.core.errors import DataError, UserError
from tests.support.events import event_case
from tests.support.facts import peru_fact

FACT, EVENT = Case(key="case/f", fact=peru_fact()), event_case()


@pytest.mark.parametrize("case", [FACT, EVENT])
def test_a_case_is_read_back_as_what_it_was(case: Case) -> None:
    text = case.model_dump_json()
    assert read_case(text) == read_case(text.encode()) == case
    assert CASE_TYPES[case.request.kind] is type(case)


def test_a_fact_that_speaks_of_a_type_stays_a_fact() -> None:
    case = Case(key="case/f", fact=peru_fact(prompt='The "type" of {} is'))
    assert read_case(case.model_dump_json()) == case


@pytest.mark.parametrize("names", ["document", 3, None, ["event"]])
def test_a_case_of_an_unknown_type_is_no_case(names: object) -> None:
    data = {**EVENT.payload(), "type": names}
    with pytest.raises(ValidationError):
        read_case(json.dumps(data))


def test_cases_of_one_split_are_of_one_type() -> None:
    assert one_type({"event"}, "s") == "event" and one_type((), "s") == "fact"
    with pytest.raises(UserError, match="several types .event, fact.; .*one type a split; make a split of each"):
        make_split("s", [FACT, EVENT])


def test_a_header_without_a_type_is_of_facts() -> None:
    assert header_type({}, "h") == "fact" and header_type({"type": "event"}, "h") == "event"
    with pytest.raises(DataError, match="h: cases of the type 'poem' are not known; .*fact, event, document; upgrade"):
        header_type({"type": "poem"}, "h")


def test_what_works_on_facts_says_so() -> None:
    assert make_split("mine", [FACT]).cases == (FACT,)
    with pytest.raises(UserError, match="mine@1.0.0: this works on edits of facts, and the split's edits are events"):
        _ = make_split("mine", [EVENT]).cases


def test_a_stream_reads_anew_each_time() -> None:
    passes = []

    def read():  # type: ignore[no-untyped-def]
        passes.append(1)
        return iter([FACT, EVENT])

    stream = CaseStream(2, read)
    assert len(stream) == 2 and not passes
    assert [*stream, *stream] == [FACT, EVENT] * 2 and stream[1] == EVENT and stream[-2] == FACT
    assert stream[:1] == (FACT,) and len(passes) == 5
    with pytest.raises(IndexError):
        stream[2]
