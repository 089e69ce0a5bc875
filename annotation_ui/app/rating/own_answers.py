"""A rater's own answers, newest first: to look at, and to correct."""

from __future__ import annotations

import html

import streamlit as st

from annotation_ui.app import widgets
from annotation_ui.app.page_context import PageContext
from annotation_ui.campaigns.campaign import closed_items, task_of
from annotation_ui.ratings.database import Campaign
from annotation_ui.ratings.open_items import skipped_items

PAGE = 10  # answers on a page


def show(context: PageContext) -> None:
    """Every answer of the open campaign with a way to change it, and what was skipped."""
    st.title(context.say("page_answers"))
    mine = [c for c in context.db.campaigns() if context.db.assignments(c.name, context.person.name)]
    if not mine:
        st.info(context.say("nothing_assigned"))
        return
    for campaign in mine:
        _campaign(context, campaign, heading=len(mine) > 1)


def _campaign(context: PageContext, campaign: Campaign, *, heading: bool) -> None:
    db, me = context.db, context.person.name
    form = task_of(db, campaign.name).form
    current = db.current_answers(campaign.name, person=me)
    answers = {r.item: widgets.answers_in_words(form, r.answers or {}) for r in current}
    skipped = skipped_items(db, campaign.name, me)
    lines = list(answers.items())[::-1] + [(i, _reason(context, r)) for i, r in list(skipped.items())[::-1]]
    if heading:
        st.subheader(widgets.escape_markdown(campaign.name), anchor=False)
    if not lines:
        st.info(context.say("no_answers"))
        return
    closed = closed_items(db, campaign, me)
    pages = -(-len(lines) // PAGE)
    at = min(int(st.session_state.get(f"answers-page-{campaign.name}", 0)), pages - 1)
    for item, line in lines[at * PAGE : (at + 1) * PAGE]:
        texts = db.item(campaign.name, item).item.shown
        names = {s.name for s in form.shows if texts.get(s.name)}
        name = next((n for n in ("question", "script", "cut", "example", "event") if n in names), "")
        text, button = st.columns([5, 1], vertical_alignment="center")
        first = " ".join(texts.get(name, "").split())[:140]
        text.html(
            f'<div class="se-text" dir="auto">{html.escape(first)}</div><div class="se-ends">{html.escape(line)}</div>'
        )
        if item in closed:
            button.caption(context.say("closed_answer"))
        else:
            label = context.say("change")
            if button.button(
                label, key=f"change-{campaign.name}-{item}", on_click=_go_back, args=(campaign.name, item)
            ):
                st.switch_page(st.session_state["rate_page"])
    if pages > 1:
        _turn(context, campaign.name, at, pages)


def _reason(context: PageContext, reason: str) -> str:
    kind, _, words = reason.partition(":")
    return context.say("cannot_judge") + ": " + context.say(f"skip_{kind}") + (f" ({words.strip()})" if words else "")


def _go_back(campaign: str, item: str) -> None:
    st.session_state["campaign"], st.session_state["back"] = campaign, item


def _turn(context: PageContext, campaign: str, at: int, pages: int) -> None:
    def go(to: int) -> None:
        st.session_state[f"answers-page-{campaign}"] = to

    with st.container(horizontal=True, vertical_alignment="center"):
        if at > 0:
            st.button(context.say("earlier_page"), on_click=go, args=(at - 1,), key=f"newer-{campaign}")
        st.caption(context.say("page_of", page=at + 1, pages=pages))
        if at < pages - 1:
            st.button(context.say("later_page"), on_click=go, args=(at + 1,), key=f"older-{campaign}")
