from __future__ import annotations

import pytest

from construction.llm.client import Access, Client
from construction.llm.reply_cache import ReplyCache
from curation.files.journal import Journal
from schemas.core.errors import ModelError


@pytest.mark.parametrize(("key", "words"), [("", "is not set"), ("sk-\u00e9", "no key has")])
def test_a_missing_or_odd_key_is_told_by_name(monkeypatch, tmp_path, key, words):
    monkeypatch.setenv("TEST_KEY", key)
    with Journal(tmp_path / "j", write=True) as journal, pytest.raises(ModelError, match=words) as error:
        Client(Access(model="m", key_name="TEST_KEY"), ReplyCache(journal))
    assert "TEST_KEY" in str(error.value) and "sk-" not in str(error.value)


def test_address_has_no_user_name_or_query(tmp_path):
    with Journal(tmp_path / "j", write=True) as journal:
        client = Client(Access(model="m", base_url="http://me:pw@host:9/v1?k=1"), ReplyCache(journal))
    assert client.address == "http://host:9/v1"
