"""Freezing with errata carried over, comparing with the rule's reasons, and releasing under a version that holds."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from curation.rules.release import compare, freeze, freeze_with_report, note_published, release
from curation.rules.rule import SplitRule
from curation.rules.selection import block_of
from curation.splits.split_file import make_split
from curation.splits.versions import Erratum
from curation.store.store import Store
from schemas.cases import Case
from schemas.core.errors import UserError
from tests.support.curation.rule_records import CHAINS, EDIT, P0, P1, Q0, S0, said
from tests.support.facts import peru_fact


@pytest.fixture
def store(two_edits: Path) -> Iterator[Store]:
    with Store.open(two_edits, write=True) as opened:
        yield opened


CUT = Erratum(item=P0.key, what="cut in a word", date="2026-11-21")
RELEASED: dict[str, Any] = {"release": {"date": "2026-11-20"}, "errata": [CUT.model_dump(mode="json")]}


def test_reasons_come_from_the_rule(store: Store) -> None:
    old = freeze(store, "mine", SplitRule())
    store.put([said(P0.id, "leak@1", "drop"), said(P1.id, "leak@1", "drop")])
    comparison = compare(store, old, freeze(store, "mine", SplitRule(), version="2.0.0"))
    (change,) = comparison.changes
    assert (change.key, change.what) == (f"case/{EDIT.key}", "dropped")
    assert "has 0 script prompts, the rule wants 1 (leak drops the prompt" in change.reason


def test_edits_are_decided_in_blocks_and_not_change_by_change(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    old = freeze(store, "mine", SplitRule())
    store.put([said(EDIT.id, "leak@1", "drop"), said(P0.id, "leak@1", "drop")])
    new = make_split("mine", [Case(key="case/f/old", fact=peru_fact("f/old"))], details={"rule": old.header["rule"]})
    blocks = Mock(side_effect=block_of)
    monkeypatch.setattr("curation.rules.explain.block_of", blocks)
    assert len(compare(store, old, new).of("dropped")) == len(old.cases) == 2 and blocks.call_count == 1


def test_the_next_version_says_where_its_rule_differs_and_who_wrote_it(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    old = freeze(store, "mine", SplitRule(min_prompts=2), version="1.0.0-candidate")
    details = {"rule": old.header["rule"], "written_by": "a model"}
    store.put_split(make_split("mine", old.cases, version="1.0.0", details=details))
    freeze(store, "mine", SplitRule(min_prompts=2), version="1.1.0-candidate")
    assert "the rule is not that of" not in caplog.text
    new = freeze(store, "mine", SplitRule(unsure="keep"), version="1.1.0-candidate.2")
    expected = 'the rule is not that of mine@1.1.0-candidate: unsure is "keep", was "hold"; min_prompts is 1, was 2'
    assert expected in caplog.text
    assert new.header["written_by"] == "a model"


def test_release_waits_for_people_or_says_why_not(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    freeze(store, "mine", SplitRule(), version="1.0.0-candidate")
    with pytest.raises(UserError, match="waits for a quality sample of 'mine@1.0.0-candidate', and none is drawn"):
        release(store, "mine")
    first = release(store, "mine", without_sample="a rehearsal")
    assert (first.split.version, first.changes) == ("1.0.0", None)
    assert first.split.header["quality"]["without_sample"] == "a rehearsal"
    again = release(store, "mine", without_sample="again")
    assert again.split.header == first.split.header and again.changelog == first.changelog
    assert "released already as mine@1.0.0, which stays as it is" in caplog.text
    with pytest.raises(UserError, match=r"released already as mine@1.0.0"):
        release(store, "mine", version="1.1.0", without_sample="again")
    store.put([said(P0.id, "leak@1", "drop")])
    freeze(store, "mine", SplitRule(), version="1.1.0-candidate")
    with pytest.raises(UserError, match=r"hides a major change .*allowed: 2.0.0"):
        release(store, "mine", version="1.1.0", without_sample="x")
    second = release(store, "mine", without_sample="x")
    header = second.split.header
    assert header["version"] == "2.0.0" and header["release"]["before"]["version"] == "1.0.0"
    assert header["release"]["level"] == "major" and "script prompt dropped" in header["release"]["changelog"]
    assert store.split("mine").header == header, "the release is the highest version"


def test_a_candidate_older_than_the_release_is_refused_and_another_rule_than_its_is_told(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    freeze(store, "mine", SplitRule(), version="1.0.0")
    freeze(store, "mine", SplitRule(min_prompts=2), version="1.1.0-candidate")
    store.put([said(P0.id, "leak@1", "drop")])
    freeze(store, "mine", SplitRule(), version="2.0.0-candidate")
    caplog.clear()
    release(store, "mine", without_sample="a rehearsal")
    assert "the rule is not that of" not in caplog.text
    with pytest.raises(UserError, match=r"frozen as 1\.1\.0-candidate, and 2\.0\.0 is out already.*--version"):
        release(store, "mine@1.1.0-candidate", without_sample="a rehearsal")
    old = release(store, "mine@1.1.0-candidate", version="3.0.0", without_sample="a rehearsal")
    assert old.split.version == "3.0.0"
    assert "the rule is not that of mine@2.0.0: min_prompts is 2, was 1" in caplog.text


def test_a_taken_version_is_refused(store: Store) -> None:
    freeze(store, "mine", SplitRule())
    with pytest.raises(UserError, match="'mine@1.0.0' is frozen already and stays"):
        release(store, "mine", without_sample="x")
    assert release(store, "mine", version="1.0.1", without_sample="x").split.version == "1.0.1"


def test_the_latest_version_before_is_the_highest_not_the_last_by_spelling(store: Store) -> None:
    freeze(store, "mine", SplitRule(), version="1.9.0")
    freeze(store, "mine", SplitRule(), version="1.10.0", errata=(CUT,))
    assert freeze(store, "mine", SplitRule(), version="2.0.0").header["errata"][0]["item"] == P0.key


def test_another_rule_with_the_same_cases_keeps_the_header_and_says_so(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    freeze(store, "mine", SplitRule())
    with caplog.at_level(logging.WARNING):
        freeze(store, "mine", SplitRule())
    assert not caplog.records
    same = freeze(store, "mine", SplitRule(ignore=("nobody",)))
    assert same.header["rule"]["ignore"] == []
    assert "mine@1.0.0 is frozen already" in caplog.text


def test_a_dropped_case_whose_fact_is_gone_and_one_whose_store_changed(two_edits: Path, tmp_path: Path) -> None:
    with Store.open(two_edits, write=True) as store, Store.open(tmp_path / "empty.duckdb", create=True) as empty:
        old = freeze(store, "mine", SplitRule())
        new = freeze(store, "mine", SplitRule(prefix="f/chile"), version="2.0.0")
        (removal,) = compare(store, old, new).of("dropped")
        assert removal.key == f"case/{EDIT.key}" and "f/chile" in removal.reason
        as_before = new._replace(header=old.header)
        assert "the rule would take it now" in compare(store, old, as_before).of("dropped")[0].reason
        assert compare(empty, old, new).of("dropped")[0].reason == "no longer in the store"


def test_a_release_keeps_the_cases_and_carries_errata_on(store: Store) -> None:
    frozen = freeze(store, "mine", SplitRule(), version="1.0.0-candidate", errata=(CUT,))
    first = release(store, "mine", without_sample="x").split
    assert (first.digest, list(first.cases)) == (frozen.digest, list(frozen.cases))
    assert first.header["release"]["frozen_as"] == "mine@1.0.0-candidate"
    assert first.header["errata"] == frozen.header["errata"] and first.header["rule"] == frozen.header["rule"]
    freeze(store, "mine", SplitRule(prefix="f/chile"), version="2.0.0-candidate")
    second = release(store, "mine", version="3.0.0", without_sample="x")
    assert second.split.header["errata"] == first.header["errata"]
    assert second.changes is not None and second.changes.new.version == "3.0.0"
    assert second.split.header["release"]["before"] == {"version": "1.0.0", "digest": first.digest}


def test_errata_of_the_release_before_reach_a_candidate_that_was_frozen_without_them(store: Store) -> None:
    freeze(store, "mine", SplitRule(prefix="f/chile"), version="2.0.0-candidate")
    store.put_split(make_split("mine", [Case(key="case/f/old", fact=peru_fact("f/old"))], details=RELEASED))
    version = release(store, "mine@2.0.0-candidate", without_sample="x").split.header
    assert version["errata"] == RELEASED["errata"] and version["release"]["before"]["version"] == "1.0.0"


@pytest.mark.parametrize("version", ["1.0", "one", ""])
def test_a_release_under_what_is_no_version(store: Store, version: str) -> None:
    freeze(store, "mine", SplitRule(), version="1.0.0-candidate")
    with pytest.raises(UserError, match="is no version"):
        release(store, "mine", version=version, without_sample="x")
    assert len(store.split_names()) == 1


def test_a_version_frozen_under_the_name_is_the_predecessor_even_without_a_release(store: Store) -> None:
    """A plain version may be in people's hands (frozen, exported, published); only candidates promise nothing."""
    freeze(store, "mine", SplitRule())
    store.put([Q0.model_copy(update={"text": "How else?"})])
    store.confirm([Q0.key])
    freeze(store, "mine", SplitRule(), version="1.0.1-candidate")
    with pytest.raises(UserError, match=r"mine 1.0.1 after 1.0.0 hides a major change .*allowed: 2.0.0"):
        release(store, "mine", version="1.0.1", without_sample="x")
    version = release(store, "mine", without_sample="x")
    assert version.split.version == "2.0.0" and version.split.header["release"]["before"]["version"] == "1.0.0"
    assert "question changed" in version.changelog


