"""Checks of scripts and of the prompts that are cut from them."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from click.testing import CliRunner

from benchmarks.checks.leak_benchmark import leak_prompts
from construction.checks import CHECKS, CheckInputs, Stage, judge
from construction.checks.base import _LOOKUPS
from construction.checks.questions import MOST_WORDS
from construction.neighbours.same_object import link
from construction.pipeline.adopt import adopt
from construction.scripts.script_step import Draft, script_of
from construction.scripts.truncation import cut_script
from curation.checks.store_checks import STORE_CHECKS, run_check
from curation.cli.check import check as check_command
from curation.loaders.sources import SCEDIT_T, WIKIFACTDIFF
from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.similarity.texts import rouge1_f
from curation.store.store import Store
from schemas.facts import Entity, Fact, Source
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.verdicts import Verdict
from tests.support.construction.authored import many, run
from tests.support.facts import make_fact
from tests.support.scripted_server import ScriptedServer
from tests.support.small import SMALL, small_split


def test_every_registered_check_has_name_version_and_stage():
    for name in CHECKS.names():
        check = CHECKS.get(name)()
        assert (check.name, check.version >= 1) == (name, True)
        assert check.on in get_args(Stage)


LEAKS = leak_prompts()


def test_the_rule_checks_find_nothing_in_the_labelled_prompts_and_cut_them_where_they_are_cut():
    """They look for names, and no labelled prompt names an object: related knowledge is for the other checks."""
    for p in LEAKS:
        question = p.script_question
        script = script_of(question, Draft(p.steps))
        prompt = cut_script(p.fact, question, script)
        assert prompt is not None and (prompt.text, prompt.separator, prompt.step) == (
            p.prompt,
            p.separator,
            len(p.steps),
        )
        material = CheckInputs(fact=p.fact, question=question, draft=p.steps, script=script, prompt=prompt)
        verdicts = [v for stage in ("question", "draft", "script", "prompt") for v in judge(stage, material)]
        assert {(v.check, v.label) for v in verdicts if v.label != "keep"} == set(), p.key


def test_the_cuts_of_mini_are_those_of_its_frozen_split():
    """Whatever changes in what a mention is: the digest stays, and cutting the scripts again gives the same prompts."""
    split = small_split()
    assert split.digest.startswith("c2b3824c635c")
    adoption = adopt(SMALL.parent / "source.jsonl", source=split.cases[0].fact.source)
    records = {r.key: r for r in adoption.records if isinstance(r, ScriptPrompt)}
    frozen = [p for c in split.cases for p in (*c.prompts, *(p for n in c.neighbours for p in n.prompts))]
    assert len(frozen) == 232 + 174
    assert all(records[p.key] == p for p in frozen)


def test_a_stage_that_has_stored_items_has_a_lookup_and_no_other():
    assert set(_LOOKUPS) == set(get_args(Stage)) - {"reply", "draft"}


@pytest.mark.parametrize(
    ("name", "first", "other", "label"),
    [
        ("the same chain", ("A", "B", "2020"), ("B", "C", "2021"), "keep"),
        ("ended first", ("A", "B", "2021-06"), ("B", "C", "2021-05"), "unsure"),
        ("may be in order", ("A", "B", "2021-06"), ("B", "C", "2021"), "keep"),
        ("brought too late", ("B", "C", "2020"), ("A", "B", "2021"), "unsure"),
        ("undone at once", ("A", "B", "2021"), ("B", "A", "2021"), "unsure"),
        ("undone later", ("A", "B", "2021"), ("B", "A", "2022"), "keep"),
        ("nothing to do with it", ("A", "B", "2021"), ("C", "D", "2019"), "keep"),
    ],
)
def test_two_changes_of_one_subject_come_in_order(name, first, other, label):
    facts = [
        Fact(
            **{
                **make_fact("Peru", old, new, key=f"f/{n}").model_dump(),
                "change": "temporal",
                "changed_on": on,
            }
        )
        for n, (old, new, on) in enumerate((first, other))
    ]
    (verdict,) = judge("fact", CheckInputs(fact=facts[0], facts=(facts[1],)))
    assert verdict.label == label, verdict.reason
    assert verdict.related == ((facts[1].id,) if label == "unsure" else ())


@pytest.mark.parametrize("upstream", [WIKIFACTDIFF, SCEDIT_T], ids=lambda u: u.name)
def test_two_dumps_are_evidence_of_order_and_the_verdict_says_so(upstream):
    fact = make_fact("Peru", "A", "B").model_copy(update={"change": "temporal", "source": upstream.source("Q1/P36")})
    (verdict,) = judge("fact", CheckInputs(fact=fact))
    assert verdict.label == "keep" and "two dumps of Wikidata" in verdict.reason


def test_a_date_is_judged_whatever_the_data_set_states():
    source = WIKIFACTDIFF.source("Q1/P36", date="2020")
    fact = make_fact("Peru", "A", "B").model_copy(update={"change": "temporal", "source": source, "changed_on": "2021"})
    (verdict,) = judge("fact", CheckInputs(fact=fact))
    assert verdict.label == "drop"


@pytest.mark.parametrize("name", ["tests", "wikifactdiff", "WikiFactDiff 2"])
def test_nobody_else_s_word_is_taken_for_an_order(name):
    source = make_fact().source.model_copy(update={"name": name})
    fact = make_fact("Peru", "A", "B").model_copy(update={"change": "temporal", "source": source})
    (verdict,) = judge("fact", CheckInputs(fact=fact))
    assert verdict.label == "unsure"


ROW = {
    "subject": {"id": "Q419", "label": "Peru"},
    "relation": {"id": "P36", "label": "capital"},
    "update_prompt": "The capital of Peru is ____",
    "objects": [
        {"id": "Q2868", "label": "Lima", "decision": "obsolete"},
        {"id": "Q585", "label": "Oslo", "decision": "new"},
    ],
}


def test_facts_of_wikifactdiff_come_through_construction_into_a_split(tmp_path):
    path = tmp_path / "facts.jsonl"
    path.write_text(json.dumps(ROW) + "\n")
    with ScriptedServer(many) as server:
        funnel = run(path, tmp_path / "o", server, "--questions", 1)
    assert funnel["kept"] == 1
    with Store.open(tmp_path / "o/s.duckdb", write=True) as store:
        assert len(freeze(store, "t", SplitRule()).cases) == 1


# Checks of scripts and of the prompts that are cut from them.
def material(fact, steps, text="How to go?"):
    question = ScriptQuestion(key="q", fact=fact.key, text=text)
    script = script_of(question, Draft(steps))
    return CheckInputs(fact=fact, question=question, script=script, prompt=cut_script(fact, question, script))


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (("a",) * 10, "10 steps"),
        (("one two three four five six seven eight",), "step 1 has 8 words"),
        ((), "no step"),
        (("Pack a bag", "Fly home<|endoftext|>"), "step 2 holds the control token <|endoftext|>"),
    ],
)
def test_broken_format_stands_on_the_question(fact, steps, reason):
    question = ScriptQuestion(key="q", fact=fact.key, text="How to visit Peru?")
    (verdict,) = judge("draft", CheckInputs(fact=fact, question=question, draft=steps))
    assert (verdict.label, verdict.item_id) == ("drop", question.id)
    assert reason in verdict.reason


@pytest.mark.parametrize(
    ("old", "steps", "label", "reason"),
    [
        ("Lima", ["Pack", "Fly to Lima"], "keep", ""),
        ("Lima", ["Pack", "Go"], "drop", "Lima"),
        ("Square", ["Meet at the town square"], "unsure", "'square' has no capital"),
        ("Square", ["Meet at the town square", "Pay with Square"], "keep", ""),
        ("London", ["Cross London Bridge"], "keep", ""),
        ("Italy", ["Call an Italian"], "drop", "no step mentions the old object"),
    ],
)
def test_it_says_why_nothing_or_something_doubtful_is_cut(old, steps, label, reason):
    (verdict,) = judge("script", material(make_fact("Acme", old, "Oslo"), steps))
    assert (verdict.label, verdict.by) == (label, "no_mention@8")
    assert reason in verdict.reason


@pytest.mark.parametrize(
    ("fact", "question", "steps", "place"),
    [
        (make_fact(), "How to leave Lima in Peru?", ["Pack", "See Lima"], ("Lima", "old object")),
        (
            make_fact("Acme", "York", "New York"),
            "How to reach Acme?",
            ["Leave New York", "Fly to York"],
            ("New York", "new object"),
        ),
        (make_fact(), "How to reach Peru?", ["Leave Oslo", "Fly to Lima"], ("Oslo", "new object")),
    ],
)
def test_an_object_that_is_named_before_the_cut_leaks(fact, question, steps, place):
    (leak,) = [v for v in judge("prompt", material(fact, steps, question)) if v.label == "drop"]
    assert leak.check == "leak_in_prompt" and [(s.text, s.what) for s in leak.spans] == [place]


@pytest.mark.parametrize(
    ("fact", "steps", "check"),
    [
        (make_fact(), ["Pack", "Fly to Lima", "Go on to Oslo"], None),
        (
            make_fact("Porsche Panamera", "Porsche", "Ford"),
            ["Wash the Porsche Panamera", "Call Porsche"],
            "leak_in_prompt",
        ),
    ],
    ids=["the new object after the cut", "the object within the subject"],
)
def test_what_may_stand_beside_the_cut(fact, steps, check):
    doubted = [(v.check, v.label) for v in judge("prompt", material(fact, steps)) if v.label != "keep"]
    assert doubted == ([(check, "unsure")] if check else [])


@pytest.mark.parametrize(("step", "label", "value"), [(1, "unsure", 1.0), (4, "keep", 4.0), (None, "unscored", None)])
def test_the_step_of_the_cut_is_measured(fact, step, label, value):
    prompt = ScriptPrompt(key="p", fact=fact.key, text="How?\nStep 1: Go", offset=16, step=step, targets=("Lima",))
    (verdict,) = [v for v in judge("prompt", CheckInputs(fact=fact, prompt=prompt)) if v.check == "early_cut"]
    assert (verdict.label, verdict.value) == (label, value)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("How to visit Chile?\nStep 1: Fly to", "keep"),
        ("How to visit Chile?\nStep 1: Leave Peru", "drop"),
        ("How to visit Chile?\nStep 1: Leave Oslo's airport", "drop"),
    ],
)
def test_edit_in_a_neighbour_prompt(fact, text, label):
    other = make_fact("Chile")
    prompt = ScriptPrompt(key="p", fact=other.key, text=text, offset=len(text) + 1, targets=("Lima",))
    record = link(fact, other)
    (verdict,) = judge("neighbour", CheckInputs(fact=other, prompt=prompt, edit=fact, link=record))
    assert (verdict.label, verdict.item_id, verdict.related) == (label, record.id, (prompt.id,))


# Checks of questions: their form, the subject that has to be named, objects that must not be, earlier questions.
PERU = make_fact(aliases=("City of Kings",), new_aliases=("Christiania",))
PLAIN = make_fact("Peru", "Lima", None)
PORSCHE = make_fact(Entity(text="Porsche Panamera"), "Porsche", "Fiat", key="f/car")
YORK = make_fact("Acme", "York", "New York")
ISLAND = make_fact(Entity(text="São Tomé", aliases=("Saint Thomas Island",)), key="f/st")
US = make_fact("Texas", "United States", "Peru", aliases=("US", "America"))
FILM = make_fact(Entity(text="Deep Impact"), key="f/film")


def verdict_of(check, text, fact=PERU, earlier=None):
    question = ScriptQuestion(key="q", fact=fact.key, text=text)
    verdicts = judge("question", CheckInputs(fact=fact, question=question, questions=earlier))
    return next(v for v in verdicts if v.check == check)


FORM = [
    ("How to visit Peru?", "keep"),
    ("how CAN a visitor enter Peru?", "keep"),
    ("How is Peru governed?", "drop"),
    ("What is the capital of Peru?", "drop"),
    ("Please say how to visit Peru?", "drop"),
    ("Howto visit Peru?", "drop"),
    ("How to visit Peru.", "drop"),
    ("How to visit Peru? Now", "drop"),
    ("How to visit <|im_end|> Peru?", "drop"),
    ("How to visit Peru? How to leave it?", "drop"),
    ("How to visit Peru??", "keep"),
    ("How does Peru impact trade?", "drop"),
    ("How would a new capital influence Peru?", "drop"),
    ("How to be effective in Peru?", "keep"),
    ("How does rain have an effect on Peru?", "drop"),
    (f"How to Peru {' '.join(f'w{n}' for n in range(MOST_WORDS - 3))}?", "keep"),
    (f"How to Peru {' '.join(f'w{n}' for n in range(MOST_WORDS - 2))}?", "drop"),
    ("How to go to Peru go to Peru go to Peru?", "drop"),
    ("How to walk very very far in Peru?", "keep"),
]


@pytest.mark.parametrize(("text", "label"), FORM)
def test_what_is_a_question_that_a_script_can_answer(text, label):
    verdict = verdict_of("question_form", text)
    assert (verdict.label, bool(verdict.reason)) == (label, label == "drop"), verdict.reason


@pytest.mark.parametrize(
    ("fact", "text", "word"),
    [
        (PERU, "How does Peru affect trade?", "affect"),
        (FILM, "How to watch Deep Impact at home?", ""),
        (FILM, "How does Deep Impact influence its viewers?", "influence"),
        (make_fact("Impact"), "How to measure the impact of Impact?", "impact"),
        (make_fact("Impact"), "How to set up Impact at work?", ""),
    ],
)
def test_an_impact_is_shown_at_its_place_and_a_subject_of_that_name_is_none(fact, text, word):
    verdict = verdict_of("question_form", text, fact)
    assert verdict.label == ("drop" if word else "keep")
    assert [(s.text, s.what) for s in verdict.spans] == ([(word, "impact")] if word else [])


SUBJECT, LEAK = "subject_in_question", "leak_in_question"
NAMED = {
    "its name": (SUBJECT, ISLAND, "How to reach São Tomé by boat?", "keep", ["São Tomé"]),
    "without its accents": (SUBJECT, ISLAND, "How to reach Sao Tome by boat?", "keep", ["Sao Tome"]),
    "in its genitive": (SUBJECT, ISLAND, "How to learn São Tomé's dances?", "keep", ["São Tomé"]),
    "another name": (SUBJECT, ISLAND, "How to map Saint Thomas Island?", "keep", ["Saint Thomas Island"]),
    "the first of two": (SUBJECT, ISLAND, "How to tell São Tomé from Saint Thomas Island?", "keep", ["São Tomé"]),
    "a pronoun": (SUBJECT, ISLAND, "How to reach it by boat?", "drop", []),
    "part of a word": (SUBJECT, ISLAND, "How to cook sãotoméan soup?", "drop", []),
    "half of its name": (SUBJECT, ISLAND, "How to reach Tomé by boat?", "drop", []),
    "nothing but its object": (SUBJECT, ISLAND, "How to reach Lima?", "drop", []),
    "nothing": (LEAK, PERU, "How to cook a soup of Peru?", "keep", []),
    "the old object": (LEAK, PERU, "How to see Lima in Peru?", "drop", ["Lima"]),
    "another name of it": (LEAK, PERU, "How to see the City of Kings in Peru?", "drop", ["City of Kings"]),
    "the new object": (LEAK, PERU, "How to move from Peru to Oslo?", "drop", ["Oslo"]),
    "an old name of it": (LEAK, PERU, "How to move from Peru to Christiania?", "drop", ["Christiania"]),
    "both": (LEAK, PERU, "How to fly from Lima in Peru to Oslo?", "drop", ["Lima", "Oslo"]),
    "an object in a word": (LEAK, PERU, "How to sell limabeans in Peru?", "keep", []),
    "in the subject's name": (LEAK, PORSCHE, "How to repair a Porsche Panamera?", "unsure", ["Porsche"]),
    "beside it": (LEAK, PORSCHE, "How to ask Porsche about a Porsche Panamera?", "drop", ["Porsche"]),
    "a longer name": (LEAK, YORK, "How to reach Acme from New York?", "drop", ["New York"]),
    "no change, another's object": (LEAK, PLAIN, "How to move from Peru to Oslo?", "keep", []),
    "derived from the new": (LEAK, US, "How to visit Texas like a Peruvian?", "drop", ["Peruvian"]),
    "another word": (LEAK, US, "How to visit Texas and its perusers?", "keep", []),
    "a pronoun like an alias": (LEAK, US, "How to help us visit Texas?", "keep", []),
    "an alias in its genitive": (LEAK, US, "How to visit Texas with America's bus?", "drop", ["America"]),
    "no change, its object": (LEAK, PLAIN, "How to see Lima in Peru?", "drop", ["Lima"]),
}


@pytest.mark.parametrize("name", NAMED)
def test_who_is_named_where(name):
    check, fact, text, label, places = NAMED[name]
    verdict = verdict_of(check, text, fact)
    assert (verdict.label, [s.text for s in verdict.spans]) == (label, places), verdict.reason
    assert all(text[s.start : s.end] == s.text for s in verdict.spans)
    objects = dict.fromkeys(("Oslo", "Christiania", "New York", "Peruvian"), "new object")
    expected = {"subject"} if check == SUBJECT else {objects.get(place, "old object") for place in places}
    assert {s.what for s in verdict.spans} <= expected
    if label != "keep":
        assert (places[0] if places else fact.subject.text) in verdict.reason


@pytest.mark.parametrize(
    ("subject", "text", "label"),
    [
        ("Square", "How to meet friends in the town square?", "unsure"),
        ("Square", "How to pay a baker with Square?", "keep"),
        ("Square", "How to leave the square and pay with Square?", "keep"),
        ("London", "How to walk from London Bridge through London?", "keep"),
        ("Japan", "How to look at old papers in the National Archives of Japan?", "keep"),
        ("Amazon", "How to play the CEO of Amazon in a business class?", "keep"),
        ("Italy", "How to cook an Italian dinner?", "drop"),
        ("Apple", "How to press apple juice?", "unsure"),
        ("Hawaii", "How to sail to Hawai\u02bbi?", "keep"),
    ],
)
def test_the_rules_of_mentions_hold_for_the_subject_too(subject, text, label):
    verdict = verdict_of(SUBJECT, text, make_fact(subject))
    assert verdict.label == label, verdict.reason


def test_how_like_a_question_is_to_the_earlier_ones(fact):
    texts = ["How to visit Peru?", "How can one cook like in Peru?", "How to visit Peru soon?"]
    questions = [ScriptQuestion(key=f"q{n}", fact=fact.key, text=text) for n, text in enumerate(texts)]
    for n, text in enumerate(texts):
        verdict = verdict_of("similar_question", text, fact, earlier=tuple(questions[:n]))
        value = max((rouge1_f(text, other) for other in texts[:n]), default=0.0)
        assert (verdict.label, verdict.unit) == ("keep", "rouge1_f")
        assert verdict.value == pytest.approx(value, abs=1e-6)
    assert verdict.related == (questions[0].id,) and verdict.value == pytest.approx(2 * 4 / 9, abs=1e-6)


# The rule checks over a store say what they say during construction, and judge items that came in another way.
RULES = [n for n in STORE_CHECKS.names() if n in CHECKS.names()]
SOURCE = Source(name="tests", licence="CC0-1.0")


def test_every_rule_on_items_of_the_store_can_run_over_it():
    # the other two speak of a reply that became no item
    assert set(CHECKS.names()) - set(RULES) == {"reply_usable", "script_format"}
    for name in RULES:
        assert STORE_CHECKS.get(name) is CHECKS.get(name)


@pytest.fixture(scope="module")
def adopted():
    return adopt(SMALL.with_name("source.jsonl"), source=SOURCE)


@pytest.mark.parametrize("name", RULES)
def test_over_a_store_as_during_construction(name, adopted, tmp_path):
    during = {v.key: v for v in adopted.verdicts if v.check == name}
    check = STORE_CHECKS.get(name)()
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([r for r in adopted.records if not isinstance(r, Verdict)])
        run_check(store, check)
        over = {v.key: v for v in store.verdicts()}
        assert run_check(store, check).due == 0, "judged once"
    assert during and {k: over[k] for k in during} == during
    more = [v for k, v in over.items() if k not in during]
    assert all(name == "fact_dates" and v.reason == "no temporal edit" for v in more)


def test_items_without_fact_or_question_stay_due(tmp_path):
    question = ScriptQuestion(key="q", fact="f/none", text="How to go to Peru?")
    text = "How to go to Peru?\nStep 1: Fly to"
    questions = [
        question,
        Script(key="s", question="q/none", steps=("Fly to Lima",)),
        ScriptPrompt(key="p", fact="f/none", text=text, offset=len(text) + 1, targets=("Lima",)),
    ]
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put(questions)
        for name in RULES:
            outcome = run_check(store, STORE_CHECKS.get(name)())
            assert outcome.left == outcome.due and not outcome.labels


def test_the_command_says_what_runs_and_finds_an_imported_leak(tmp_path):
    path = tmp_path / "s.duckdb"
    text = "How to leave Peru?\nStep 1: Book from Lima to Oslo\nStep 2: Go back to"
    prompt = ScriptPrompt(key="p", fact="f/Peru", text=text, offset=len(text) + 1, step=2, targets=("Lima", "Oslo"))
    with Store.open(path, create=True) as store:
        store.put([make_fact(), prompt])
    check_names = ["leak_in_prompt", "early_cut", "fact_dates"]
    result = CliRunner().invoke(check_command, [*check_names, "--store", str(path), "--jsonl"])
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [t["labels"] for t in rows] == [{"drop": 1}, {"keep": 1}, {"keep": 1}] and not result.stderr
    dry = CliRunner().invoke(check_command, ["--store", str(path), "--dry-run"])
    assert dry.exit_code == 0, dry.output
    assert "Running fact_dates, question_form" in dry.stderr and "telling_word with SmolLM2" in dry.stderr
    tasks = "verify_next, verify_prompt, verify_question"
    assert f"Not running {tasks}: name a model, such as --model verify_question=MODEL." in dry.stderr
