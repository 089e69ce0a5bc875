"""What records say beside their fields: names, texts, means, instructions of probes, rubrics, who rated."""

from __future__ import annotations

import re

import pytest
from pydantic import ValidationError

from schemas.answers import CaseScores, ItemScore, TargetScore
from schemas.cases import Case
from schemas.core.config import validate
from schemas.core.errors import UserError
from schemas.core.records import stored_text
from schemas.documents.document import contains_words, holds_answer, is_literal, plain_words
from schemas.documents.simplified import SimplifiedFact
from schemas.documents.statement import GROUPS, KEPT, Statement, stated_text
from schemas.documents.tags import TAGS
from schemas.events.event import EventRole
from schemas.events.template import EntityPath, EventTemplate, ImpactedTriplet
from schemas.extras import Extra
from schemas.facts import Entity, Object
from schemas.generated_scripts import GeneratedScript
from schemas.probes import GenerateProbe, ScoreProbe, ThoughtAsked, instructed
from schemas.raters import Rater, rater_of_rating, rater_of_verdict
from schemas.ratings import CONSISTENCY, RUBRICS, TENDENCY, Rating, rubric_of
from schemas.scripts import Script, ScriptPrompt, render, strip_label, words
from schemas.verdicts import Verdict
from tests.schemas.made_records import EVENT_RATING, SCORE, WRITE
from tests.support.construction.event_templates import TRANSFER
from tests.support.documents.records import make_document, make_probe
from tests.support.events import event_case, make_event, make_fact_question, make_tendency
from tests.support.facts import make_fact, peru_fact


@pytest.mark.parametrize(
    ("query", "answer", "level", "literal"),
    [
        ("The Orla Bridge opened in ___.", "1931", 1, True),
        ("the orla-bridge opened in ____", "1931", 1, True),
        ("Bridge opened in ___", "1931", 1, True),
        ("The Orla Bridge closed in ___.", "1931", 1, False),
        ("The Orla Bridge opened in ___.", "193", 1, False),
        ("In ___ the ___ opened", "1931", 1, False),
        ("When did it open?", "1931", 2, False),
    ],
)
def test_literal_is_word_for_word_case_and_punctuation_aside(
    query: str, answer: str, level: int, literal: bool
) -> None:
    assert is_literal(make_probe(query, answer, level=level), make_document()) is literal


def test_blanks_are_counted_and_one_is_filled() -> None:
    assert [make_probe(q).blanks for q in ("Who?", "In ___", "In ____!", "___ to ___", "a__b")] == [0, 1, 1, 2, 0]
    assert make_probe(r"In ___ it opened", r"\1").filled == r"In \1 it opened"
    assert make_probe("___ to ___").filled is None and make_probe("Who?").filled is None


@pytest.mark.parametrize(
    ("query", "answer", "holding"),
    [
        ("Is Oman hot?", "OMAN", True),
        ("Is Romania hot?", "Oman", True),
        ("Is it hot?", "Oman", False),
        ("Is it hot?", "+", False),
    ],
)
def test_a_query_that_holds_its_answer(query: str, answer: str, holding: bool) -> None:
    assert holds_answer(make_probe(query, answer, level=2)) is holding


def test_words_are_folded_and_whole() -> None:
    assert plain_words("  Çırağan's_Palace! ") == plain_words("cırağan s palace")
    assert contains_words("a b c", "B c") and not contains_words("ab c", "b c")


def test_names_are_the_text_then_the_aliases() -> None:
    assert Entity(text="Rome").names == ("Rome",)
    assert Object(text="Rome", aliases=("Roma", "Rome")).names == ("Rome", "Roma", "Rome")
    event = make_event(roles=(EventRole(role="A", entity=Entity(text="Alba Rail", aliases=("AR",))),))
    assert event.names == ("Alba Rail", "AR") and make_event().names == ()
    assert make_document(further_names=("Ada Brun",)).names == ("Orla Bridge", "Ada Brun")
    assert make_document(entity=None).names == ()
    assert make_probe(accepted=("'31",)).answers == ("1931", "'31")


