"""The quick check of a growing text says what decoding the whole text after every token says."""

from __future__ import annotations

import json
import random
from types import SimpleNamespace
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from evaluation.inference.stopping import StopCheck, TextEnding
from tests.support.tiny import TEXT, tokenizer

TEXTS = [*TEXT, "Q: Wer? A: niemand.\n\nQ: Où? A: là-bas.\n\n日本 の 首都 は 東京 です。 🙂🙂 don't can't"]


def made(kind: str) -> PreTrainedTokenizerFast:
    """Byte pairs of bytes; words with a space before them and bytes for what is unknown; word pieces."""
    if kind == "bytes":
        return tokenizer(True)
    if kind.startswith("spaces"):
        bpe = Tokenizer(models.BPE(unk_token="<unk>"))
        bpe.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        bpe.train_from_iterator(
            TEXT, trainers.BpeTrainer(vocab_size=160, special_tokens=["<unk>"], show_progress=False)
        )
        report = json.loads(bpe.to_str())["model"]
        alphabet = [f"<0x{n:02X}>" for n in range(256)]
        vocabulary = {token: n for n, token in enumerate([*report["vocab"], *alphabet, "</s>"])}
        inner = Tokenizer(
            models.BPE(vocabulary, [tuple(m) for m in report["merges"]], byte_fallback=True, unk_token="<unk>")
        )
        inner.normalizer = bpe.normalizer
        inner.decoder = decoders.Sequence(
            [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
        )
        if kind == "spaces, bytes skipped":  # the tokenizer's own special tokens, of which transformers knows nothing
            inner.add_special_tokens(alphabet)
        return PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="</s>", unk_token="<unk>")
    inner = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    inner.pre_tokenizer, inner.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    inner.train_from_iterator(
        TEXTS, trainers.WordPieceTrainer(vocab_size=300, special_tokens=["[UNK]", "[SEP]"], show_progress=False)
    )
    return PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="[SEP]", unk_token="[UNK]")


def model(tok: Any, limit: int | None = None) -> Any:
    return SimpleNamespace(tokenizer=tok, limit=limit, model=SimpleNamespace(generation_config=None))


def slowly(tok: Any, ids: list[int], stop: tuple[str, ...], most: int) -> tuple[int, TextEnding]:
    """Every prefix decoded whole: how many tokens, and how it ended."""
    for n in range(1, len(ids) + 1):
        if ids[n - 1] == tok.eos_token_id:
            return n, TextEnding(tok.decode(ids[: n - 1], skip_special_tokens=True), "eos")
        text = tok.decode(ids[:n], skip_special_tokens=True)
        places = [text.find(s) for s in stop if s in text]
        if places:
            return n, TextEnding(text[: min(places)], "stop")
        if n == most:
            return n, TextEnding(text, "length")
    raise AssertionError("too few tokens")


@pytest.mark.parametrize("kind", ["bytes", "spaces", "spaces, bytes skipped", "pieces"])
def test_the_same_as_decoding_everything(kind: str) -> None:
    tok, rng, reasons = made(kind), random.Random(7), {"eos": 0, "stop": 0, "length": 0}
    ordinary = [n for n in range(len(tok)) if n != tok.eos_token_id]
    for _ in range(400):
        text = tok(rng.choice(TEXTS), add_special_tokens=False)["input_ids"]
        begin = rng.randrange(len(text))
        ids = [*text[begin : begin + 25], *rng.choices(ordinary, k=40)]  # text, then anything
        if rng.random() < 0.3:
            ids.insert(rng.randrange(len(ids)), tok.eos_token_id)
        full_text = tok.decode([i for i in ids if i != tok.eos_token_id], skip_special_tokens=True)
        stops = []
        for _ in range(rng.randrange(3)):
            at = rng.randrange(len(full_text))
            stops.append(full_text[at : at + rng.choice((1, 2, 5, 12))])
        stops += rng.sample(["\n\n", "Q:", " ", "\ufffd", "é", "東京", "nowhere"], rng.randrange(2))
        stop = tuple(s for s in stops if s)
        count, want = slowly(tok, ids, stop, 40)
        check = StopCheck(model(tok), max_tokens=40, stop=stop)
        for n in range(1, count + 1):
            ending = check.ended(ids[:n], prompt=3)
            assert ending == (want if n == count else None), (stop, n, count)
        reasons[want.reason] += 1
    assert min(reasons.values()) > 20, reasons


def test_few_tokens_are_decoded() -> None:
    """The work of a token does not grow with the row."""

    class Counting:
        def __init__(self, inner: Any) -> None:
            self.inner, self.longest, self.calls = inner, 0, 0

        def decode(self, ids: Any, **options: Any) -> Any:
            self.calls, self.longest = self.calls + 1, max(self.longest, len(ids))
            return self.inner.decode(ids, **options)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.inner, name)

    tok = Counting(tokenizer(False))
    ids = tokenizer(False)(" ".join(TEXT), add_special_tokens=False)["input_ids"]
    check = StopCheck(model(tok), max_tokens=10_000, stop=("\n\n",))
    for n in range(1, len(ids) + 1):
        assert check.ended(ids[:n], prompt=0) is None
    assert len(ids) > 100 and tok.longest <= 12 and tok.calls <= len(set(ids))


def test_an_empty_stop_ends_at_once_and_room_ends_a_text() -> None:
    tok = tokenizer(False)
    ids = tok(TEXT[0], add_special_tokens=False)["input_ids"]
    assert StopCheck(model(tok), max_tokens=9, stop=("",)).ended(ids[:1], prompt=1) == TextEnding("", "stop")
    ending = StopCheck(model(tok, limit=10), max_tokens=9).ended(ids[:4], prompt=6)
    assert ending is not None and ending.reason == "length"
