from __future__ import annotations

import pytest

from construction.documents.checks.base import ProbeInputs
from construction.documents.checks.probe_stands_alone import ProbeStandsAlone
from tests.support.documents.records import make_document, make_probe

KEPT = [
    "When did the Orla Bridge open?",
    "Who designed the bridge over the Sele?",
    "Which bridge was opened by its designer?",  # "its" is the answer's
    "___ designed a bridge in her last year.",
    "What is the bridge that Brun designed made of?",
    "Name the series that combines drama and crime.",
    "Brun designed it in which year?",  # the document spells Brun with a capital inside a sentence
    "Where does the city centre begin?",
]
DROPPED = {
    "According to the text, when did the Orla Bridge open?": "the text",
    "Who is mentioned above?": "mentioned above",
    "When did it open?": "it",
    "He designed ___.": "He",
    "Who designed the bridge?": "the bridge",
    "In May the film was shown in ___.": "the film",  # a month is no name
}


@pytest.mark.parametrize("query", KEPT)
def test_a_probe_with_a_name_stands_alone(query: str) -> None:
    assert ProbeStandsAlone().judge_one(_inputs(query)).label == "keep"


@pytest.mark.parametrize(("query", "pointer"), DROPPED.items())
def test_a_probe_that_points_at_nothing_is_dropped(query: str, pointer: str) -> None:
    verdict = ProbeStandsAlone().judge_one(_inputs(query))
    (span,) = verdict.spans
    assert verdict.label == "drop" and span.text == query[span.start : span.end] == pointer


def _inputs(query: str) -> ProbeInputs:
    text = "The Orla Bridge opened in 1931. It was designed by Brun."
    return ProbeInputs(document=make_document(text=text), probe=make_probe(query, "x", level=2))
