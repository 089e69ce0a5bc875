"""Words as numbers and values on the disk: the same as what memory would hold."""

from __future__ import annotations

import resource
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.similarity.vocabulary import Words
from schemas.core.errors import UserError


def check_numbers(words: list[str], numbers: list[int]) -> None:
    """Each word has one number and each number one word; they go from the rarest word to the most frequent one."""
    pairs, often = set(zip(words, numbers, strict=True)), Counter(words)
    assert len(pairs) == len(often) and {number for _, number in pairs} == set(range(len(often)))
    in_order = [often[word] for word, _ in sorted(pairs, key=lambda pair: pair[1])]
    assert in_order == sorted(in_order)


def numbers_of(words: list[str], **memory: int) -> list[int]:
    method = Words(**memory)
    for word in words:
        method.add(word)
    assert method.total == len(words)
    return [n for part in method.numbers() for n in part.tolist()]


@settings(max_examples=60, deadline=None)
@given(
    words=st.lists(st.text("abcé東 ", min_size=1, max_size=3), max_size=60),
    held=st.integers(1, 20),
    portion=st.integers(1, 30),
)
def test_words_are_numbered_by_how_often_they_come(words: list[str], held: int, portion: int) -> None:
    numbers = numbers_of(words, held=held, portion=portion)
    check_numbers(words, numbers)
    assert numbers == numbers_of(words), "whatever is held in memory"
    backwards = dict(zip(words[::-1], numbers_of(words[::-1]), strict=True))
    assert numbers == [backwards[word] for word in words], "equally frequent words too, whatever their order"


def test_more_words_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [str(n % 7) for n in range(50)]
    want = numbers_of(words)
    monkeypatch.setattr("curation.similarity.vocabulary._KNOWN", 3)
    assert numbers_of(words) == want
    check_numbers(words, want)


def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(UserError, match="a temporary file cannot be written.*TMPDIR") as error:
            words = Words(held=2000)
            for n in range(20_000):
                words.add(str(n))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "\n" not in str(error.value)
