from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

from evaluation.metrics import METRICS
from evaluation.metrics.document_answers import (
    GroupMatch,
    KnownHopMatch,
    LocalityMatch,
    NamedAnswer,
    NamedHop,
    NamedKnownHop,
    PreferredHop,
    PreferredScriptHop,
    WrittenMatch,
    WrittenMatchLiteral,
    WrittenMatchNew,
    WrittenOverlap,
    WrittenOverlapLiteral,
    WrittenOverlapNew,
    answer_words,
    overlap,
)
from evaluation.metrics.documents import (
    SEVERAL_BLANKS,
    AnswerPerplexity,
    AnswerPerplexityLevel1,
    AnswerPerplexityLiteral,
    AnswerPerplexityNew,
    DocumentPerplexity,
    ExactMatch,
    ExactMatchLevel1,
    ExactMatchLevel2,
    ExactMatchLevel3,
    ExactMatchNew,
    SpecificityMatch,
    SpecificityPerplexity,
    answer_probe,
    preference_probe,
    read_answers,
    text_probe,
    written_probe,
)
from evaluation.metrics.generation import DocumentChoice, Generation, SharedQuestions
from schemas.answers import Answer, GeneratedText, TargetScore
from schemas.cases import DocumentCase
from schemas.documents.statement import GROUPS, KEPT
from schemas.probes import instructed
from tests.support.documents.grouped import CHOICE, answer, grouped_answers, grouped_case, premise_answers, probe_of
from tests.support.documents.records import BRIDGE, document_case, make_document, make_probe
from tests.support.documents.shared import make_shared


def answered(
    case: DocumentCase, message: Mapping[str, tuple[float, int, bool]], *, greedy: bool = False
) -> dict[str, Answer]:
    """Answers by probe: (log-probability, tokens, greedy) by query; -1 of one token where nothing is said."""
    out = {}
    for probe in case.probes:
        logprob, tokens, right = message.get(probe.query, (-1.0, 1, greedy))
        probes = answer_probe(probe, CHOICE)
        score = TargetScore(text=probe.answer, logprob=logprob, tokens=tokens, greedy=right)
        out[probes.id] = Answer(probe=probes.id, targets=(score,))
    return out


def wrote(case: DocumentCase, texts: Mapping[str, str]) -> dict[str, Answer]:
    """Written answers by probe, by query."""
    out = {}
    for probe in case.probes:
        if probe.query in texts:
            probes = written_probe(probe, CHOICE)
            text = GeneratedText(text=texts[probe.query], tokens=3, ended="stop")
            out[probes.id] = Answer(probe=probes.id, written=text)
    return out


CASE = document_case(
    probes=(make_probe(), make_probe("From ___ to ___."), make_probe("Why?", level=None), make_probe("It is ___."))
)


def test_several_blanks_are_asked_nothing_and_counted_as_unscored() -> None:
    metric = ExactMatch()
    assert [p.item for p in metric.probes(CASE)] == [p.key for p in CASE.probes if p.blanks < 2]
    scores = metric.score(CASE, answered(CASE, {}), {}, "mean")
    assert [i.reason for i in scores.items if i.value is None] == [SEVERAL_BLANKS] and len(scores.items) == 4


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "no answer"),
        (Answer(probe="p", error="too long"), "too long"),
        (Answer(probe="p", error="too long", truncated=True), "truncated: too long"),
        (Answer(probe="p"), "the answer has other targets than the probe"),
    ],
)
def test_an_answer_that_is_none_says_why(answer: Answer | None, reason: str) -> None:
    probe = answer_probe(CASE.probes[0], ExactMatch().choice)
    assert read_answers(probe, {} if answer is None else {probe.id: answer}) == ((), reason)


ONE = document_case()


TWO = document_case("case/two", probes=(make_probe("Two? ___", "1931", document=BRIDGE),))


OPENED, YEAR, WHO, WHAT = (p.query for p in ONE.probes)


