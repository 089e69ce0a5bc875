"""The lead's view of the store: items with verdicts and lineage, and the yield, from a snapshot."""

from __future__ import annotations

import streamlit as st

from annotation_ui.app import widgets
from annotation_ui.app.page_context import PageContext
from annotation_ui.campaigns.campaign import make_task


def show(context: PageContext) -> None:
    """An item of a campaign: what is shown, what everybody said, and where it comes from."""
    st.title("Items")
    names = [c.name for c in context.db.campaigns()]
    if not names:
        st.info("There is no campaign yet.")
        return
    name = st.selectbox("Campaign", names)
    task, items = make_task(context.db.campaign(name).task), context.db.items(name)
    wanted = st.text_input("Find in the texts").casefold()
    found = [
        i for i, p in items.items() if not wanted or any(wanted in t.casefold() for t in (*p.item.shown.values(), i))
    ]
    st.caption(f"{len(found)} of {len(items)} items")
    if not found:
        return
    item = found[int(st.number_input("Item", 1, len(found), 1)) - 1]
    placed = items[item]
    left, right = st.columns(2, gap="medium")
    with left:
        widgets.show_texts(task.form, placed.item.shown)
    with right:
        about = f"{item}, {placed.purpose}, case {placed.item.case}, stratum {placed.item.stratum or 'none'}"
        probability = "" if placed.probability is None else f", probability {placed.probability:.3g}"
        widgets.show_text("Item", about + probability)
        rows = [
            {"person": r.person, "saved (UTC)": r.saved_at[:19].replace("T", " "), "answers": _said(r.answers)}
            for r in context.db.history(name, item=item)
        ]
        st.dataframe(rows, hide_index=True, width="stretch")
        _from_store(context, item)


def _said(answers: dict[str, object] | None) -> str:
    return "withdrawn" if answers is None else widgets.answers_line(answers)


def _from_store(context: PageContext, item: str) -> None:
    if context.store is None:
        st.caption("Start with --store SNAPSHOT to see verdicts and lineage here.")
        return
    from curation.store.store import Store
    from schemas.core.errors import UserError

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
    for title, rows in (("Verdicts", verdicts), ("Lineage", lineage)):
        st.write(title)
        if rows:
            st.dataframe(rows, hide_index=True, width="stretch")
        else:
            st.caption("None in this snapshot.")


def show_yield(context: PageContext) -> None:
    """How many items of each kind the store holds, and what the checks say of them."""
    st.title("Yield")
    if context.store is None:
        st.info("Start with --store SNAPSHOT to see the yield here.")
        return
    from collections import Counter

    from curation.store.store import Store

    with Store.open(context.store) as store:
        counts = store.stats()
        labels = Counter((v.by, v.label or "measured") for v in store.verdicts())
    rows = [{"verdict by": by, "label": label, "count": n} for (by, label), n in sorted(labels.items())]
    if rows:
        st.dataframe(rows, hide_index=True, width="stretch")
    else:
        st.caption("No verdicts in this snapshot.")
    with st.expander("All counts of the store"):
        st.code(widgets.as_json(counts), language="json")
