"""Pieces of pages: hostile text stays text, fields give back what was answered, faults are readable."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from annotation_ui.app.browser_parts import can_save_at_once
from annotation_ui.app.form import reasons_style
from annotation_ui.app.widgets import PageContext, edited_objects, item_html, marked_html
from annotation_ui.campaigns.campaign import make_task
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks import TASKS
from annotation_ui.tasks.forms import Field, FieldOption
from curation.store.store import Store
from schemas.core.errors import StoreError
from tests.annotation_ui.app.conftest import Open, button, pilot, texts

widgets: Any = pytest.importorskip("annotation_ui.app.widgets", reason="streamlit is not installed")
saving: Any = pytest.importorskip("annotation_ui.app.form")
AppTest: Any = pytest.importorskip("streamlit.testing.v1").AppTest


def _fields(fields: list[str], values: list[object]) -> None:
    import streamlit as st

    from annotation_ui.app import widgets
    from annotation_ui.tasks.forms import Field

    inputs = [
        widgets.show_field(Field.model_validate_json(f), key=str(n), value=v)
        for n, (f, v) in enumerate(zip(fields, values, strict=True))
    ]
    st.session_state["given"] = inputs


def answers(*pairs: tuple[Field, Any]) -> tuple[Any, list[Any]]:
    record = {"fields": [f.model_dump_json() for f, _ in pairs], "values": [v for _, v in pairs]}
    page = AppTest.from_function(_fields, kwargs=record, default_timeout=60).run()
    assert not page.exception
    return page, page.session_state["given"]


SCALE = Field(name="s", kind="scale", asks="How?", low_text="bad", high_text="good")
MANY = Field(
    name="m", kind="many", asks="Why?", required=False,
    choices=(FieldOption(value="a", text="A *b*"), FieldOption(value="c", text="C")),
)  # fmt: skip


def test_an_open_field_has_no_answer_and_a_given_one_comes_back() -> None:
    yes_no = Field(name="y", kind="yes_no", asks="?")
    text = Field(name="t", kind="text", asks="Comment (optional)", required=False)
    _, answer_list = answers((SCALE, None), (yes_no, None), (MANY, None), (text, None))
    assert answer_list == [None, None, [], ""]
    page, answer_list = answers((SCALE, 7), (yes_no, "no"), (MANY, ["c", "a"]), (text, "x\ny"))
    assert answer_list == [7, "no", ["c", "a"], "x\ny"]
    page.radio[0].set_value(1).run()
    assert page.session_state["given"][0] == 1


@pytest.mark.parametrize("value", [0, 8, "7", 3.5, ["x"]])
def test_an_answer_that_the_scale_does_not_have_is_shown_as_open(value: Any) -> None:
    assert answers((SCALE, value))[1] == [None]


def test_the_ends_of_a_scale_stand_beside_it() -> None:
    page, _ = answers((SCALE, None))
    assert "<span>1 = bad</span> <span>7 = good</span>" in page.get("html")[1].value
    page, _ = answers((SCALE.model_copy(update={"low_text": "<i>", "high_text": "&"}), None))
    assert "<i>" not in page.get("html")[1].value and "&lt;i&gt;" in page.get("html")[1].value


def _card(title: str, body: str) -> None:
    from annotation_ui.app import widgets

    widgets.show_text(title, body)


@pytest.mark.parametrize("evil", ["<script>x</script>", "<img src=x onerror=y>", "</div></div><h1>", "&lt;b&gt;"])
def test_text_is_shown_as_text(evil: str) -> None:
    page = AppTest.from_function(_card, kwargs={"title": evil, "body": evil}, default_timeout=60).run()
    (values,) = [e.value for e in page.get("html")]
    assert values.count("<") == values.count("</") * 2 == 6, "three elements of ours and no other"
    import html

    assert html.unescape(values).count(evil) == 2


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("**b**", r"\*\*b\*\*"),
        ("[l](http://x.org)", r"\[l\](http\://x\.org)"),
        ("$x$ and `c`", r"\$x\$ and \`c\`"),
        (":smile: :red[x]", r"\:smile: \:red\[x\]"),
        ("# h\n> q\n- l\n1. one", "\\# h\n\\> q\n\\- l\n1\\. one"),
        ("<b>&lt;", r"\<b>\&lt;"),
        ("a_b ~~x~~ | c", r"a\_b \~\~x\~\~ \| c"),
        ("www.x.org me@x.org", r"www\.x\.org me\@x\.org"),
        ("\\*", r"\\\*"),
    ],
)
def test_mark_up_in_labels_is_escaped(text: str, escaped: str) -> None:
    assert widgets.escape_markdown(text) == escaped


@pytest.mark.parametrize("name", TASKS.names())
def test_a_screen_reader_reads_no_backslash(name: str) -> None:
    """A label is read out as it is written, escapes and all."""
    form = make_task(name).form
    for text in (form.title, form.intro, *(t for f in form.fields for t in (f.asks, f.hint))):
        assert widgets.escape_markdown(text) == text


@pytest.mark.parametrize("name", TASKS.names())
def test_no_fault_that_a_rater_can_cause_names_a_field(name: str) -> None:
    """Everything the app can hand to the form: open questions, and a no without what it needs."""
    form = make_task(name).form
    fields = [f.name for f in form.fields]
    form_values = {
        f.name: {"yes_no": "no", "one": f.choices[-1].value if f.choices else ""}.get(f.kind, min(4, f.high))
        for f in form.asked_fields()
    }
    cases: list[dict[str, Any]] = [{}, form_values]
    if form.reasons and form.comment_for:
        cases.append({**form_values, form.reasons: [form.comment_for]})
    faults = [f for case in cases for f in form.faults(case)]
    assert faults
    for fault in faults:
        variant = widgets.readable_fault(form, fault).replace("\\", "")
        assert not any(f"'{f}'" in variant for f in fields) and variant != fault
        assert "lease" in variant, "it says what to do"


def test_other_faults_keep_their_words() -> None:
    form = make_task("rate_script").form
    assert widgets.readable_fault(form, "unknown field 'zeal'") == "unknown field 'zeal'"
    long = form.faults({"coherence": 1, "consistency": 1, "completeness": 1, "comment": "x" * 5000})[0]
    assert "longer than 4000 characters" in widgets.readable_fault(form, long)


def test_answers_are_shown_in_the_words_that_raters_saw() -> None:
    form = make_task("filter_question").form
    answers = {"guides": "no", "reasons": ["duplicate", "ungrammatical"]}
    assert widgets.answers_in_words(form, answers) == (
        "Do exactly two answers fit the gap: the old and the new one? no · "
        "Why not? The same as another question + Broken, unclear or ungrammatical text"
    )
    assert widgets.answers_in_words(form, {}) == ""


def test_a_failure_is_told_in_the_language_of_the_rater_without_places_on_the_server() -> None:
    """It was English in every language, and told a rater to make room on the disk."""
    told = saving.readable_error(
        StoreError("nothing was saved: the disk is full", where="/srv/r.sqlite", fix="x"), "de"
    )
    assert told.startswith("Das hat nicht geklappt.") and "the disk is full" in told and "/srv" not in told


def test_only_raters_choose_a_language(db: RatingsDB, store: Store, open_page: Open) -> None:
    """The lead's pages are English: a switch left them half translated."""
    pilot(db, store, "ann")
    labels = {name: [b.label for b in open_page("widgets.account_box", name).button] for name in ("ann", "lea")}
    assert labels == {"ann": ["Deutsch", "Log out"], "lea": ["Log out"]}