def test_candidates_of_the_same_version_promise_nothing(store: Store) -> None:
    freeze(store, "mine", SplitRule(), version="1.0.0-candidate")
    store.put([said(P0.id, "leak@1", "drop")])
    freeze(store, "mine", SplitRule(), version="1.0.0-candidate.2")
    assert release(store, "mine", without_sample="x").split.version == "1.0.0"


@pytest.mark.parametrize(("name", "version"), [("../x", "1.0.0"), ("x", "../1"), ("x", "banana"), ("a@b", "1.0.0")])
def test_names_and_versions_are_checked_where_they_are_first_given(store: Store, name: str, version: str) -> None:
    with pytest.raises(UserError, match=r"cannot be the name|is no version"):
        freeze(store, name, SplitRule(), version=version)
    assert store.split_names() == []


def test_questions_without_a_prompt_are_counted_with_their_reason(store: Store) -> None:
    (q2, s2, _), extra = CHAINS[2], Q0.model_copy(update={"key": "f/peru/q9"})
    variant = Q0.model_copy(update={"key": "f/peru/q8"})
    cut = [Q0.model_copy(update={"key": "f/peru/q7"}), S0.model_copy(update={"key": "s7", "question": "f/peru/q7"})]
    store.put([q2, s2, extra, variant, *cut, said(s2.id, "format@1", "drop"), said(variant.id, "leak@1", "drop")])
    outcome = freeze_with_report(store, "mine", SplitRule())
    assert outcome.unprompted == {
        "question without a prompt: no script": 2,  # one of them is the other edit's
        "question without a prompt: its script was dropped by format": 1,
        "question without a prompt: none was cut of its script": 1,
    }
    assert outcome.split.header["counts"]["question: dropped by leak"] == 1


