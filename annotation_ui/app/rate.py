"""The rater's pages: one item after another, saved before the next is shown; own answers; guidelines."""

from __future__ import annotations

import html
from collections.abc import Mapping
from contextlib import suppress
from statistics import median
from typing import Literal
from urllib.parse import urlsplit

import streamlit as st

from annotation_ui.app import widgets
from annotation_ui.app.browser_parts import can_save_at_once
from annotation_ui.app.form import ItemView, handle_pending, show_item, show_skip
from annotation_ui.app.widgets import PageContext
from annotation_ui.campaigns.campaign import campaign_task, closed_items, task_of, waiting_for
from annotation_ui.ratings import raters
from annotation_ui.ratings.database import Assignment, Campaign, RatingsDB
from annotation_ui.ratings.open_items import answered_items, next_item, read_draft, skipped_items
from annotation_ui.ratings.raters import keep_preference
from annotation_ui.tasks.forms import Form
from schemas.core.errors import StoreError, UserError
from schemas.core.ids import digest

_TIMED = 5  # answers before the time that is left is estimated


def show_rating(context: PageContext) -> None:
    """The first campaign with something left, or the one that is chosen."""
    campaigns = [c for c in context.db.campaigns() if context.db.assignments(c.name, context.person.name)]
    if not campaigns:
        st.info(context.say("nothing_assigned"))
        return
    me = context.person.name
    unfinished = [c.name for c in campaigns if next_item(context.db, c.name, me)]
    campaign = _chosen(context, campaigns, [c for c in unfinished if not _obstacle(context, context.db.campaign(c))])
    if obstacle := _obstacle(context, campaign):
        st.warning(widgets.escape_markdown(obstacle))
        return
    consent = str(campaign.settings.get("consent", ""))
    if consent and consent not in raters.consents(context.db, context.person.name):
        _ask_consent(context, consent)
        return
    _work(context, campaign, [name for name in unfinished if name != campaign.name])


def _obstacle(context: PageContext, campaign: Campaign) -> str:
    """Why nobody can work on a campaign now: another comes first, or its form was changed; empty where nothing is."""
    first = waiting_for(context.db, campaign, context.person.name)
    if first:
        return context.say("finish_first", name=first)
    try:
        campaign_task(context.db, campaign.name)
    except UserError as error:
        return context.say("task_closed", fault=error.what)
    return ""


def _chosen(context: PageContext, campaigns: list[Campaign], unfinished: list[str]) -> Campaign:
    """The campaign that is open: the one that was chosen, else the first with something left."""
    names = {c.name: c for c in campaigns}
    opened = st.session_state.setdefault("campaign", unfinished[0] if unfinished else campaigns[0].name)
    if opened not in names:
        opened = st.session_state["campaign"] = campaigns[0].name
    if len(campaigns) > 1:
        with st.sidebar:
            st.caption(context.say("tasks"))
            for name in names:
                kind: Literal["primary", "secondary"] = "primary" if name == opened else "secondary"
                label = widgets.escape_markdown(name)
                st.button(label, type=kind, key=f"open-{name}", width="stretch", on_click=_open_campaign, args=(name,))
    return names[opened]


def _open_campaign(name: str) -> None:
    st.session_state["campaign"] = name
    st.session_state.pop("back", None)


def _ask_consent(context: PageContext, consent: str) -> None:
    st.subheader(context.say("before_begin"))
    widgets.show_text(context.say("consent"), consent)
    # a button for each text: one that was pressed below another text agrees to nothing
    if st.button(context.say("agree"), type="primary", key=f"agree-{digest([consent])}"):
        raters.consent(context.db, context.person.name, consent)
        st.rerun()