@pytest.mark.parametrize(
    ("body", "old", "new", "marks"),
    [
        ("York, not New York", "York", "New York", ["York", "New York"]),  # one name within the other
        ("Limassol and LIMA's sea", "Lima", "Oslo", ["LIMA"]),
        ("<b>Lima</b> & Oslo", "Lima", "Oslo", ["Lima", "Oslo"]),
        ("Oslo Oslo", "", "Oslo", ["Oslo", "Oslo"]),
        ("nothing", "", "", []),
        ("", "Lima", "Oslo", []),
    ],
)
def test_mentions_are_marked_and_the_rest_is_escaped(body: str, old: str, new: str, marks: list[str]) -> None:
    import html
    import re

    text = marked_html(body, {"old": old, "new": new})
    assert re.findall(r"<mark class=\"se-\w+\">(.*?)</mark>", text) == marks
    assert html.unescape(re.sub(r"</?mark[^>]*>", "", text)) == body
    assert "<b>" not in text


@pytest.mark.parametrize(
    ("text", "objects"),
    [
        ({"edit": "The motto: of X is: a → b → c"}, ["a → b", "c"]),
        ({"edit": "no arrow"}, []),
        ({"old": "Lima", "new": "", "edit": "x: y → z"}, ["Lima", ""]),
        ({}, []),
    ],
)
def test_the_objects_of_an_item(text: dict[str, str], objects: list[str]) -> None:
    assert list(edited_objects(text).values()) == objects


