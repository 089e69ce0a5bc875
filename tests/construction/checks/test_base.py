from __future__ import annotations

from typing import get_args

from benchmarks.checks.leak_benchmark import leak_prompts
from construction.checks import CHECKS, CheckInputs, Stage, judge
from construction.checks.base import _LOOKUPS
from construction.pipeline.adopt import adopt
from construction.scripts.script_step import Draft, script_of
from construction.scripts.truncation import cut_script
from schemas.scripts import ScriptPrompt
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
