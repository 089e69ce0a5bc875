from __future__ import annotations

import logging

import pytest

from construction.llm.reply_cache import ReplyCache, StoredOutcome
from construction.mentions.rules import RULES, rules_of, settle_rules
from curation.files.journal import Journal

REPLY = StoredOutcome(kind="reply", raw="{}", at="2026-01-01T00:00:00Z")


@pytest.fixture
def cache(tmp_path):
    with Journal(tmp_path / "j.jsonl", write=True) as journal:
        yield ReplyCache(journal)


def test_a_new_journal_follows_the_present_rules_and_keeps_them(cache):
    assert rules_of(cache) == settle_rules(cache) == RULES == 6
    cache.put("llm/1", REPLY)
    assert rules_of(cache) == settle_rules(cache) == RULES


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_a_journal_begun_under_earlier_rules_keeps_them(cache, caplog, version):
    cache.note("rules/mentions", version)
    cache.put("llm/1", REPLY)
    with caplog.at_level(logging.WARNING):
        assert rules_of(cache) == settle_rules(cache) == version
    assert f"version {version}" in caplog.text


def test_a_journal_with_replies_and_no_note_goes_on_with_the_first_rules(cache, caplog):
    cache.put("llm/1", REPLY)
    with caplog.at_level(logging.WARNING):
        assert settle_rules(cache) == settle_rules(cache) == 1
    assert "version 1" in caplog.text
    assert [key for key, _ in cache.notes("rules/")] == []  # an old journal is left as it is


def test_replies_of_a_verifier_begin_no_construction(cache):
    cache.put("llm/1", REPLY.model_copy(update={"raw": '{"why": "", "quotes": ["\\"question\\": Rome"]}'}))
    cache.put("llm/2", REPLY.model_copy(update={"raw": "I cannot say"}))
    assert rules_of(cache) == settle_rules(cache) == RULES
    cache.put("llm/3", REPLY.model_copy(update={"raw": '```json\n{"questions": []}'}))
    assert rules_of(cache) == RULES, "the note holds"


def test_an_unknown_note_is_not_believed(cache):
    cache.note("rules/mentions", 99)
    assert rules_of(cache) == RULES
    cache.put("llm/1", REPLY)
    assert rules_of(cache) == 1