def _work(context: PageContext, campaign: Campaign, others: list[str]) -> None:
    """Save what was sent, then show the item that comes next."""
    faults = handle_pending(context, campaign.name)
    if faults and "shown" in st.session_state:  # what is filled in stays on the screen, whatever happened elsewhere
        st.session_state["back"] = st.session_state["shown"][1]
    db, me, task = context.db, context.person.name, task_of(context.db, campaign.name)
    mine = db.assignments(campaign.name, me)
    done = answered_items(db, campaign.name, me)
    skipped = skipped_items(db, campaign.name, me)
    closed = closed_items(db, campaign, me)
    passed = [a for a in mine if (a.item in done or a.item in skipped) and a.item not in closed]
    _progress(context, mine, done, skipped)
    _feedback(context, task.form)
    at = _place(mine, passed, done, skipped)
    if at is None:
        for fault in faults:
            st.error(fault)
        _show_end(context, campaign, others)
        _go_back(context, passed, None)
        return
    _options(context, task.form)
    placed = db.item(campaign.name, at.item)
    saved = db.history(campaign.name, person=me, item=at.item)
    before = (saved[-1].answers if at.item in done else None) or {}
    draft = read_draft(db, campaign.name, me, at.item, task.form)
    if at.item in done:
        st.info(context.say("answered_before"))
    elif at.item in skipped:
        st.info(context.say("skipped_before", reason=context.say(f"skip_{skipped[at.item].partition(':')[0]}")))
    view = ItemView(
        context, campaign.name, at.item, task.form, dict(placed.item.shown), draft or before,
        placed.purpose == "training", len(saved),
    )  # fmt: skip

    def buttons() -> None:
        with st.container(horizontal=True):
            _go_back(context, passed, at)
            if at.item not in done:
                show_skip(context, campaign.name, at.item)

    show_item(view, faults, buttons)


def _progress(
    context: PageContext, mine: list[Assignment], done: Mapping[str, float | None], skipped: Mapping[str, str]
) -> None:
    """How much is done, and how long the rest takes at this person's pace."""
    count, passed = sum(a.item in done for a in mine), sum(a.item in skipped for a in mine)
    words = [context.say("done", done=count, of=len(mine))]
    words += [context.say("skipped", count=passed)] if passed else []
    who, saved = st.session_state.get("saved-last", ("", ""))  # another person may have logged in in this tab
    words += [context.say("saved_last", answers=saved)] if saved and who == context.person.name else []
    times = [seconds for seconds in done.values() if seconds is not None]
    left = len(mine) - count - passed
    if left and len(times) >= _TIMED:
        minutes = max(1, round(left * median(times[-50:]) / 60))
        hours = round(minutes / 60)
        words.append(
            context.say("time_left_minutes", minutes=minutes)
            if minutes < 100
            else context.say("time_left_hours", hours=hours)
        )
    st.progress((count + passed) / len(mine), text=" · ".join(words))


def _options(context: PageContext, form: Form) -> None:
    """What a person may choose for the look and the pace of the page; kept with the account.

    Items about events have no two objects that could be highlighted. Until somebody chooses, an answer is saved by the
    last key wherever the form asks for nothing after it.
    """
    chosen: dict[str, str] = st.session_state.setdefault("preferences", {})
    if "auto_save" not in chosen:
        st.session_state["auto_save"] = can_save_at_once(form)

    def keep(name: str) -> None:
        chosen[name] = "yes" if st.session_state[name] else "no"
        with suppress(StoreError), RatingsDB(context.db.path) as db:  # of this visit only, then
            keep_preference(db, context.person.name, name, chosen[name])

    with st.sidebar:
        st.caption(context.say("options"))
        about_event = any(s.name == "event" for s in form.shows)
        for name in ("auto_save",) if about_event else ("highlight", "auto_save"):
            st.toggle(context.say(name), key=name, on_change=keep, args=(name,))


def _show_end(context: PageContext, campaign: Campaign, others: list[str]) -> None:
    """Thanks, once nothing is left in any campaign; else the next one. A crowd campaign ends with its code."""
    code, url = str(campaign.settings.get("completion_code", "")), str(campaign.settings.get("completion_url", ""))
    if code:
        st.success(widgets.escape_markdown(context.say("completion", code=code)))
    if url:
        link = context.say("completion_link", host=urlsplit(url).hostname)
        st.link_button(widgets.escape_markdown(link), url, type="primary")
    if not others:
        st.success(context.say("all_done"))
        return
    st.success(context.say("task_done"))
    label = widgets.escape_markdown(context.say("go_on", name=others[0]))
    st.button(label, type="primary", on_click=_open_campaign, args=(others[0],))