def test_highlighting_can_be_switched_off_and_texts_that_are_absent_leave_no_row() -> None:
    form = make_task("rate_script").form
    texts = {"fact": "The capital is Oslo", "new": "Oslo", "old": "Lima", "script": "Go to Lima"}
    assert item_html(form, texts, highlight=True).count("<mark") == 4
    plain = item_html(form, texts, highlight=False)
    assert "<mark" not in plain and plain.count("se-title") == 4
    assert plain.index("The capital") < plain.index("Go to Lima")


def headings(page: object) -> list[str]:
    return [s.value for s in page.subheader]  # type: ignore[attr-defined]


def test_people_read_their_own_tasks_and_the_lead_reads_all(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann", task="rate_script")
    people.invite(db, "bob")
    for name in ("questions", "questions-2"):
        pilot(db, store, "ann", "bob", task="filter_question", name=name)
    people.invite(db, "cho")
    one, two = (f"{make_task(t).form.title} ({make_task(t).form.label})" for t in ("rate_script", "filter_question"))
    assert headings(open_page("rate.show_guidelines", "ann")) == [one, two], (
        "two campaigns of a task have one guideline"
    )
    assert headings(open_page("rate.show_guidelines", "bob")) == [two]
    assert headings(open_page("rate.show_guidelines", "lea")) == [one, two]
    nobody = open_page("rate.show_guidelines", "cho")
    assert headings(nobody) == [] and "Nothing is assigned" in texts(nobody)


def test_every_question_hint_anchor_and_reason_is_there(db: RatingsDB, store: Store, open_page: Open) -> None:
    for n, task in enumerate(("rate_script", "filter_question", "quality")):
        pilot(db, store, "ann", task=task, name=f"c{n}")
    text = texts(open_page("rate.show_guidelines", "ann"))
    for task in ("rate_script", "filter_question", "quality"):
        form = make_task(task).form
        for f in form.fields:
            if f.kind == "text":
                continue
            assert f.asks in text
            assert f.hint in text
            assert all(c.text in text for c in f.choices)
            if f.kind == "scale":
                assert f"{f.low} = {f.low_text}" in text and f"{f.high} = {f.high_text}" in text


def _main() -> None:
    from annotation_ui.app.main import main

    main()


@pytest.fixture
def contexts(monkeypatch: pytest.MonkeyPatch) -> list[PageContext]:
    """The contexts that the first pages of raters and leads were shown with."""
    results: list[PageContext] = []
    pytest.importorskip("streamlit", reason="streamlit is not installed")
    for page in ("rate.show_rating", "lead.show_progress"):
        monkeypatch.setattr(f"annotation_ui.app.{page}", results.append)
    return results


def app(monkeypatch: pytest.MonkeyPatch, db: RatingsDB, token: str | None, *words: str) -> Any:
    from streamlit.testing.v1 import AppTest

    monkeypatch.setattr(sys, "argv", ["main.py", str(db.path), *words])
    page = AppTest.from_function(_main, default_timeout=60)
    if token is not None:
        page.session_state["token"] = token
    return page.run()


def test_a_session_gives_its_own_person_the_file_and_the_snapshot(
    db: RatingsDB, contexts: list[PageContext], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    token = people.log_in(db, people.invite(db, "ann")) or ""
    lead = people.log_in(db, people.invite(db, "lea", role="lead")) or ""
    app(monkeypatch, db, token)
    app(monkeypatch, db, lead, str(tmp_path / "snapshot.duckdb"))
    ann, lea = contexts
    assert (ann.person, ann.token, ann.store) == (people.get_rater(db, "ann"), token, None)
    assert (lea.person, lea.token, lea.store) == (people.get_rater(db, "lea"), lead, tmp_path / "snapshot.duckdb")
    assert ann.db.path == db.path


@pytest.mark.parametrize("token", [None, "", "guess"])
def test_without_a_session_no_page_is_given_anything(
    db: RatingsDB, contexts: list[PageContext], monkeypatch: pytest.MonkeyPatch, token: str | None
) -> None:
    people.invite(db, "ann")
    page = app(monkeypatch, db, token)
    assert contexts == [] and [t.label for t in page.text_input] == ["Secret"]


@pytest.mark.parametrize("end", [people.invite, people.delete_rater], ids=["a new secret", "deletion"])
def test_a_session_that_ends_meanwhile_ends_the_page(
    db: RatingsDB, contexts: list[PageContext], monkeypatch: pytest.MonkeyPatch, end: Callable[[RatingsDB, str], object]
) -> None:
    token = people.log_in(db, people.invite(db, "ann"))
    page = app(monkeypatch, db, token)
    end(db, "ann")
    page.run()
    assert len(contexts) == 1 and page.text_input[0].label == "Secret"


def test_logging_out_ends_the_session_on_the_server(
    db: RatingsDB, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("streamlit", reason="streamlit is not installed")
    pilot(db, store, "ann")
    token = people.log_in(db, people.invite(db, "ann"))
    page = app(monkeypatch, db, token)
    assert "Logged in as ann" in "".join(c.value for c in page.sidebar.caption)
    button(page, "Log out").click().run()
    assert people.authenticate(db, token) is None
    assert "token" not in page.session_state and page.text_input[0].label == "Secret"
    assert "ann" not in texts(page)


def test_a_ratings_file_that_is_gone_is_told_in_one_sentence(
    db: RatingsDB, contexts: list[PageContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    db.close()
    db.path.unlink()
    page = app(monkeypatch, db, "x")
    assert "no such ratings file" in page.error[0].value.replace("\\", "") and not page.exception and contexts == []


def test_a_set_of_choices_is_always_shown_and_has_no_letters() -> None:
    """Tags are an answer, not the reasons of a no: they were hidden until a question was answered no."""
    form = make_task("curate_probe").form
    rule = reasons_style(form, {f.name: f"c/i/{f.name}" for f in form.fields})
    assert '[data-testid="stForm"] .st-key-c-i-tags {display: block !important;}' in rule
    assert ".st-key-c-i-tags button::before {content: none" in rule and "st-key-c-i-reasons" not in rule


def test_forms_with_something_left_to_do_are_not_saved_by_the_last_answer() -> None:
    at_once = {name for name in TASKS.names() if can_save_at_once(make_task(name).form)}
    assert {"rate_script", "rate_executability", "compare_scripts", "filter_question", "quality"} <= at_once
    assert not {"curate_probe"} & at_once
    assert not any(can_save_at_once(make_task(name, spans=True).form) for name in TASKS.names()), "marks come last"
