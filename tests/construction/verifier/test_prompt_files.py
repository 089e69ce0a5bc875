"""The verifier's prompt files."""

from __future__ import annotations

import json

from benchmarks.checks.leak_benchmark import leak_prompts
from construction.llm.prompt_text import find_quote
from construction.verifier.prompt_files import load_verify


def test_the_examples_obey_the_rules_and_are_none_of_the_labelled_ones():
    """A quote of an example stands in its text, and nobody learns the answers of the study from the prompt."""
    wording = load_verify("leak")
    words = {p.words.text.casefold() for p in leak_prompts() if p.words}
    for example in wording.examples:
        reply = json.loads(example.assistant)
        for quote in (q for reading in reply["readings"] for q in reading["quotes"]):
            assert find_quote(example.user, quote), quote
            assert not any(w in quote.casefold() for w in words)
        assert not any(p.question in example.user for p in leak_prompts())