def _place(
    mine: list[Assignment], passed: list[Assignment], done: Mapping[str, float | None], skipped: Mapping[str, str]
) -> Assignment | None:
    """The item to show: the one gone back to, else the first that is neither answered nor skipped."""
    back = st.session_state.get("back")
    if back:
        previous = next((a for a in passed if a.item == back), None)
        if previous:
            return previous
        st.session_state.pop("back")
    return next((a for a in mine if a.item not in done and a.item not in skipped), None)


def _feedback(context: PageContext, form: Form) -> None:
    learned = st.session_state.pop("learned", None)
    if learned is None:
        return
    missed, expected = learned
    right = widgets.escape_markdown(widgets.answers_in_words(form, expected.get("answers", {})))
    because = widgets.escape_markdown(expected.get("because", ""))
    if missed:
        st.warning(context.say("training_wrong", answers=right, because=because))
    else:
        st.success(context.say("training_right", answers=right, because=because))


def _go_back(context: PageContext, passed: list[Assignment], at: Assignment | None) -> None:
    """Go back to the previous item: to look at one's own answer, and to change it."""
    earlier = [a for a in passed if at is None or a.position < at.position]

    def go(to: str | None) -> None:
        st.session_state.pop("back", None)
        if to is not None:
            st.session_state["back"] = to

    if earlier:
        key = f"back-{at.item if at else 'end'}"
        st.button(
            context.say("previous"), shortcut="Alt+ArrowLeft", key=key, on_click=go, args=(earlier[-1].item,)
        )  # fmt: skip
    if st.session_state.get("back"):
        st.button(context.say("forward"), key="forward", on_click=go, args=(None,))


PAGE = 10  # answers on a page


def show_own_answers(context: PageContext) -> None:
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
    at = 0
    if pages > 1:
        at = int(st.number_input(context.say("page_of", pages=pages), 1, pages, key=f"page-{campaign.name}")) - 1
    for item, line in lines[at * PAGE : (at + 1) * PAGE]:
        texts = db.item(campaign.name, item).item.shown
        names = {s.name for s in form.shows if texts.get(s.name)}
        name = next((n for n in ("question", "script", "cut", "example", "event") if n in names), "")
        text, button = st.columns([5, 1], vertical_alignment="center")
        first = " ".join(texts.get(name, "").split())[:140]
        text.html(
            f'<div class="se-text" dir="auto">{html.escape(first)}</div><div class="se-count">{html.escape(line)}</div>'
        )
        if item in closed:
            button.caption(context.say("closed_answer"))
        else:
            label = context.say("change")
            if button.button(
                label, key=f"change-{campaign.name}-{item}", on_click=_correct, args=(campaign.name, item)
            ):
                st.switch_page(st.session_state["rate_page"])


def _reason(context: PageContext, reason: str) -> str:
    kind, _, words = reason.partition(":")
    return context.say("cannot_judge") + ": " + context.say(f"skip_{kind}") + (f" ({words.strip()})" if words else "")


def _correct(campaign: str, item: str) -> None:
    st.session_state["campaign"], st.session_state["back"] = campaign, item


def show_guidelines(context: PageContext) -> None:
    """The guideline of every campaign that concerns the person."""
    st.title(context.say("page_guidelines"))
    lead = context.person.role == "lead"
    seen = [c for c in context.db.campaigns() if lead or context.db.assignments(c.name, context.person.name)]
    if not seen:
        st.info("There is no campaign yet." if lead else context.say("nothing_assigned"))
        return
    for form in {c.task: task_of(context.db, c.name).form for c in seen}.values():
        st.subheader(f"{form.title} ({form.label})")
        st.write(widgets.escape_markdown(form.intro))
        widgets.show_guideline(form)
    st.write(context.say("no_discussion"))
