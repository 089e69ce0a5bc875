"""Pieces of pages: hostile text stays text, fields give back what was answered, faults are readable."""

from __future__ import annotations

from typing import Any

import pytest

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.tasks import TASKS
from annotation_ui.tasks.forms import Field, FieldOption

widgets: Any = pytest.importorskip("annotation_ui.app.widgets", reason="streamlit is not installed")
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
        "Do the very next words have to be the old or the new answer? no · "
        "Why not? The same as another question + Broken, unclear or ungrammatical text"
    )
    assert widgets.answers_in_words(form, {}) == ""