def test_statements_in_words() -> None:
    rome = Statement(subject="Chad", prompt="The capital of {} is", target="Rome")
    assert rome.text == "The capital of Chad is Rome."
    assert stated_text("Who wrote Emma?", "Jane Austen Jr.") == "Who wrote Emma? Jane Austen Jr."
    simplified = {
        "key": "d/0",
        "document": "d",
        "strategy": "openie",
        "subject": "Ada",
        "prompt": "{} is in",
        "target": "",
    }
    assert SimplifiedFact.model_validate(simplified).filled_prompt == "Ada is in"
    for stated in (make_document(), make_event()):
        assert stated.statement == stated.text


def test_groups_and_tags_are_explained() -> None:
    assert all(GROUPS.values()) and set(KEPT) < set(GROUPS) and len(KEPT) == 2
    assert len(TAGS) <= 24 and all(reply.strip() for reply in TAGS.values()) and len(set(TAGS.values())) == len(TAGS)


@pytest.mark.parametrize(("answer", "unknown"), [("unknown", True), ("Unknown", True), ("the unknown soldier", False)])
def test_unknown_is_the_whole_answer(answer: str, unknown: bool) -> None:
    assert make_fact_question(answer=answer).unknown is unknown


def test_the_right_option_stands_behind_its_letter() -> None:
    question = make_tendency(answer="B")
    assert question.right_option == question.options[1] == "They fall"


def test_roles_and_paths_of_a_template() -> None:
    template = EventTemplate.model_validate(TRANSFER)
    assert [template.role_name(role) for role in template.roles] == ["Player", "B", "C"]
    assert template.paths == (EntityPath.parse("A.P54"), EntityPath.parse("B.P118"))  # what may change is not followed
    role, path, unknown = (
        ImpactedTriplet(role="A", relation="P54", object=text) for text in ("B", "B.P118.P17", "Unknown")
    )
    assert role.path == EntityPath(role="B") and not role.unknown and unknown.unknown
    assert path.path.relations == ("P118", "P17")


def test_the_edit_of_a_case_and_its_kind() -> None:
    fact, event = Case(key="case/1", fact=peru_fact()), event_case()
    assert (fact.request, fact.group) == (fact.fact, "counterfactual")
    assert (event.request, event.group) == (event.event, "merger")


def test_either_list_of_questions_can_be_empty() -> None:
    assert event_case(facts=()).tendencies and event_case(tendencies=()).facts


def test_the_prompt_takes_any_subject_as_it_is() -> None:
    assert make_fact("{}", prompt="In {}").fact_prompt == "In {}"
    assert make_fact(r"C:\x {0}", prompt="On {} lies").fact_prompt == r"On C:\x {0} lies"


def test_the_new_object_of_a_fact() -> None:
    """It is told from the old one by its text, not by an alias."""
    for change in ("counterfactual", "temporal"):
        fact = make_fact(change=change, new=Object(text="Lima City", aliases=("Lima",)))
        assert fact.new_object == fact.new and fact.change == change
    bare = make_fact(new=None)
    with pytest.raises(UserError, match=f"{bare.key}: the fact has no new object: there is nothing to edit"):
        _ = bare.new_object


@pytest.mark.parametrize("value", [None, [], {}, "é\u2028", 0.1, {"b": [1, {"a": None}], "a": "x"}])
def test_what_a_source_says_comes_back(value: object) -> None:
    assert Extra.holding("f/1/x", value, subject_key="f/1", name="x").value == value


def test_content_is_one_text_however_it_was_written() -> None:
    extra = Extra.model_validate({"key": "x", "of": "f/1", "name": "x", "content": '{ "b": 1,\n"a": "\\u00e9" }'})
    assert extra.content == '{"a":"é","b":1}'


def test_scripts_of_people_and_of_models() -> None:
    assert len(Script(key="s", question="q", steps=("one two three four five six seven",) * 9).steps) == 9
    step = "a step of more than seven words is kept here"
    names = {"key": "g/1", "case": "c/1", "fact": "f/1", "question": "q/1", "model": "m", "editor": "rome"}
    assert GeneratedScript(**names, edited=True, text=step, steps=(step,) * 12).steps == (step,) * 12
    assert render("How to go?", ()) == "How to go?"


