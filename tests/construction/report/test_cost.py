from __future__ import annotations

import pytest

from construction.report.cost import sum_spending
from construction.report.store_funnel import store_yield
from schemas.lineage import Lineage
from tests.support.construction import funnels
from tests.support.construction.funnels import AT

by_hand = funnels.by_hand


def test_costs_are_by_request():
    def line(request, stage="scripts", cost=None, **detail):
        return Lineage(
            item_id=f"i{request}",
            stage=stage,
            made_at=AT,
            model="m",
            request=request,
            tokens_in=10,
            tokens_out=2,
            cost=cost,
            detail=detail,
        )

    lines = [line("a", cost=1.0), line("a", cost=1.0), line("b", "failed", cost=0.5, of="scripts"), line("c", "verify")]
    scripts, verify = sum_spending(lines)
    assert (scripts.stage, scripts.calls, scripts.failed, scripts.tokens_in, scripts.cost) == ("scripts", 2, 1, 20, 1.5)
    assert (verify.stage, verify.calls, verify.cost) == ("verify", 1, None)  # nobody knows what "m" costs


def test_prices_of_ones_own(by_hand, tmp_path):
    table = tmp_path / "prices.toml"
    table.write_text("checked = 2026-11-01\n[models.gpt-4o]\ninput = 3.0\noutput = 1.0\n")
    (expense,) = store_yield(by_hand, prices=table).spending
    assert expense.cost == pytest.approx(12.0)
