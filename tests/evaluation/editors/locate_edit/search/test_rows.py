"""The rows of a value search: what is predicted where, each goal's share, and which requests are searched together."""

from __future__ import annotations

import pytest

from evaluation.editors.locate_edit.search.rows import SearchRow, cost_of, groups, rows_of
from evaluation.inference.batching import TokenBudget
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from schemas.facts import Entity, Object
from tests.support.editors.edit_requests import CONTEXTS, NORWAY, PERU
from tests.support.facts import peru_fact


def text_of(lm: LM, ids: tuple[int, ...]) -> str:
    return str(lm.tokenizer.decode(ids, skip_special_tokens=True))


@pytest.mark.parametrize("fact", [PERU, NORWAY], ids=["subject in front", "subject in the middle"])
def test_every_template_asks_for_the_new_object(tiny: LM, fact: object) -> None:
    *rows, _ = rows_of(tiny, 3, fact, CONTEXTS)  # type: ignore[arg-type]
    assert [(r.request, r.template) for r in rows] == [(3, 0), (3, 1), (3, 2)]
    for row, context in zip(rows, CONTEXTS, strict=True):
        places, tokens = zip(*row.goals, strict=True)
        ids = (*row.ids, tokens[-1])
        assert text_of(tiny, ids) == f"{context[:-2]}{fact.fact_prompt} {fact.new_object.text}"  # type: ignore[attr-defined]
        assert text_of(tiny, tokens).strip() == fact.new_object.text  # type: ignore[attr-defined]
        assert [ids[place + 1] for place in places] == list(tokens), "a place predicts the token after it"
        assert list(places) == list(range(places[0], len(row.ids)))
        assert text_of(tiny, row.ids[: row.subject + 1]).endswith(fact.subject.text)  # type: ignore[attr-defined]
        assert row.subject <= places[0], "δ stands before what it is to change"


def test_shares_are_one_in_all_however_long_the_object_is(tiny: LM) -> None:
    for name in ("a", "São Tomé", "a town of many rivers and markets"):
        rows = rows_of(tiny, 0, peru_fact(new=Object(text=name)), CONTEXTS)
        assert sum(r.share * len(r.goals) for r in rows) == pytest.approx(1.0)
        assert len({r.share for r in rows if r.goals}) == 1


def test_the_essence_prompt_is_read_and_asked_for_nothing(tiny: LM) -> None:
    essence = rows_of(tiny, 0, NORWAY, CONTEXTS[:1])[-1]
    assert (essence.template, essence.goals, essence.share) == (-1, (), 0.0)
    assert text_of(tiny, essence.ids) == "Norway" and essence.subject == len(essence.ids) - 1
    braces = rows_of(tiny, 0, peru_fact(subject=Entity(text="{} of {}")), CONTEXTS[:1])[-1]
    assert text_of(tiny, braces.ids) == "{} of {}", "a subject is text, not a template"


def test_a_fact_without_a_new_object_is_refused(tiny: LM) -> None:
    with pytest.raises(UserError, match="new object"):
        rows_of(tiny, 0, peru_fact(new=None), CONTEXTS)


def row(request: int, length: int, *, subject: int = 0, goals: int = 0) -> SearchRow:
    return SearchRow(request, 0, tuple(range(length)), subject, tuple((n, n) for n in range(goals)), 0.0)


def test_a_row_costs_what_follows_the_subject_and_half_a_token_a_goal() -> None:
    assert [cost_of(row(0, 10, subject=4, goals=g)) for g in (0, 1, 2, 3)] == [6, 7, 7, 8]
    assert cost_of(row(0, 5, subject=4)) == 1


@pytest.mark.parametrize(
    ("costs", "want"),
    [
        pytest.param([], [], id="nothing to search"),
        pytest.param([5], [[0]], id="one request"),
        pytest.param([10, 10], [[0, 1]], id="exactly two passes' worth"),
        pytest.param([10, 11], [[0], [1]], id="one token more"),
        pytest.param([50, 1, 1], [[0], [1, 2]], id="one above the bound stands alone"),
        pytest.param([1, 1, 50], [[0, 1], [2]], id="the bound is not passed for it"),
        pytest.param([8, 8, 8, 8, 8], [[0, 1], [2, 3], [4]], id="as they come"),
    ],
)
def test_requests_are_grouped_in_order_by_cost(costs: list[int], want: list[list[int]]) -> None:
    batches = list(groups([[row(n, cost)] for n, cost in enumerate(costs)], TokenBudget(10)))
    assert [[r.request for r in group] for group in batches] == want


def test_rows_of_a_request_stay_together() -> None:
    rows = [[row(n, 4), row(n, 4), row(n, 4)] for n in range(4)]
    for tokens in (1, 7, 12, 100):
        batches = list(groups(rows, TokenBudget(tokens)))
        assert [r for group in batches for r in group] == [r for value in rows for r in value]
        assert all(sum(r.request == n for r in group) in (0, 3) for group in batches for n in range(4))