@pytest.mark.parametrize(
    ("step", "bare", "count"),
    [
        ("Step 4: Buy a ticket", "Buy a ticket", 3),
        ("  step 12) Go", "Go", 1),
        ("STEP3-Walk home", "Walk home", 2),
        ("Step 1", "", 0),
        ("Step by step", "Step by step", 3),
        ("Step 1: Step 2: Go", "Step 2: Go", 3),
        ("", "", 0),
    ],
)
def test_labels_and_words_of_a_step(step: str, bare: str, count: int) -> None:
    assert strip_label(step) == bare
    assert words(step) == count


def test_an_offset_counts_characters_and_not_bytes() -> None:
    assert ScriptPrompt(key="p", fact="f", text="Fahr nach Größe", offset=16, targets=("東京",)).offset == 16


def test_the_check_of_a_verdict() -> None:
    person = Verdict(key="v", item_id="x", by="person:ann3/filter_question@2", label="keep")
    assert person.check == "filter_question"


def test_log_probability_per_token_or_in_all() -> None:
    score = TargetScore(text="Lima", logprob=-6.0, tokens=4)
    assert score.value("mean") == -1.5 and score.value("sum") == -6.0


@pytest.mark.parametrize(("values", "mean"), [((), None), ((None, None), None), ((1.0, None, 0.0), 0.5), ((0.0,), 0.0)])
def test_the_mean_is_over_what_was_scored(values: tuple[float | None, ...], mean: float | None) -> None:
    items = tuple(ItemScore(probe=str(n), item="i", value=v) for n, v in enumerate(values))
    assert CaseScores(case="c", metric="es", items=items).mean == mean


@pytest.mark.parametrize("probe", [SCORE, WRITE], ids=["score", "write"])
def test_an_edit_leaves_the_instruction_alone_and_may_call_for_another(probe: ScoreProbe | GenerateProbe) -> None:
    def with_event(prompt: str) -> str:
        return f"Event: Lima moved.\n{prompt}"

    variant = probe.model_copy(update={"instruction": "Answer."})
    assert instructed(probe, None) == probe.prompt
    assert instructed(variant, None) == f"Answer.\n\n{probe.prompt}"
    assert instructed(variant, with_event) == f"Answer.\n\nEvent: Lima moved.\n{probe.prompt}"
    other = variant.model_copy(update={"instruction_in_context": "Use the event."})
    assert instructed(other, with_event) == f"Use the event.\n\nEvent: Lima moved.\n{probe.prompt}"
    assert instructed(other, lambda prompt: prompt) == instructed(other, None) == f"Answer.\n\n{probe.prompt}"


def test_a_thought_makes_a_reply_longer() -> None:
    thinks = [WRITE.model_copy(update={"thought": ThoughtAsked(marks=(("<t>", "</t>"),), most=n)}) for n in (5, 6)]
    assert [p.longest for p in (WRITE, *thinks)] == [WRITE.most, WRITE.most + 5, WRITE.most + 6]


@pytest.mark.parametrize(
    ("prompt", "separator", "target", "problem"),
    [
        ("The capital of France is ", " ", "Paris", "the prompt 'The capital of France is ' ends with white space"),
        ("Paris is\n", "\n", "a city", "ends with white space"),
        ("The capital of France is", " ", " Paris", "the target ' Paris' begins with white space"),
        ("The capital of France is ", "", "Paris", ""),
        ("The capital of France is", "", " Paris", ""),
        ("The capital (", "", "Paris", ""),
        ("The capital is ", "(", "Paris", ""),
    ],
)
def test_white_space_between_prompt_and_target_is_given_once(
    prompt: str, separator: str, target: str, problem: str
) -> None:
    def make() -> ScoreProbe:
        return ScoreProbe(purpose="fact", item="f", prompt=prompt, separator=separator, targets=("Rome", target))

    if not problem:
        assert make().targets[1] == target
        return
    with pytest.raises(ValidationError, match=re.escape(problem) + ".*give separator=''"):
        make()


@pytest.mark.parametrize("aspect", TENDENCY.aspects)
def test_ratings_of_open_answers_run_from_1_to_5(aspect: str) -> None:
    rating = Rating.model_validate({**EVENT_RATING, "aspect": aspect, "value": 5})
    assert rating.scale == "likert5" and "before_id" not in stored_text(rating)
    assert Rating.model_validate_json(stored_text(rating)) == rating
    for value in (0, 6, True, "4/5", 4.5):
        with pytest.raises(UserError) as error:
            validate(Rating, {**EVENT_RATING, "aspect": aspect, "value": value}, where="ratings.jsonl, line 3")
        text = str(error.value)
        assert "ratings.jsonl, line 3" in text and "\n" not in text and len(text) < 200, text
        if value in (0, 6):
            assert "is outside 1 to 5, the scale of the rubric 'tendency'" in text


