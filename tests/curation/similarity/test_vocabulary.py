"""Words as numbers and values on the disk: the same as what memory would hold."""

from __future__ import annotations

import hashlib
import resource
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.files.disk_list import DiskList
from curation.similarity.vocabulary import Words
from schemas.core.errors import UserError


def numbered(words: list[str]) -> list[int]:
    """The plain twin: every word in a dictionary."""
    often = Counter(words)

    def place(word: str) -> tuple[int, int]:
        return often[word], int.from_bytes(hashlib.blake2b(word.encode("utf-8"), digest_size=8).digest(), "little")

    rank = {word: n for n, word in enumerate(sorted(often, key=place))}
    return [rank[word] for word in words]


@settings(max_examples=60, deadline=None)
@given(
    words=st.lists(st.text("abcé東 ", min_size=1, max_size=3), max_size=60),
    held=st.integers(1, 20),
    portion=st.integers(1, 30),
)
def test_words_are_numbered_as_in_a_dictionary(words: list[str], held: int, portion: int) -> None:
    made = Words(held=held, portion=portion)
    for word in words:
        made.add(word)
    assert [n for part in made.numbers() for n in part.tolist()] == numbered(words)
    assert made.different == len(set(words)) and made.total == len(words)


def test_more_words_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("curation.similarity.vocabulary._KNOWN", 3)
    words = [str(n % 7) for n in range(50)]
    made = Words()
    for word in words:
        made.add(word)
    assert [n for part in made.numbers() for n in part.tolist()] == numbered(words)


@pytest.mark.parametrize("what", ["values", "words"])
def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(UserError, match="a temporary file cannot be written.*TMPDIR") as caught:
            if what == "values":
                DiskList(("x" * 100 for _ in range(100_000)), load=str)
            else:
                words = Words(held=2000)
                for n in range(20_000):
                    words.add(str(n))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "\n" not in str(caught.value)
