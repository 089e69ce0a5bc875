"""The lead's view of items: every answer, and verdicts and lineage from a snapshot of the store."""

from __future__ import annotations

from typing import Any

import streamlit as st

from annotation_ui.app import widgets
from annotation_ui.app.lead.progress import lead_table
from annotation_ui.app.page_context import PageContext
from annotation_ui.ratings.database import CampaignItem
from schemas.core.errors import UserError
from schemas.text.counting import counted


def show(context: PageContext) -> None:
    """An item of a campaign: what is shown, what everybody said, and where it comes from."""
    widgets.apply_style("lead")
    opened = widgets.campaign_page(context, "Items")
    if opened is None:
        return
    name, task = opened
    items = context.db.items(name)
    wanted = st.text_input("Search the texts and ids").casefold()
    matches = [
        i for i, p in items.items() if not wanted or any(wanted in t.casefold() for t in (*p.item.shown.values(), i))
    ]
    st.caption(f"{len(matches)} of {counted(len(items), 'item')}")
    if not matches:
        return
    item = matches[int(st.number_input(f"Item (1 to {len(matches)})", 1, len(matches), 1)) - 1]
    placed = items[item]
    left, right = st.columns(2, gap="medium")
    with left:
        widgets.show_texts(task.form, placed.item.shown)
    with right:
        widgets.show_text("About this item", _describe_item(item, placed))
    rows = [
        {
            "rater": r.person,
            "answers": "withdrawn" if r.answers is None else widgets.answers_in_words(task.form, r.answers),
            "saved (UTC)": r.saved_at[:19].replace("T", " "),
        }
        for r in context.db.history(name, item=item)
    ]
    _table("Answers", rows, "Nobody has answered yet.")
    _from_store(context, item)


def _describe_item(item: str, placed: CampaignItem) -> str:
    lines = [f"id: {item}", f"purpose: {placed.purpose}", f"case: {placed.item.case}"]
    lines += [f"stratum: {placed.item.stratum}"] if placed.item.stratum else []
    lines += [] if placed.probability is None else [f"inclusion probability: {placed.probability:.3g}"]
    return "\n".join(lines)


def _table(title: str, rows: list[dict[str, Any]], empty: str) -> None:
    st.write(f"**{title}**")
    if rows:
        st.html(lead_table(list(rows[0]), [["" if v is None else str(v) for v in row.values()] for row in rows]))
    else:
        st.caption(empty)


def _from_store(context: PageContext, item: str) -> None:
    """Verdicts and lineage from the lead's snapshot of the store, or a line that says why there are none."""
    from curation.store.store import Store

    if context.store is None:
        st.info("To see verdicts and lineage here, start the app with --store SNAPSHOT.")
        return
    try:
        with Store.open(context.store) as store:
            verdicts = [
                {"by": v.by, "label": v.label, "value": v.value, "reason": v.reason} for v in store.verdicts([item])
            ]
            lineage = [
                {"stage": x.stage, "made (UTC)": x.made_at[:19], "model": x.model, "prompt": x.prompt}
                for x in store.lineage(item)
            ]
    except UserError as error:
        st.warning(widgets.escape_markdown(str(error)))
        return
    _table("Verdicts", verdicts, "None in this snapshot.")
    _table("Lineage", lineage, "None in this snapshot.")