AFTER = answered(ONE, {OPENED: (-0.1, 2, True), YEAR: (-0.5, 1, True), WHO: (-3.0, 3, False)}) | answered(TWO, {})


@pytest.mark.parametrize(
    ("metric", "mean", "probes"),
    [(ExactMatch, 2 / 5, 5), (ExactMatchLevel1, 1 / 2, 2), (ExactMatchLevel2, 1 / 2, 2), (ExactMatchLevel3, 0.0, 1)],
)
def test_pooled_over_probes_not_documents(metric: type[ExactMatch], mean: float, probes: int) -> None:
    instance = metric()
    summary = instance.summarise([instance.score(case, AFTER, {}, "mean") for case in (ONE, TWO)])
    assert (summary.mean, summary.items, summary.level, summary.unit) == (mean, probes, "question", "fraction")


def test_what_the_model_knew_before_does_not_count_as_new() -> None:
    before = answered(ONE, {OPENED: (-0.1, 2, True)})
    metric = ExactMatchNew()
    items = metric.score(ONE, AFTER, before, "mean").items
    assert [(i.item, i.value) for i in items] == [
        (ONE.probes[1].key, 1.0),
        (ONE.probes[2].key, 0.0),
        (ONE.probes[3].key, 0.0),
    ]
    (item, *_) = metric.score(ONE, AFTER, {}, "mean").items
    assert item.value is None and item.reason == "before the edit: no answer"


CASE_GROUPS = grouped_case()


@pytest.mark.parametrize("group", GROUPS)
def test_every_group_has_a_metric_that_asks_its_probes_alone(group: str) -> None:
    metric = METRICS.get(f"em_{group}")()
    assert isinstance(metric, GroupMatch)
    items = metric.score(CASE_GROUPS, grouped_answers(CASE_GROUPS, {group: (False, True)}), {}, "mean").items
    assert [(item.item, item.value) for item in items] == [(probe_of(CASE_GROUPS, group).key, 1.0)]
    (item,) = metric.score(CASE_GROUPS, grouped_answers(CASE_GROUPS, {}), {}, "mean").items
    assert item.value == 0.0
    (item,) = metric.score(CASE_GROUPS, {}, {}, "mean").items
    assert (item.value, item.reason) == (None, "no answer")


def test_what_must_stay_is_no_part_of_em() -> None:
    told = answered(CASE_GROUPS, {}, greedy=True)
    metric = ExactMatch()
    items = metric.score(CASE_GROUPS, told, {}, "mean").items
    assert {i.item for i in items} == {p.key for p in CASE_GROUPS.probes if p.group not in KEPT}
    assert LocalityMatch.role == "document_locality" and len(items) == len(GROUPS) - len(KEPT)


@pytest.mark.parametrize(
    ("known", "value"),
    [
        ([(False, True), (True,)], 1.0),
        ([(True, True), (False,)], None),
        ([(False, False), (True,)], None),
    ],
)
def test_a_hop_counts_where_every_premise_was_known_before(known: list[tuple[bool, ...]], value: float | None) -> None:
    after = grouped_answers(CASE_GROUPS, {"hop": (True, False)}) | premise_answers(
        CASE_GROUPS, [(False, False), (False,)]
    )
    items = KnownHopMatch().score(CASE_GROUPS, after, premise_answers(CASE_GROUPS, known), "mean").items
    assert [i.value for i in items] == ([] if value is None else [value])


CASE_GROUPS_NAMED = grouped_case()


HOP = probe_of(CASE_GROUPS_NAMED, "hop").query


@pytest.mark.parametrize("group", sorted(set(GROUPS) - {"persona", "script_hop"}))
def test_every_group_of_plain_questions_has_a_metric(group: str) -> None:
    metric = METRICS.get(f"named_{group}")()
    assert isinstance(metric, NamedAnswer)
    told = wrote(CASE_GROUPS_NAMED, {probe_of(CASE_GROUPS_NAMED, group).query: " I think it is SORNES, by the sea."})
    assert [i.value for i in metric.score(CASE_GROUPS_NAMED, told, {}, "mean").items] == [1.0]


