"""Boundaries and subject places, found by characters."""

from __future__ import annotations

import random

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from evaluation.models.tokenization import common_prefix, encode_at, encode_target
from schemas.core.errors import UserError
from tests.support.tiny import TEXT, tokenizer

PLACES = {
    "inside": ("The capital of Peru is", "Peru"),
    "at the start": ("Peru is a country", "Peru"),
    "at the end": ("Fly to Peru", "Peru"),
    "several words": ("The Gulf of Guinea is wide", "Gulf of Guinea"),
    "letters of several bytes": ("He was born in São Tomé, a city", "São Tomé"),
    "before a bracket": ("Go (to Peru) now", "Peru"),
}


@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize("name", PLACES)
def test_last_token_of_the_subject(name: str, bos: bool) -> None:
    text, subject = PLACES[name]
    end = text.index(subject) + len(subject)
    position = encode_at(tokenizer(bos), text, end=end)
    spans = tokenizer(bos)(text, return_offsets_mapping=True)["offset_mapping"]
    begin, stop = spans[position.last]
    assert begin < end <= stop


def test_no_subject() -> None:
    with pytest.raises(UserError, match="no token of the subject"):
        encode_at(tokenizer(True), "Peru", end=0)


@pytest.mark.parametrize("separator", [" ", "\n", ' "', " (", ""])
def test_target_begins_where_its_characters_begin(separator: str) -> None:
    prompt = encode_target(tokenizer(False), "Fly to the city:", "Lima", separator=separator)
    text = tokenizer(False).decode(list(prompt.target))
    assert text.endswith("Lima") and text.strip(' "(\n') == "Lima"
    assert tokenizer(False).decode(list(prompt.ids)) == f"Fly to the city:{separator}Lima"


@pytest.fixture(scope="module")
def sentencepiece_like() -> PreTrainedTokenizerFast:
    """Spaces written as a mark at the front of words, a start and an end token added: another family's habits."""
    tok = Tokenizer(models.BPE(unk_token="<unk>"))
    tok.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<s>", "</s>", "<unk>"]
    tok.train_from_iterator(TEXT, trainers.BpeTrainer(vocab_size=300, special_tokens=special, show_progress=False))
    pair = [("<s>", 0), ("</s>", 1)]
    tok.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=pair)
    return PreTrainedTokenizerFast(tokenizer_object=tok, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


@pytest.mark.parametrize("target", ["Lima", "São Tomé"])
def test_the_same_on_a_tokenizer_of_another_family(sentencepiece_like: PreTrainedTokenizerFast, target: str) -> None:
    tok = sentencepiece_like
    prompt = encode_target(tok, "The capital of Peru is", target)
    assert prompt.specials == 1 and not prompt.straddles
    assert prompt.ids[0] == 0 and prompt.ids[-1] != 1  # the end token is no part of the text
    assert "".join(tok.convert_ids_to_tokens(list(prompt.target))).replace("▁", " ").strip() == target
    position = encode_at(tok, "The capital of Peru is", end=len("The capital of Peru"))
    assert "".join(tok.convert_ids_to_tokens(list(position.ids[1 : position.last + 1]))).endswith("Peru")


def test_empty_target() -> None:
    with pytest.raises(ValueError, match="no token of the text"):
        encode_target(tokenizer(False), "Fly to", "", separator=" ")


def test_common_prefix_is_what_a_look_at_each_item_finds() -> None:
    draw = random.Random(5)
    for _ in range(2000):
        rows = [tuple(draw.choices((1, 2), (9, 1), k=draw.randint(0, 9))) for _ in range(draw.randint(1, 4))]
        want = 0
        while all(len(row) > want for row in rows) and len({row[want] for row in rows}) == 1:
            want += 1
        assert common_prefix(rows) == want, rows
