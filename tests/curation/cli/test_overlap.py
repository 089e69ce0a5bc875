"""The commands that look for what items share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from curation.cli import overlap as commands_dedup
from curation.store.store import Store
from tests.support.curation.mini_store import mini_store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mini_store(tmp_path_factory.mktemp("dedup"))


def run(command: object, *args: object) -> str:
    result = CliRunner().invoke(command, [str(a) for a in args], standalone_mode=False, catch_exceptions=False)  # type: ignore[arg-type]
    return result.output


def test_the_command_writes_verdicts_and_judging_again_replaces_them(store: Path) -> None:
    data = json.loads(run(commands_dedup.dedup, "-s", store, "--threshold", 0.6, "--jsonl").splitlines()[0])
    assert data["by"] == "near_duplicate@1" and data["verdicts_written"] == data["items"] > 200
    with Store.open(store) as s:
        one = {v.item_id: v for v in s.verdicts() if v.check == "near_duplicate"}
    assert len(one) == data["items"] and sum(v.value is not None for v in one.values()) == data["duplicates"]
    run(commands_dedup.dedup, "-s", store, "--threshold", 0.9)
    with Store.open(store) as s:
        two = [v for v in s.verdicts() if v.check == "near_duplicate"]
    assert len(two) == len(one), "one current verdict an item"
    assert all(v.value is None or v.value >= 0.9 for v in two)


def test_a_dry_run_writes_nothing_and_shows_clusters(store: Path) -> None:
    with Store.open(store) as s:
        before = s.stats()
    text = run(
        commands_dedup.dedup, "-s", store, "--within", "relation", "--threshold", 0.6, "--split", "mini", "--dry-run"
    )
    assert "nothing written" in text and "stays" in text and "near" not in text.split(";")[1]
    with Store.open(store) as s:
        assert s.stats() == before