@pytest.mark.parametrize(("accuracy", "overall", "faulty"), [(3, 4, True), (1, 5, True), (3, 3, False), (4, 1, False)])
def test_a_low_accuracy_caps_the_overall_rating(accuracy: int, overall: int, faulty: bool) -> None:
    assert bool(TENDENCY.fault({"accuracy": accuracy, "overall": overall})) is faulty
    assert not TENDENCY.fault({"accuracy": accuracy}) and not TENDENCY.fault({"overall": overall})


def test_every_rubric_has_its_scale_and_its_aspects() -> None:
    assert [(r.points, len(r.aspects), r.rates_pairs) for r in RUBRICS.values()] == [
        ((1, 7), 4, False),
        ((1, 5), 4, False),
        ((1, 5), 1, True),
    ]
    assert RUBRICS["script"].categories == (1, 2, 3, 4, 5, 6, 7) and CONSISTENCY.ends == (1.0, 5.0)
    assert rubric_of({"beauty"}) is None and rubric_of(set()) is None
    assert all(rubric_of(set(r.aspects)) is r for r in RUBRICS.values())


@pytest.mark.parametrize(
    ("text", "form", "expected", "label", "program"),
    [
        ("person:ann", "rate_script@1", Rater("person", "ann"), "ann", False),
        ("person:synthetic-bob", "rate_script@1", Rater("program", "synthetic-bob"), "synthetic-bob", True),
        ("person:synthetica", "rate_script@1", Rater("person", "synthetica"), "synthetica", False),
        ("person:synthetic", "rate_script@1", Rater("person", "synthetic"), "synthetic", False),
        ("person:judge:x", "rate_script@1", Rater("person", "judge:x"), "judge:x", False),
        ("person:a/b", "rate_script@1", Rater("person", "a/b"), "a/b", False),
        ("person:ann", "rate_script_adjudicated@1", Rater("adjudicated", "ann"), "ann", False),
        ("person:synthetic-bob", "rate_script_adjudicated@1", Rater("adjudicated", "synthetic-bob"),
         "synthetic-bob", True),
        ("judge:gpt-x+evidence", "judge_coherence_evidence@1", Rater("judge", "gpt-x+evidence"),
         "judge:gpt-x+evidence", False),
        ("judge:synthetic-x", "judge_coherence_paper@1", Rater("judge", "synthetic-x"), "judge:synthetic-x", False),
        ("judge:person:x", "judge_coherence_paper@1", Rater("judge", "person:x"), "judge:person:x", False),
    ],
)  # fmt: skip
def test_who_made_a_rating(text: str, form: str, expected: Rater, label: str, program: bool) -> None:
    rating = Rating(key="r", item_id="x", aspect="coherence", rater=text, form=form, value=4)
    assert rating.rated_by == rater_of_rating(text, form) == expected
    assert (expected.stored, expected.label, expected.is_program) == (text, label, program)
    assert "rated_by" not in rating.model_dump()


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("leak_in_prompt@1", None),
        ("person:ann/filter_question@2", Rater("person", "ann")),
        ("person:a/b/filter_question@2", Rater("person", "a/b")),
        ("person:synthetic-ann/filter_question@2", Rater("program", "synthetic-ann")),
        ("person:adjudicated/filter_question@2", Rater("person", "adjudicated")),
        ("person:ann/filter_question_adjudicated@2", Rater("adjudicated", "ann")),
    ],
)
def test_who_made_a_verdict(by: str, expected: Rater | None) -> None:
    verdict = Verdict(key="v", item_id="x", by=by, label="keep")
    assert verdict.judged_by == rater_of_verdict(by) == expected
    if expected is not None:
        assert expected.by(by.rpartition("/")[2]) == by


@pytest.mark.parametrize("text", ["ann", "", "people:ann", "gpt-x"])
def test_what_is_no_rater_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="person:NAME or judge:MODEL"):
        rater_of_rating(text)
