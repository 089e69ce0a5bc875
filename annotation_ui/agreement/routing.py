"""Sharing out by what tells most: open items go to the people from whom they narrow the methods' differences most."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from annotation_ui.agreement.judgements import live_judgements
from annotation_ui.agreement.method_means import facet_ratings, method_means, methods_of, stop_lines, varying_aspects
from annotation_ui.campaigns.assignment import pairs_in_words
from annotation_ui.campaigns.campaign import assign_items, campaign_task
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import skips_of_campaign
from annotation_ui.ratings.raters import list_raters
from annotation_ui.ratings.records import Assignment
from curation.stats.facet_means import PossibleRating, plan_ratings
from curation.stats.facets import FacetItem, facet_design, fit_facets
from schemas.core.errors import UserError


class AssignResult(NamedTuple):
    """What assigning did.

    Attributes:
        added, taken: Assignments added, and taken back.
        lines: In sentences: items that raters have in common, the stop rule, the routing.
    """

    added: int
    taken: int
    lines: tuple[str, ...] = ()


def assign_campaign(db: RatingsDB, name: str) -> AssignResult:
    """Share a campaign out as its options say: evenly; by what tells most; not at all once the stop rule is met.

    Without ``stop_width`` and ``routing`` it is ``assign_items``. Answers, and batches that have begun, are never
    moved; training and attention items stay with everybody.

    Raises:
        UserError: as ``assign_items``.
    """
    settings = db.campaign(name).settings
    width, routing = settings.get("stop_width"), bool(settings.get("routing"))
    if width is None and not routing:
        return AssignResult(*assign_items(db, name), _pairs_line(db, name))
    task = campaign_task(db, name)
    means = method_means(live_judgements(db, name), methods_of(db, name), task, width=width)
    lines = [*stop_lines(means)] if means.report else [f"No stop and no routing yet: {means.refused}."]
    if means.reached:
        taken = _open_assignments(db, name)
        db.add_items(name, [], [], taken)
        return AssignResult(0, len(taken), (*lines, f"{len(taken)} open assignments taken back: the round is over."))
    before = _pairs(db, name)
    assign_items(db, name)
    if routing and means.report is not None:
        count = _route(db, name)
        lines.append(f"{count} items go next to the people from whom they tell most.")
    after = _pairs(db, name)
    return AssignResult(len(after - before), len(before - after), (*_pairs_line(db, name), *lines))


def _pairs_line(db: RatingsDB, name: str) -> tuple[str, ...]:
    real = {id for id, item in db.items(name).items() if item.purpose == "real"}
    line = pairs_in_words(db.assignments(name), real)
    return (line,) if line else ()


def _pairs(db: RatingsDB, name: str) -> set[tuple[str, str]]:
    return {(a.person, a.item) for a in db.assignments(name)}


def _open_assignments(db: RatingsDB, name: str) -> list[Assignment]:
    """Assignments of real items that nobody has begun, in batches that have not begun either."""
    started = {(r.person, r.item) for r in db.history(name)} | set(skips_of_campaign(db, name))
    every, items = db.assignments(name), db.items(name)
    begun = {(a.person, a.batch) for a in every if (a.person, a.item) in started}
    return [
        a
        for a in every
        if (a.person, a.item) not in started and (a.person, a.batch) not in begun and items[a.item].purpose == "real"
    ]


def _route(db: RatingsDB, name: str) -> int:
    """Give everybody's next batch anew, by information; returns how many items that are."""
    campaign, items = db.campaign(name), db.items(name)
    open_ = _open_assignments(db, name)
    raters = {p.name for p in list_raters(db) if p.role == "rater"}
    batch, overlap = int(campaign.settings["batch"]), int(campaign.settings["overlap"])
    room = {p: min(n, batch) for p, n in Counter(a.person for a in open_).items() if p in raters}
    ratings = sorted(facet_ratings(live_judgements(db, name), methods_of(db, name), campaign_task(db, name)))
    real = {i: p for i, p in items.items() if p.purpose == "real"}
    waiting = [FacetItem(i, p.item.case, p.item.stratum) for i, p in real.items()]
    try:
        fit = fit_facets(facet_design(varying_aspects(ratings), waiting))
    except UserError:
        return 0
    firm = [a for a in db.assignments(name) if a not in set(open_) and a.item in real]
    held, held_by_item = {(a.person, a.item) for a in firm}, Counter(a.item for a in firm)
    possible = [PossibleRating(p, i) for p in room for i in real if (p, i) not in held and held_by_item[i] < overlap]
    plan = [
        (p.person, p.item)
        for p in plan_ratings(fit, possible, room, places={i: overlap - held_by_item[i] for i in real})
    ]
    assign_items(db, name, planned=plan)
    return len(plan)