@pytest.mark.parametrize(
    ("text", "value"),
    [(" Sorne.", 1.0), ("In Sorne\nor Lund", 1.0), ("Sorner", 0.0), ("Lund\nSorne", 0.0), ("", 0.0)],
)
def test_whole_words_of_the_first_line(text: str, value: float) -> None:
    (item,) = NamedHop().score(CASE_GROUPS_NAMED, wrote(CASE_GROUPS_NAMED, {HOP: text}), {}, "mean").items
    assert item.value == value


def test_hops_whose_premises_were_known() -> None:
    after, metric = wrote(CASE_GROUPS_NAMED, {HOP: "Sorne"}), NamedKnownHop()
    known = premise_answers(CASE_GROUPS_NAMED, [(True, False), (True,)])
    assert [i.value for i in metric.score(CASE_GROUPS_NAMED, after, known, "mean").items] == [1.0]
    unknown = premise_answers(CASE_GROUPS_NAMED, [(False, False), (True,)])
    assert metric.score(CASE_GROUPS_NAMED, after, unknown, "mean").items == ()
    (item,) = metric.score(CASE_GROUPS_NAMED, after, {}, "mean").items
    assert item.value is None and item.reason.startswith("before the edit")
    assert [p.ask for p in metric.probes(CASE_GROUPS_NAMED)] == ["generate", "score", "score"]


SCRIPT = "How to pay in Rovo?\n1. Find a shop.\n2. Pay in ___"


CASE_GROUPS_PREFERRED = grouped_case()


ASKED = preference_probe(probe_of(CASE_GROUPS_PREFERRED, "hop"), CHOICE)


@pytest.mark.parametrize(
    ("logprobs", "value", "tie"), [((-1.0, -2.0), 1.0, False), ((-2.0, -1.0), 0.0, False), ((-1.0, -1.0), 0.0, True)]
)
def test_strictly_more_probable(logprobs: tuple[float, float], value: float, tie: bool) -> None:
    told = {ASKED.id: answer(ASKED, (None, None), logprobs)}
    (item,) = PreferredHop().score(CASE_GROUPS_PREFERRED, told, {}, "mean").items
    assert (item.value, item.tie, ASKED.targets) == (value, tie, ("Sorne", "Lund"))


def test_probes_that_do_not_say_what_was_right_before_are_not_asked() -> None:
    probes = tuple(p.model_copy(update={"old_answer": None}) for p in CASE_GROUPS_PREFERRED.probes)
    case = grouped_case(probes=probes)
    assert PreferredHop().probes(case) == [] and PreferredHop().score(case, {}, {}, "mean").items == ()
    (item,) = PreferredHop().score(CASE_GROUPS_PREFERRED, {}, {}, "mean").items
    assert (item.value, item.reason) == (None, "no answer")


def test_a_script_is_continued_as_it_is() -> None:
    probe = make_probe(SCRIPT, "yen", key="d/bridge/1", level=None, group="script_hop", old_answer="euro")
    (asked,) = PreferredScriptHop().probes(grouped_case(probes=(probe,)))
    assert asked.prompt == SCRIPT.removesuffix(" ___") and asked.separator == " " and asked.instruction == ""
    glued = probe.model_copy(update={"query": "Go.\n1. Say '___'"})
    (asked,) = PreferredScriptHop().probes(grouped_case(probes=(glued,)))
    assert (asked.prompt, asked.separator) == ("Go.\n1. Say '", "")


TWO_PERPLEXITY = document_case("case/two", probes=(make_probe("Two ___"),))


OPENED, YEAR, WHO, WHAT = (p.query for p in ONE.probes)


TOLD = {OPENED: (-2.0, 4, True), YEAR: (-1.0, 1, False), WHO: (-6.0, 2, False), WHAT: (-1.0, 2, False)}


AFTER_PERPLEXITY = answered(ONE, TOLD) | answered(TWO_PERPLEXITY, {"Two ___": (-2.0, 1, False)})


