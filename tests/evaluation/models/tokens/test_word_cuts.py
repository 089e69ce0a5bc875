"""Texts in two parts have the tokens of the whole wherever a cut is allowed, and odd tokenizers allow none."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from evaluation.models.tokens.tokenization import EncodedPrompt, PromptTarget, encode_target, encode_targets
from evaluation.models.tokens.word_cuts import TRIALS, word_cuts
from tests.support.tiny import TEXT

LETTERS_AND_DIGITS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
LLAMA_3 = LETTERS_AND_DIGITS + r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN = LLAMA_3.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def bytes_only() -> Any:
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def split(pattern: str) -> Any:
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), bytes_only()])


BY_WORDS: dict[str, Callable[[], Any]] = {
    "gpt2": lambda: pre_tokenizers.ByteLevel(add_prefix_space=False),
    "gpt2 with a space in front": lambda: pre_tokenizers.ByteLevel(add_prefix_space=True),
    "llama 3": lambda: split(LLAMA_3),
    "qwen": lambda: split(QWEN),
    "o200k": lambda: split(O200K),
    "digits": lambda: pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    ),
}

OTHERS: dict[str, Callable[[], Any]] = {
    "marks for spaces": pre_tokenizers.Metaspace,
    "no words at all": bytes_only,
    "pairs of words": lambda: split(r"\S+ \S+|\s+|\S+"),
    "spaces stay behind": lambda: split(r"\S+\s*|\s+"),
    "bytes of a whole line": lambda: split(r"[^\n]+|\n+"),
}


@cache
def made(name: str, *, special: str = "front", composed: bool = False) -> PreTrainedTokenizerFast:
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = {**BY_WORDS, **OTHERS}[name]()
    if composed:
        tok.normalizer = normalizers.NFC()
    tok.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tok.train_from_iterator([*TEXT, *(a + b for a, b in TRIALS)] * 3, trainer)
    single = {"front": "<s> $A", "both": "<s> $A </s>", "none": "$A"}[special]
    tok.post_processor = processors.TemplateProcessing(single=single, special_tokens=[("<s>", 0), ("</s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=tok, bos_token="<s>", eos_token="</s>", pad_token="</s>")


SIGNS = [*"abz ABZ  019.,:;!?'\"()-_/%\n\t", "é", "e\u0301", "ß", "Ж", "日", "ा", "한"]
SIGNS += ["\u00a0", "\u200d", "🙂", "'s", "'ll", " the"]


def random_text(draw: random.Random, most: int) -> str:
    return "".join(draw.choice(SIGNS) for _ in range(draw.randint(0, most)))


@pytest.mark.parametrize("composed", [False, True], ids=["as it is", "composed"])
@pytest.mark.parametrize("special", ["front", "none"])
@pytest.mark.parametrize("name", BY_WORDS)
def test_an_allowed_cut_changes_no_token(name: str, special: str, composed: bool) -> None:
    tok, draw = made(name, special=special, composed=composed), random.Random(name)
    cuts, allowed = word_cuts(tok), 0
    assert cuts.possible
    for _ in range(3000):
        before, after = random_text(draw, 12), " " + random_text(draw, 8)
        if cuts.allow(before, after):
            allowed += 1
            parts = tok(before)["input_ids"] + tok(after, add_special_tokens=False)["input_ids"]
            assert tok(before + after)["input_ids"] == parts, (before, after)
    assert allowed > 200


@pytest.mark.parametrize("name", [*OTHERS, "special tokens at the end"])
def test_other_tokenizers_are_not_cut(name: str) -> None:
    tok = made("gpt2", special="both") if name == "special tokens at the end" else made(name)
    assert not word_cuts(tok).possible and not word_cuts(tok).allow("The capital is", " Lima")


def test_an_added_token_in_a_text_forbids_the_cut() -> None:
    tok = made("qwen")
    assert word_cuts(tok).allow("The capital is", " Lima") and not word_cuts(tok).allow("a <s> b", " Lima")
    assert not word_cuts(tok).allow("The capital is", " Lima </s>")
    fresh = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(tok.backend_tokenizer.to_str()))
    assert word_cuts(fresh).allow("The capital is", " Lima")
    fresh.add_tokens([AddedToken("is Lima")])
    assert fresh("It is Lima")["input_ids"] != fresh("It is")["input_ids"] + fresh(" Lima")["input_ids"]
    assert not word_cuts(fresh).allow("The capital is", " Lima"), "noticed when it was added"


@pytest.mark.parametrize("name", [*BY_WORDS, *OTHERS])
def test_many_targets_of_a_prompt_are_as_one_by_one(name: str) -> None:
    tok, draw = made(name), random.Random(name)
    odd = ["", 'She said "', "São Tom", "a\n\n", "日本 の", "It's 1", "<s> x"]
    prompts = [*TEXT, *odd, *(random_text(draw, 9) for _ in range(60))]
    targets = ["Lima", "é and Príncipe", " Oslo", '"Paris"', "\u0301x", "日本", "", "s", "12", "x </s>"]
    wanted = [PromptTarget(p, t, s) for p in prompts for t in targets for s in (" ", "", "\n", " (")]
    for one, got in zip(wanted, encode_targets(tok, wanted), strict=True):
        try:
            want: EncodedPrompt | None = encode_target(tok, one.prompt, one.target, separator=one.separator)
        except ValueError:
            want = None
        assert got == want, one
