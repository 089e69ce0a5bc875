"""A growing text ends at its first stop, at an end token or for want of room, with tokenizers of every family."""

from __future__ import annotations

import json
import random
from types import SimpleNamespace
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from evaluation.inference.text_ending import GrowingText, TextEnding
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
def test_the_first_stop_of_the_text_ends_it(kind: str) -> None:
    tok, rng, reasons = made(kind), random.Random(7), {"eos": 0, "stop": 0, "length": 0}
    ordinary = [n for n in range(len(tok)) if n != tok.eos_token_id]
    for _ in range(100):
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
        row = GrowingText(model(tok), max_tokens=40, stop=stop)
        for n in range(1, count + 1):
            ending = row.ended(ids[:n])
            assert ending == (want if n == count else None), (stop, n, count)
        reasons[want.reason] += 1
    assert min(reasons.values()) > 5, reasons


def test_an_empty_stop_ends_at_once_and_room_ends_a_text() -> None:
    tok = tokenizer(False)
    ids = tok(TEXT[0], add_special_tokens=False)["input_ids"]
    assert GrowingText(model(tok), max_tokens=9, stop=("",)).ended(ids[:1]) == TextEnding("", "stop")
    ending = GrowingText(model(tok, limit=10), max_tokens=9, prompt=6).ended(ids[:4])
    assert ending is not None and ending.reason == "length"