def test_a_threshold_that_takes_out_more_than_a_fifth_is_warned_of(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    rule = SplitRule.model_validate({"thresholds": [{"check": "near", "below": 0.4, "unit": "f"}]})
    store.put([said(P0.id, "near@1", value=0.5)])
    freeze(store, "mine", rule)
    assert "takes out 1 of 3 prompts (33%)" in caplog.text


def test_a_candidate_that_was_published_is_a_predecessor(two_edits: Path) -> None:
    with Store.open(two_edits, write=True) as store:
        candidate = freeze(store, "mine", SplitRule(), version="1.0.0-rc1")
    assert note_published(two_edits, candidate) and note_published(two_edits, candidate)
    assert not note_published(two_edits, candidate._replace(version="7.0.0")), "the store holds no such split"
    assert not note_published(two_edits.with_name("none.duckdb"), candidate)
    with Store.open(two_edits, write=True) as store:
        assert len(list(store.lineages(stage="publish"))) == 1
        store.put([said(P0.id, "leak@1", "drop")])
        freeze(store, "mine", SplitRule(), version="1.0.0-rc2")
        with pytest.raises(UserError, match="hides a major change"):
            release(store, "mine@1.0.0-rc2", version="1.0.0", without_sample="x")
        version = release(store, "mine@1.0.0-rc2", without_sample="x")
        assert version.changes is not None and (version.changes.old.version, version.split.version) == (
            "1.0.0-rc1",
            "2.0.0",
        )
