from __future__ import annotations

from evaluation.editors.in_context.retrieval import said_before
from evaluation.metrics.documents import answer_probe, text_probe, written_probe
from evaluation.metrics.generation import DocumentChoice, prompt_of
from schemas.probes import instructed
from tests.support.documents.records import make_document, make_probe

PROBE = make_probe("The Orla Bridge opened in ___, before the war.")


def test_a_probe_is_asked_by_the_published_template() -> None:
    probe = answer_probe(PROBE, DocumentChoice())
    assert instructed(probe, None) + probe.separator + probe.targets[0] == (
        "Directly answer the question.\n\nQuestion: The Orla Bridge opened in ___, before the war.\n"
        "Answer: The Orla Bridge opened in 1931"
    )
    assert probe.greedy and probe.targets == ("1931",)


def test_in_context_the_document_stands_between_instruction_and_question() -> None:
    before = said_before(make_document())
    prompt = instructed(answer_probe(PROBE, DocumentChoice()), lambda prompt: before + prompt)
    assert prompt.startswith(
        "Directly answer the question.\n\nThe Orla Bridge opened in 1931. Ada Brun designed it.\n\nQuestion: The"
    )


def test_without_hint_and_instruction() -> None:
    choice = DocumentChoice(hint=False, instruction="")
    assert instructed(answer_probe(PROBE, choice), None) == prompt_of(PROBE.query, choice).text
    assert prompt_of(PROBE.query, choice).text.endswith("before the war.\nAnswer:")


def test_a_written_answer_has_the_same_prompt_and_ends_with_its_line() -> None:
    probe, scored = written_probe(PROBE, DocumentChoice(answer_tokens=7)), answer_probe(PROBE, DocumentChoice())
    assert instructed(probe, None) == instructed(scored, None) and probe.stop == ("\n",) and probe.most == 7


def test_a_document_is_asked_after_its_first_word() -> None:
    probe = text_probe(make_document(text="Orla  opened\nin 1931."))
    assert probe is not None and (probe.prompt, probe.separator, probe.targets) == (
        "Orla",
        "  ",
        ("opened\nin 1931.",),
    )
    assert text_probe(make_document(text="Orla")) is None and not probe.greedy and not probe.instruction
