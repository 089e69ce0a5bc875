"""Remembered tokens equal those of a call for each text; every text is tokenised once, many in two calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.generation import PromptToContinue, Sampling, generate
from evaluation.inference.request import EditedProbes
from evaluation.models.tokens.encoding_memory import EncodingMemory
from evaluation.models.tokens.tokenization import PromptTarget, encode_target
from evaluation.models.tokens.word_cuts import word_cuts
from schemas.probes import ScoreProbe
from tests.support.tiny import TEXT, make, tokenizer

WANTED = [
    PromptTarget(prompt, target, separator)
    for prompt in (*TEXT, "", 'She said "', "São Tom", "a\n\n", "日本 の")
    for target in ("Lima", "é and Príncipe", " Oslo", '"Paris"', "\u0301x", "日本")
    for separator in (" ", "", "\n")
]


class CountingTokenizer:
    """A tokenizer that counts its calls and the texts in them."""

    def __init__(self, bos: bool = False) -> None:
        self.inner, self.calls, self.texts = tokenizer(bos), 0, 0

    def __call__(self, text: Any, **options: Any) -> Any:
        self.calls, self.texts = self.calls + 1, self.texts + (1 if isinstance(text, str) else len(text))
        return self.inner(text, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize("ahead", [False, True], ids=["one by one", "in a batch"])
def test_the_same_as_a_call_for_each(bos: bool, ahead: bool) -> None:
    memory = EncodingMemory(tokenizer(bos))
    if ahead:
        memory.add(WANTED)
    for one in WANTED * 2:
        want = outcome(lambda one=one: encode_target(tokenizer(bos), one.prompt, one.target, separator=one.separator))
        assert outcome(lambda one=one: memory.encode(one.prompt, one.target, separator=one.separator)) == want


def test_a_text_is_tokenised_once() -> None:
    counting = CountingTokenizer()
    memory = EncodingMemory(counting)
    memory.add([*WANTED, *WANTED])
    cut = [one for one in WANTED if one.separator == " " and word_cuts(counting).allow(one.prompt, f" {one.target}")]
    prompts, rests = {one.prompt for one in cut}, {one.target for one in cut}
    assert counting.calls == 2 and len(cut) > len(prompts) > 2 and len(rests) > 1
    assert counting.texts == len(WANTED) - len(cut) + len(prompts) + len(rests)
    memory.add(WANTED[::-1])
    memory.encode(WANTED[0].prompt, WANTED[0].target)
    assert counting.calls == 2


def test_room_is_kept_and_what_left_is_made_again() -> None:
    counting = CountingTokenizer()
    memory = EncodingMemory(counting, room=60)
    memory.add(WANTED)
    assert 0 < memory._taken <= 60
    assert memory._taken == sum(len(e.ids) if e else 1 for e in memory._encodings.values())
    first, last = WANTED[0], next(reversed(memory._encodings))
    before = counting.calls
    outcome(lambda: memory.encode(last.prompt, last.target, separator=last.separator))
    assert counting.calls == before, "the newest is still there"
    assert memory.encode(first.prompt, first.target, separator=first.separator) == encode_target(
        tokenizer(False), first.prompt, first.target, separator=first.separator
    )
    assert counting.calls == before + 1
    long = EncodingMemory(counting, room=2)
    assert len(long.texts([TEXT[0]])[0]) > 2 and long._taken == 0, "what is larger than all of the room is not kept"


def test_whole_texts() -> None:
    counting = CountingTokenizer(bos=True)
    memory = EncodingMemory(counting, room=10_000)
    for special in (True, False):
        want = [tuple(tokenizer(True)(t, add_special_tokens=special)["input_ids"]) for t in [*TEXT, "", TEXT[0]]]
        assert memory.texts([*TEXT, "", TEXT[0]], special=special) == want
        assert memory.texts(TEXT, special=special) == want[: len(TEXT)]
    assert counting.calls == 2 and memory.texts([]) == []


def test_a_run_tokenises_each_prompt_once() -> None:
    """The second method and the second group find all of them; only what an edit rewrites is new."""
    lm = make("llama")
    counting = CountingTokenizer()
    lm.encodings = EncodingMemory(counting)
    probes = [
        ScoreProbe(purpose="fact", item=f"p{n}", prompt=f"{text} Then", targets=("Lima", "Oslo"))
        for n, text in enumerate(TEXT[:3])
    ]
    scorer = EditScorer(lm)
    batches = [EditedProbes((), None, probes[:2]), EditedProbes((), None, probes)]
    first = scorer.score(batches)
    assert (counting.calls, counting.texts) == (2, 3 + 2), "prompts, and what follows them"
    assert scorer.score(batches) == first and counting.calls == 2
    scorer.score([EditedProbes((), "It is so. {}".format, probes)])
    assert (counting.calls, counting.texts) == (4, 10)
    for _ in range(2):
        generate(lm, [PromptToContinue(TEXT[3]), PromptToContinue(TEXT[4])], sampling=Sampling(1))
    assert (counting.calls, counting.texts) == (5, 12)
