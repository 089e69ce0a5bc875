"""The token boundary, for tokenizers of three kinds trained on the spot."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from curation.checks.store_checks import due, make_checks, run_check
from evaluation.checks.token_boundary import TokenBoundary, boundary_faults
from evaluation.models.tokenization import encode_target
from schemas.core.errors import ModelError
from tests.support.scripted_scorer import NORTH, PERU, VISIT, filled, prompt
from tests.support.tiny import TEXT, tokenizer


@cache
def wordpiece() -> Any:
    tok = Tokenizer(models.WordPiece(unk_token="[UNK]"))  # type: ignore[call-arg]
    tok.normalizer = normalizers.BertNormalizer(lowercase=False)  # type: ignore[assignment]
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()  # type: ignore[assignment]
    special = ["[UNK]", "[CLS]", "[SEP]"]
    tok.train_from_iterator(
        TEXT, trainers.WordPieceTrainer(vocab_size=300, special_tokens=special, show_progress=False)
    )
    tok.post_processor = processors.TemplateProcessing(  # type: ignore[assignment]
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tok, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]")


@cache
def unigram() -> Any:
    tok = Tokenizer(models.Unigram())
    tok.pre_tokenizer = pre_tokenizers.Metaspace()  # type: ignore[assignment]
    tok.decoder = decoders.Metaspace()  # type: ignore[assignment]
    trainer = trainers.UnigramTrainer(
        vocab_size=200, special_tokens=["<unk>", "<s>"], unk_token="<unk>", show_progress=False
    )
    tok.train_from_iterator(TEXT, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tok, unk_token="<unk>", bos_token="<s>")


@cache
def greedy() -> Any:
    """A BPE without pre-tokenisation, so that merges cross the spaces: what the audit is for."""
    tok = Tokenizer(models.BPE())
    texts = ["fly to Lima", "flag (Oslo", "fly to Lima", "come back to (Oslo"] * 20
    tok.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=120, show_progress=False))
    return PreTrainedTokenizerFast(tokenizer_object=tok)


KINDS = {"bpe": lambda: tokenizer(False), "bpe with a start": lambda: tokenizer(True)}
KINDS |= {"wordpiece": wordpiece, "unigram": unigram}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("separator", [" ", " (", "\n", ' "'])
def test_usual_boundaries_are_clean(kind: str, separator: str) -> None:
    tok = KINDS[kind]()
    faults = boundary_faults(
        tok, "Step 1: Book a flight. Step 2: Fly to", ["Lima", "Oslo", "Quito"], separator=separator
    )
    assert [f for f in faults if "unknown" not in f.what] == []


def test_a_token_over_the_boundary() -> None:
    (fault,) = boundary_faults(tokenizer(False), "The cap", ["ital"], separator="")
    assert "one token holds" in fault.what and fault.target == "ital"
    assert (fault.start, fault.end) == (fault.start, len("The cap"))
    (quoted,) = boundary_faults(greedy(), "flag", ["Oslo"], separator=" (")
    assert "with characters before the object" in quoted.what


def test_agrees_with_the_scorers_own_boundary() -> None:
    for tok in (tokenizer(False), tokenizer(True), unigram(), greedy()):
        for text, target, separator in [("The cap", "ital", ""), ("fly to", "Lima", " "), ("flag", "Oslo", " (")]:
            straddles = encode_target(tok, text, target, separator=separator).straddles
            is_merged = any(
                "one token holds" in f.what for f in boundary_faults(tok, text, [target], separator=separator)
            )
            assert is_merged == straddles, (text, tok)


def test_a_prompt_that_changes_when_an_object_follows() -> None:
    tok = Tokenizer(models.BPE({"a": 0, "b": 1, "c": 2, " ": 3, "b ": 4, "ab": 5}, [("b", " "), ("a", "b")]))
    fast = PreTrainedTokenizerFast(tokenizer_object=tok)
    (fault,) = boundary_faults(fast, "ab", ["c"], separator=" ")  # alone: "ab"; with an object: "a", "b ", "c"
    assert fault.what == "the prompt's own tokens change when the object follows"
    assert (fault.start, fault.end) == (0, 2)
    assert boundary_faults(fast, "a", ["c"], separator=" ") == []


def test_unknown_and_empty_objects() -> None:
    assert any("unknown token" in f.what for f in boundary_faults(wordpiece(), "Fly to", ["東京"]))
    (fault,) = boundary_faults(tokenizer(False), "Fly to", [""], separator=" ")
    assert fault.what == "no token of the text belongs to the object"


def test_over_a_store_with_several_tokenizers_and_no_weights(tmp_path: Path) -> None:
    tokenizer(False).save_pretrained(tmp_path / "plain")
    unigram().save_pretrained(tmp_path / "uni")
    cut = prompt(PERU, "The cap", key="cut", separator="", old="ital")
    checks = make_checks(["token_boundary"], models=[str(tmp_path / "plain"), str(tmp_path / "uni")])
    assert [c.model for c in checks] == ["plain", "uni"]
    with filled(tmp_path / "s.duckdb", cut) as store:
        first, second = (run_check(store, check) for check in checks)
        assert first.labels == {"keep": 2, "drop": 1} and second.due == 3
        assert due(store, checks[0]) == [] and due(store, TokenBoundary(model="third")) != []
        verdicts = {v.model: v for v in store.verdicts([cut.id])}
        assert set(verdicts) == {"plain", "uni"}
    plain = verdicts["plain"]
    assert plain.label == "drop" and "'ital'" in plain.reason and plain.by == "token_boundary@1"
    assert plain.spans[0].end == len(cut.text) and cut.text.endswith(plain.spans[0].text)


def test_objects_are_the_prompts_and_the_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from evaluation.checks import token_boundary

    records: dict[str, list[str]] = {}
    monkeypatch.setattr(
        token_boundary, "boundary_faults", lambda _, text, targets, **more: records.update({text: targets}) or []
    )
    with filled(tmp_path / "s.duckdb") as store:
        run_check(store, TokenBoundary(model="m", tokenizer=tokenizer(False)))
    assert records == {VISIT.text: ["Lima", "Oslo"], NORTH.text: ["Oslo", "Quito"]}


def test_refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "empty").mkdir()
    for name in ("empty", "absent"):
        check = TokenBoundary(model=str(tmp_path / name))
        with (
            filled(tmp_path / f"{name}.duckdb") as store,
            pytest.raises(ModelError, match="cannot be|no readable|no such folder"),
        ):
            run_check(store, check)
