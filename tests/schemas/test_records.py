from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from schemas.core.errors import UserError
from schemas.core.ids import canonical_json, content_id, seed, slug
from schemas.facts import Fact
from schemas.ratings import Rating
from schemas.scripts import Script, ScriptPrompt
from schemas.verdicts import Verdict, verdict_key


def make(**changes: object) -> Fact:
    fields = {
        "key": "f/1",
        "subject": {"text": "Peru"},
        "relation": {"id": "P36"},
        "prompt": "The capital of {} is",
        "old": {"text": "Lima"},
        "new": {"text": "Oslo"},
        "source": {"name": "t", "licence": "CC0-1.0"},
    }
    return Fact.model_validate({**fields, **changes})


def test_id_is_content_and_survives_processes() -> None:
    here = make().id
    code = f"from schemas.facts import Fact\nprint(Fact.model_validate_json({make().model_dump_json()!r}).id)"
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert here == there
    assert len(here) == 20


@pytest.mark.parametrize(
    "change",
    [{"old": {"text": "Lima", "aliases": ["City of Kings"]}}, {"key": "f/2"}, {"prompt": "{} has the capital"}],
    ids=["alias", "key", "prompt"],
)
def test_every_field_is_in_the_id(change: dict[str, object]) -> None:
    assert make(**change).id != make().id


def test_records_are_frozen_and_refuse_unknown_fields() -> None:
    fact = make()
    with pytest.raises(ValidationError):
        fact.prompt = "x {}"  # type: ignore[misc]
    with pytest.raises(ValidationError, match="Extra inputs"):
        make(colour="red")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prompt": "The capital is"}, "exactly one"),
        ({"prompt": "{} and {}"}, "found 2"),
        ({"new": {"text": "lima"}}, "equal"),
        ({"new": None}, "new object exactly when"),
        ({"subject": {"text": " Peru"}}, "white space"),
        ({"subject": {"text": ""}}, "empty"),
        ({"key": "a b"}, "pattern"),
    ],
    ids=["no gap", "two gaps", "equal objects", "no new object", "space", "empty", "key with space"],
)
def test_bad_facts_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        make(**change)


def test_the_new_object_of_a_fact_that_has_none() -> None:
    assert make().new_object == make().new
    bare = make(new=None, change="none")
    with pytest.raises(UserError, match=f"{bare.key}: the fact has no new object: there is nothing to edit"):
        _ = bare.new_object


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (["a b c d e f g h"], "at most 7 words"),
        (["go"] * 10, "at most 9"),
        ([], "at least 1"),
        (["Step 1: go"], "without its"),
        (["go\nhome"], "one line"),
    ],
    ids=["eight words", "ten steps", "none", "label", "two lines"],
)
def test_scripts_keep_the_papers_format(steps: list[str], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Script(key="s", question="q", steps=tuple(steps))


def test_nine_steps_of_seven_words_are_a_script() -> None:
    assert len(Script(key="s", question="q", steps=("one two three four five six seven",) * 9).steps) == 9


def test_prompt_offset_is_checked() -> None:
    good = {"key": "p", "fact": "f", "text": "Go to", "separator": " (", "offset": 7, "targets": ("Lima",)}
    assert ScriptPrompt.model_validate(good).step is None
    with pytest.raises(ValidationError, match="offset"):
        ScriptPrompt.model_validate({**good, "offset": 6})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "drop"}, "carries a reason"),
        ({"label": None}, "a label or a value"),
        ({"value": 1.0}, "has a unit"),
        ({"by": "Leak"}, "pattern"),
    ],
)
def test_verdicts_are_whole(change: dict[str, object], message: str) -> None:
    fields: dict[str, object] = {"key": "v", "item_id": "x", "by": "leak@1", "label": "keep"}
    with pytest.raises(ValidationError, match=message):
        Verdict.model_validate({**fields, **change})


def test_verdict_names() -> None:
    person = Verdict(key="v", item_id="x", by="person:ann3/filter_question@2", label="keep")
    assert person.check == "filter_question"
    assert verdict_key(item_id="x", by="leak@1") != verdict_key(item_id="x", by="leak@1", related=("y",))


@pytest.mark.parametrize(("value", "ok"), [(1, True), (7, True), (0, False), (8, False)])
def test_ratings_stay_on_their_scale(value: int, ok: bool) -> None:
    fields = {"key": "r", "item_id": "x", "aspect": "coherence", "rater": "person:a", "form": "rate_script@1"}
    if ok:
        assert Rating.model_validate({**fields, "value": value}).value == value
    else:
        with pytest.raises(ValidationError, match="outside 1 to 7"):
            Rating.model_validate({**fields, "value": value})


def test_unscored_ratings_say_why() -> None:
    with pytest.raises(ValidationError, match="says why"):
        Rating(key="r", item_id="x", aspect="coherence", rater="judge:m", form="f@1", value=None)


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.none()))
def test_canonical_json_ignores_order(data: dict[str, object]) -> None:
    turned = dict(reversed(list(data.items())))
    assert canonical_json(data) == canonical_json(turned)
    assert content_id("k", data) == content_id("k", turned)


def test_seed_and_slug() -> None:
    assert 0 <= seed("a", "b") < 2**63
    assert seed("a", "b") != seed("ab")
    assert slug("Saint-Étienne's café!") == "saint-etienne-s-cafe"
    assert slug("東京") == "東京"


def test_the_imported_packages_are_ours() -> None:
    """PyPI has packages that install the same flat names: ours must stand beside our own root module."""
    import annotation_ui
    import construction
    import curation
    import evaluation
    import scedit
    import schemas

    home = Path(scedit.__file__).parent
    for package in (annotation_ui, construction, curation, evaluation, schemas):
        assert package.__file__ and Path(package.__file__).parent.parent == home
