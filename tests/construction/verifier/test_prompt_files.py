"""The verifier's prompt files."""

from __future__ import annotations

import json

import pytest

from benchmarks.checks.leak_benchmark import leak_prompts
from benchmarks.checks.script_benchmark import fresh_scripts, labelled_scripts, later_scripts, tuning_scripts
from construction.llm.prompt_text import find_quote
from construction.verifier.prompt_files import load_verify
from schemas.core.errors import UserError


@pytest.mark.parametrize("profile", ["paper", "local", "embedded"])
def test_the_examples_obey_the_rules_and_are_none_of_the_labelled_ones(profile):
    """A quote of an example stands in its text, and nobody learns the answers of the study from the prompt."""
    wording = load_verify("leak", profile)
    words = {p.words.text.casefold() for p in leak_prompts() if p.words}
    for example in wording.examples:
        reply = json.loads(example.assistant)
        for quote in reply.get("quotes") or [reply.get("quote", "none")]:
            assert quote in ("none", []) or find_quote(example.user, quote), quote
            assert not any(w in quote.casefold() for w in words)
        assert not any(p.question in example.user for p in leak_prompts())


def test_an_unknown_profile_is_answered():
    with pytest.raises(UserError, match="did you mean 'paper'"):
        load_verify("leak", "papr")


def test_small_models_get_short_wordings_without_the_example_of_an_article():
    """Such a model repeated that example of every prompt, right or wrong; the embedded one says "yes" of all."""
    wording = load_verify("cut", "local")
    replies = [json.loads(example.assistant) for example in wording.examples]
    assert sorted(reply["next"] for reply in replies) == ["no", "no", "yes", "yes"]
    assert not any("article" in reply["why"] for reply in replies) and "article" not in wording.system
    assert any("article" in json.loads(example.assistant)["why"] for example in load_verify("cut", "paper").examples)
    for task in ("leak", "depends", "cut"):
        local, paper = load_verify(task, "local"), load_verify(task, "paper")
        assert len(local.system) < len(paper.system) and (local.reply_tokens or 0) < (paper.reply_tokens or 0)


def test_the_examples_of_the_local_wording_are_none_of_the_labelled_scripts():
    questions = {s.question for s in (*labelled_scripts(), *tuning_scripts(), *later_scripts(), *fresh_scripts())}
    texts = [example.user for example in load_verify("cut", "local").examples]
    assert texts and not any(question in text for question in questions for text in texts)
