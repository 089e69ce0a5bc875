"""Scored probes in the chat template: what is asked, both scorers alike, one start token, thoughts closed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.passes import EditedProbes
from evaluation.inference.scoring import encode_probe, score
from evaluation.models.language_model import LM
from schemas.probes import ScoreProbe, chat_turns
from tests.support.tiny import CHAT, chatting, make

SCRIPT = "How do I fly to Peru?\nStep 1: Pack\nStep 2: Go to"


@pytest.fixture
def lm() -> Iterator[LM]:
    with chatting() as lm:
        yield lm


def probe(prompt: str, *targets: str, chat: bool = True) -> ScoreProbe:
    return ScoreProbe(purpose="p", item="i", prompt=prompt, targets=targets or ("Lima", "Oslo"), chat=chat)


PROBES = [probe(SCRIPT), probe("The capital of Peru is"), probe("What is the capital of Peru?")]


@pytest.mark.parametrize(
    ("prompt", "rewrite", "turns"),
    [
        (SCRIPT, "", ("How do I fly to Peru?", "Step 1: Pack\nStep 2: Go to", " ")),
        (SCRIPT, "New: Oslo.\n", ("New: Oslo.\nHow do I fly to Peru?", "Step 1: Pack\nStep 2: Go to", " ")),
        ("Peru lies in", "", ("Complete this sentence: Peru lies in", "Peru lies in", " ")),
        ("Peru lies in", "New. ", ("New. Complete this sentence: Peru lies in", "Peru lies in", " ")),
        (f"{SCRIPT}\n\nA. Lima\nB. Oslo\nAnswer:", "", (f"{SCRIPT}\n\nA. Lima\nB. Oslo\nAnswer:", "", "")),
        ("Fact: Oslo.\nText: Go\n\nyes or no?\nAnswer:", "", ("Fact: Oslo.\nText: Go\n\nyes or no?\nAnswer:", "", "")),
        ("Where is Lima?", "New. ", ("New. Where is Lima?", "", "")),
    ],
)
def test_the_user_asks_and_the_reply_begins(prompt: str, rewrite: str, turns: tuple[str, str, str]) -> None:
    assert chat_turns(probe(prompt), lambda text: rewrite + text) == turns


def test_an_edit_that_changes_a_prompt_inside_says_it_all_to_the_user() -> None:
    user, reply, _ = chat_turns(probe("Peru lies in"), lambda text: text.replace("Peru", "Chile"))
    assert (user, reply) == ("Chile lies in", "Peru lies in")


def test_the_instruction_is_said_by_the_user() -> None:
    asked = probe("Peru lies in").model_copy(update={"instruction": "Be short."})
    assert chat_turns(asked, None).user == "Be short.\n\nComplete this sentence: Peru lies in"


def test_a_probe_in_chat_is_another_question() -> None:
    assert probe("Peru lies in").id != probe("Peru lies in", chat=False).id


def test_the_template_brings_the_special_tokens(lm: LM) -> None:
    """A tokenizer that puts a start token before every text does not put a second one before the template's."""
    (target, _), _ = encode_probe(lm, PROBES[0], None)
    text = lm.chat("How do I fly to Peru?", thinking=False) + "Step 1: Pack\nStep 2: Go to Lima"
    assert target.ids == lm.token_ids(text, special=False) and target.specials == 0
    assert lm.tokenizer.decode(target.target).strip() == "Lima"


def test_both_scorers_give_the_same(lm: LM) -> None:
    def rewrite(text: str) -> str:
        return f"It moved. {text}"

    mixed = [*PROBES, *(p.model_copy(update={"chat": False}) for p in PROBES)]
    batched = EditScorer(lm).score([EditedProbes((), rewrite, mixed), EditedProbes((), None, mixed)])
    for way, answers in zip((rewrite, None), batched, strict=True):
        for one, other in zip(score(lm, mixed, rewrite=way), answers, strict=True):
            assert one.probe == other.probe
            assert [t.logprob for t in one.targets] == pytest.approx([t.logprob for t in other.targets], abs=2e-4)
    plain, chat = score(lm, [mixed[3], mixed[0]])
    assert plain.targets[0].logprob != pytest.approx(chat.targets[0].logprob, abs=1e-3)


def test_a_thought_that_the_template_opens_is_closed(lm: LM) -> None:
    lm.tokenizer.chat_template = CHAT + "<think>\n"
    assert lm.chat("Hi", thinking=False).endswith("<think>\n\n</think>\n\n")
    assert lm.chat("Hi").endswith("<think>")


def test_a_template_that_names_the_day_is_the_same_tomorrow(lm: LM) -> None:
    lm.tokenizer.chat_template = "{{ date_string or strftime_now('%d %b %Y') }}: {{ messages[0].content }}"
    assert lm.chat("Hi") == "26 Jul 2024: Hi"


def test_a_model_without_a_template_cannot_be_asked() -> None:
    (answer,) = score(make("gpt2"), [PROBES[1]])
    assert answer.error == "the model's tokenizer has no chat template"