def test_per_token_over_all_probes_of_all_documents() -> None:
    """-(−2 −1 −6 −1 −2) over 4 + 1 + 2 + 2 + 1 tokens: no mean of means."""
    metric = AnswerPerplexity()
    summary = metric.summarise([metric.score(case, AFTER_PERPLEXITY, {}, "mean") for case in (ONE, TWO_PERPLEXITY)])
    assert summary.mean == pytest.approx(math.exp(12 / 10)) and summary.unit == "perplexity" and summary.half is None
    assert summary.ends is None, "two documents are too few for an interval"
    one = AnswerPerplexityLevel1()
    assert one.summarise(
        [one.score(c, AFTER_PERPLEXITY, {}, "sum") for c in (ONE, TWO_PERPLEXITY)]
    ).mean == pytest.approx(math.exp(4 / 5))


def test_literal_probes_and_those_that_the_model_did_not_know_alone() -> None:
    loose = make_probe("The bridge was opened in ___.", "1931", document=ONE.document.key)
    case = document_case(probes=(*ONE.probes, loose))
    after = answered(case, TOLD)
    literal = [p.key for p in case.probes if p.level == 1 and p is not loose]
    assert [i.item for i in AnswerPerplexityLiteral().score(case, after, {}, "mean").items] == literal
    before = answered(case, {OPENED: (-2.0, 4, True)})
    metric = AnswerPerplexityNew()
    scores = metric.score(ONE, answered(ONE, TOLD), before, "mean")
    assert metric.summarise([scores]).mean == pytest.approx(math.exp(8 / 5)), "the first probe does not count"
    (first, *_) = metric.score(ONE, AFTER_PERPLEXITY, {}, "mean").items
    assert first.value is None and first.reason == "before the edit: no answer"


def test_a_document_is_one_item_and_one_of_one_word_is_none() -> None:
    metric = DocumentPerplexity()
    probe = text_probe(ONE.document)
    assert probe is not None and metric.probes(ONE) == [probe]
    score = TargetScore(text=probe.targets[0], logprob=-18.0, tokens=12)
    scores = metric.score(ONE, {probe.id: Answer(probe=probe.id, targets=(score,))}, {}, "mean")
    assert [(i.value, i.weight) for i in scores.items] == [(1.5, 12.0)]
    short = document_case(document=make_document(text="Orla"))
    assert not metric.probes(short) and not metric.score(short, {}, {}, "mean").items


PROBE = make_probe("The Orla Bridge opened in ___, before the war.")


def test_a_probe_is_asked_by_the_published_template() -> None:
    probe = answer_probe(PROBE, DocumentChoice())
    assert instructed(probe, None) + probe.separator + probe.targets[0] == (
        "Directly answer the question.\n\nQuestion: The Orla Bridge opened in ___, before the war.\n"
        "Answer: The Orla Bridge opened in 1931"
    )
    assert probe.greedy and probe.targets == ("1931",)


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


CASE_SPECIFICITY = document_case()


def said(shared: SharedQuestions, values: list[tuple[float, int, bool]]) -> dict[str, Answer]:
    """Answers to the first questions: log-probability, tokens, greedy."""
    return {
        probe.id: Answer(
            probe=probe.id,
            targets=(TargetScore(text=probe.targets[0], logprob=value, tokens=tokens, greedy=greedy),),
        )
        for probe, (value, tokens, greedy) in zip(shared.probes, values, strict=False)
    }


def test_pooled_over_questions() -> None:
    shared = make_shared(3)
    generation, after = Generation(shared=shared), said(shared, [(-1.0, 2, True), (-3.0, 1, False), (-2.0, 3, True)])
    match, perplexity = SpecificityMatch(generation), SpecificityPerplexity(generation)
    assert match.summarise([match.score(CASE_SPECIFICITY, after, {}, "mean")]).mean == pytest.approx(2 / 3)
    summary = perplexity.summarise([perplexity.score(CASE_SPECIFICITY, after, {}, "mean")])
    assert summary.mean == pytest.approx(math.exp(6 / 6)) and summary.unit == "perplexity"


