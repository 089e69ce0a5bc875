"""Answers about pairs of scripts as comparisons of methods."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from annotation_ui.agreement.judgements import Judgement, live_judgements
from annotation_ui.campaigns.campaign import campaign_task
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks.generated_scripts import OUTCOMES, ComparisonTask, method_of
from curation.stats.bradley_terry import PairedComparison, Strengths, bradley_terry
from schemas.core.errors import UserError
from schemas.generated_scripts import GeneratedScript

if TYPE_CHECKING:
    from curation.store.store import Store


def comparisons_of(
    judgements: Sequence[Judgement], pairs: Mapping[str, tuple[str, ...]], store: Store, aspect: str
) -> list[PairedComparison]:
    """Answers about an aspect as comparisons of methods; those who could not judge are left out.

    Args:
        judgements: Answers.
        pairs: A and B by item.
        store: Where the scripts are.
        aspect: Name of the form's field.

    Raises:
        UserError: a script is not in the store.
    """
    methods: dict[str, str] = {}
    for script in store.all(GeneratedScript):
        methods[script.id] = method_of(script)
    out = []
    for j in judgements:
        if j.aspect != aspect or j.value not in OUTCOMES:
            continue
        if lost := [s for s in pairs[j.item] if s not in methods]:
            raise UserError(
                f"the store has no script '{lost[0]}' of the item '{j.item}'", where=str(store.path),
                fix="name the store that the campaign was made from",
            )  # fmt: skip
        a, b = (methods[s] for s in pairs[j.item])
        out.append(PairedComparison(a, b, OUTCOMES[str(j.value)], j.case))
    return out


def method_strengths(
    db: RatingsDB, store: Store, name: str, *, raters: Collection[str] = ()
) -> dict[str, Strengths | str]:
    """Strengths of the compared methods by aspect, or the sentence that says why there are none.

    Args:
        db: The ratings file.
        store: Where the scripts are.
        name: Of the campaign.
        raters: Whose answers count; everybody's where none is named.

    Raises:
        UserError: the campaign's items are no pairs, or its scripts are not in the store.
    """
    task = campaign_task(db, name)
    if not isinstance(task, ComparisonTask):
        raise UserError(f"the raters of '{name}' compare nothing: its task is '{task.form.name}'", where=str(db.path),
                        allowed="campaigns of compare_scripts or compare_executability")  # fmt: skip
    judgements = [j for j in live_judgements(db, name) if not raters or j.name in raters]
    pairs = {i: p.item.related for i, p in db.items(name).items() if p.purpose == "real"}
    out: dict[str, Strengths | str] = {}
    for field in task.form.asked_fields():
        rows = comparisons_of(judgements, pairs, store, field.name)
        try:
            out[field.name] = bradley_terry(rows)
        except UserError as error:
            out[field.name] = str(error)
    return out