def test_a_case_whose_state_was_asked_with_another_has_no_item_and_a_lost_answer_is_unscored() -> None:
    shared = make_shared(3)
    match = SpecificityMatch(Generation(shared=shared))
    assert match.score(CASE_SPECIFICITY, {}, {}, "mean").items == ()
    items = match.score(CASE_SPECIFICITY, said(shared, [(-1.0, 2, True), (-1.0, 2, False)]), {}, "mean").items
    assert [(i.value, i.reason) for i in items] == [(1.0, ""), (0.0, ""), (None, "no answer")]


def test_without_questions_nothing_is_asked() -> None:
    assert SpecificityMatch().probes(CASE_SPECIFICITY) == []


CASE_WRITTEN = document_case()


OPENED, YEAR, WHO, WHAT = (p.query for p in CASE_WRITTEN.probes)


SAID = {OPENED: " 1931.", YEAR: " in 1931\nQuestion:", WHO: " brun", WHAT: " An ORLA bridge, of steel"}


@pytest.mark.parametrize(
    ("message", "words"),
    [("The U.S.", ["u", "s"]), (" a bridge\u2014an arch", ["bridge", "arch"]), ("the", []), ("Ólafur", ["olafur"])],
)
def test_case_articles_and_punctuation_are_folded(message: str, words: list[str]) -> None:
    assert answer_words(message) == words


def test_the_first_line_counts_and_the_best_accepted_answer() -> None:
    answers = wrote(CASE_WRITTEN, SAID)
    exact = [i.value for i in WrittenMatch().score(CASE_WRITTEN, answers, {}, "mean").items]
    assert exact == [1.0, 0.0, 1.0, 0.0]
    shared = [i.value for i in WrittenOverlap().score(CASE_WRITTEN, answers, {}, "mean").items]
    assert shared == pytest.approx([1.0, 2 / 3, 1.0, 2 * 2 / (4 + 2)])


def test_overlap_counts_words_as_often_as_they_stand_there() -> None:
    assert overlap("no no no", "no") == pytest.approx(2 * 1 / 4) and overlap("", "no") == 0.0


@pytest.mark.parametrize(
    ("said", "right", "value"),
    [
        ("", "A", 0.0),  # of blood groups, the answer
        (" ...", "the", 0.0),
        (" an", "A", 0.0),
        (" A.", "a", 1.0),
        ("", "+", 0.0),
        (" \u2605", "\u2605", 1.0),
        (" -", "+", 0.0),
        ("", "Who", 0.0),
        (" the Who", "A Who", 1.0),
    ],
)
def test_an_answer_of_an_article_or_a_sign_alone_is_not_given_by_writing_nothing(
    said: str, right: str, value: float
) -> None:
    assert WrittenMatch().likeness(said, right) == overlap(said, right) == value


def test_literal_probes_and_those_that_the_model_did_not_write_alone() -> None:
    answers, before = wrote(CASE_WRITTEN, SAID), wrote(CASE_WRITTEN, {**SAID, YEAR: " 1931", WHO: " Bo"})
    exact = [(i.item, i.value) for i in WrittenMatchNew().score(CASE_WRITTEN, answers, before, "mean").items]
    assert exact == [(CASE_WRITTEN.probes[2].key, 1.0), (CASE_WRITTEN.probes[3].key, 0.0)]
    shared = [i.value for i in WrittenOverlapNew().score(CASE_WRITTEN, answers, before, "mean").items]
    assert shared == pytest.approx([1.0, 2 / 3])
    (first, *_) = WrittenOverlapNew().score(CASE_WRITTEN, answers, {}, "mean").items
    assert first.value is None and first.reason == "before the edit: no answer"
    literal = [p.key for p in CASE_WRITTEN.probes if p.level == 1]
    for metric in (WrittenMatchLiteral(), WrittenOverlapLiteral()):
        assert [i.item for i in metric.score(CASE_WRITTEN, answers, {}, "mean").items] == literal
