"""Campaigns: items drawn from the store with known probabilities, assigned to people; groups; who is how far."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from statistics import median
from typing import Any, Literal, NamedTuple

from pydantic import Field, model_validator

from annotation_ui.campaigns.assignment import assign
from annotation_ui.campaigns.control_items import (
    RaterControlItem,
    is_control,
    place_control_item,
    refuse_double_use,
    wrong_fields,
)
from annotation_ui.ratings.database import Assignment, Campaign, CampaignItem, RatingsDB, Revision
from annotation_ui.ratings.open_items import answered_items, next_item, skipped_items, skips_of_campaign
from annotation_ui.ratings.raters import consents, list_raters, web_address
from annotation_ui.tasks import TASKS
from annotation_ui.tasks.base import RatingTask, TaskItem
from annotation_ui.tasks.forms import Form
from curation.quality.sample import allocate
from curation.store.store import Store
from schemas.core.clock import now
from schemas.core.config import Options, validate
from schemas.core.errors import UserError
from schemas.core.ids import content_id, seed

LONGEST_CONSENT = 100_000  # characters


class CampaignOptions(Options):
    """How a campaign's items are chosen and assigned.

    Attributes:
        overlap: Raters per item.
        batch: Items a batch.
        percent: How many of the store's items, stratified; 100 for all.
        least: From every stratum at the least, when sampled.
        only: ``all`` items, or those that the checks are ``unsure`` about (for people to decide).
        consent: What people agree to before they begin; empty for none.
        number: How many items, in place of a percentage; None for a percentage.
        group: Campaigns of one group ask about the same drawn items; empty for a campaign on its own.
        spans: Whether words of the shown texts can be marked.
        stop_width: The round is over once the interval of every difference between methods is narrower; None: never.
        completion_code: What the finish page tells, for a crowd service; empty for none.
        completion_url: Where the finish page leads, likewise.
    """

    overlap: int = 2
    batch: int = 20
    percent: float = Field(default=100.0, gt=0, le=100)
    least: int = 1
    only: Literal["all", "unsure"] = "all"
    consent: str = ""
    number: int | None = None
    group: str = ""
    spans: bool = False
    stop_width: float | None = None
    completion_code: str = ""
    completion_url: str = ""

    @model_validator(mode="after")
    def _check_texts(self) -> CampaignOptions:
        code, url, text = self.completion_code, self.completion_url, self.consent
        if code and not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", code):
            raise ValueError("a completion code is 1 to 64 letters, digits, - or _")
        if url and web_address(url, "https") is None:
            raise ValueError("a completion address begins with https:// and names a host")
        if text and not text.strip():
            raise ValueError("the consent text is empty; write what raters agree to, or leave it out")
        if any(c in text for c in "\x00\ufffd") or any("\ud800" <= c <= "\udfff" for c in text):
            raise ValueError("the consent text is no plain text; save it as UTF-8")
        if len(text) > LONGEST_CONSENT:
            raise ValueError(f"the consent text has {len(text)} characters; allowed: at most {LONGEST_CONSENT}")
        return self


def campaign_options(db: RatingsDB, name: str, options: Mapping[str, Any]) -> CampaignOptions:
    """The options of a campaign: those that are given now, else those that it was made with, else the usual ones.

    Args:
        db: The ratings file.
        name: Of the campaign, which may not be there yet.
        options: By name; None, False and empty text count as not given.
    """
    known = set(CampaignOptions.model_fields)
    earlier = next((c.settings for c in db.campaigns() if c.name == name), {})
    earlier_options = {k: v for k, v in earlier.items() if k in known and v is not None}
    now_given = {k: v for k, v in options.items() if v not in (None, False, "")}
    if {"number", "percent"} & now_given.keys():  # one replaces the other
        earlier_options = {k: v for k, v in earlier_options.items() if k not in ("number", "percent")}
    return validate(CampaignOptions, earlier_options | now_given, where=f"campaign '{name}'")


def as_begun(sharing: CampaignOptions, before: Campaign) -> CampaignOptions:
    """Options of a campaign that is there: its group and its form stay as they were.

    Raises:
        UserError: words shall be marked, and could not be so far.
    """
    marking = bool(before.settings.get("spans"))
    if sharing.spans and not marking:
        raise UserError(
            f"the campaign '{before.name}' was made without marked words",
            where="spans",
            fix="leave them out, or make a new campaign with them",
        )
    return sharing.model_copy(
        update={"group": sharing.group or str(before.settings.get("group", "")), "spans": marking}
    )


def draw_sample(items: Sequence[TaskItem], size: CampaignOptions, *, name: str) -> list[CampaignItem]:
    """A stratified sample of items with known inclusion probabilities (calibration weights by them).

    The same name draws the same items.

    Args:
        items: All that could be judged.
        size: Percent or number; from 100 % on, all of them.
        name: Seeds the draw: the campaign's, or its group's.

    Raises:
        UserError: more items than there are, or fewer than the strata need.
    """
    strata: dict[str, list[TaskItem]] = defaultdict(list)
    for item in items:
        strata[item.stratum].append(item)
    sizes = {s: len(strata[s]) for s in sorted(strata)}
    if size.percent >= 100 and size.number is None:
        return [CampaignItem(i, probability=1.0) for i in items]
    percent = _percent(sizes, size)
    rng = random.Random(seed(name, "sample"))
    shares = allocate(sizes, percent, min_per_stratum=size.least, rng=rng)
    return [
        CampaignItem(item, probability=share.probability)
        for stratum, share in shares.items()
        for item in rng.sample(sorted(strata[stratum], key=lambda i: i.id), share.drawn)
    ]


def _percent(sizes: Mapping[str, int], size: CampaignOptions) -> float:
    """The percentage that comes to the wanted number, strata with their least included."""
    if size.number is None:
        return size.percent
    total = sum(sizes.values())
    lowest = sum(min(size.least, n) for n in sizes.values())
    if not max(1, lowest) <= size.number <= total:
        raise UserError(
            f"{size.number} items cannot be drawn",
            allowed=f"{max(1, lowest)} to {total} ({len(sizes)} strata, at least {size.least} of each)",
        )
    small: set[str] = set()
    while True:  # a small stratum gives its least; the others share what is left
        rest = sum(n for s, n in sizes.items() if s not in small)
        left = size.number - sum(min(size.least, sizes[s]) for s in small)
        fraction = left / rest if rest else 1.0
        more = {s for s, n in sizes.items() if n * fraction < size.least - 1e-9} | small
        if more == small:
            return 100 * fraction
        small = more


def make_task(name: str, *, spans: bool = False) -> RatingTask:
    """A task by name; ``spans``: words can be marked too."""
    task: RatingTask = TASKS.get(name)()
    return task.with_spans() if spans else task


def task_of(db: RatingsDB, name: str) -> RatingTask:
    """The task of a campaign, with marked words where it was made so."""
    campaign = db.campaign(name)
    return make_task(campaign.task, spans=bool(campaign.settings.get("spans")))


def create_campaign(
    db: RatingsDB,
    store: Store,
    name: str,
    task: RatingTask,
    sharing: CampaignOptions,
    *,
    known: Sequence[RaterControlItem] = (),
) -> list[CampaignItem]:
    """Make a campaign, or look for new items of one that is there; then assign (see ``assign_items``).

    Args:
        db: Where answers land.
        store: Where items come from.
        name: Of the campaign.
        task: What is asked.
        sharing: How.
        known: Training and attention items.

    Raises:
        UserError: the store has nothing for this task, the name is taken by another task, the form was changed under
            its version, a control item is a real item, or the sample cannot be drawn.
    """
    before = {c.name: c for c in db.campaigns()}.get(name)
    if before is not None and before.task == task.form.name:
        task = campaign_task(db, name)
    items = list(task.items(store))
    if sharing.only == "unsure":
        open_ = {v.item_id for v in store.verdicts(stale=False) if v.label == "unsure"}
        items = [i for i in items if i.id in open_]
    if not items:
        scripts = task.level == "ordinal" and task.source_hint == RatingTask.source_hint
        fix = "generate scripts first, or add them with: scedit annotate add-scripts" if scripts else task.source_hint
        raise UserError(f"the store has nothing for '{task.form.name}'", where=str(store.path), fix=fix)
    if before is not None and before.task == task.form.name:
        sharing = as_begun(sharing, before)
    elif sharing.spans:
        task = task.with_spans()
    refuse_disorder(db, name, task.form.name, sharing.group)
    placed_before = db.items(name) if before else {}
    controls = [place_control_item(k, task) for k in known]
    drawn = _draw_items(db, name, [i for i in items if not is_control(i, known)], sharing, placed_before, before)
    refuse_double_use([*placed_before.values(), *drawn], known)
    settings = sharing.model_dump(mode="json") | {"form_digest": form_digest(task.form)}
    campaign = Campaign(name, task.form.name, task.form.label, settings, now("milliseconds"))
    db.add_campaign(campaign)
    db.add_items(name, [*drawn, *controls], [])
    return [*drawn, *controls]


def _draw_items(
    db: RatingsDB,
    name: str,
    items: list[TaskItem],
    sharing: CampaignOptions,
    placed: dict[str, CampaignItem],
    before: Campaign | None,
) -> list[CampaignItem]:
    """The items that are new in a campaign: drawn for the first time, as its group drew them, or new in the store.

    Raises:
        UserError: a sample is to have another size, or its group's first campaign draws it.
    """
    leader = next((c.name for c in campaigns_of_group(db, sharing.group) if c.name != name), None)
    first = next((c.name for c in campaigns_of_group(db, sharing.group)), name)
    if leader is not None and first != name:
        if sharing.percent < 100 or sharing.number is not None:
            raise UserError(
                f"the items of the group '{sharing.group}' are drawn by its first campaign, '{first}'",
                fix="leave out --percent and --number",
            )
        chosen = {i: p for i, p in db.items(first).items() if p.purpose == "real"}
        there = {i.id: i for i in items}
        if lost := set(chosen) - set(there):
            raise UserError(
                f"{len(lost)} of the {len(chosen)} items of the group '{sharing.group}' cannot be had for this task",
                where=str(sorted(lost)[0]),
            )
        return [CampaignItem(there[i], probability=p.probability) for i, p in chosen.items() if i not in placed]
    if before is None:
        return draw_sample(items, sharing, name=sharing.group or name)
    if any(getattr(sharing, name) != before.settings[name] for name in ("percent", "number", "least")):
        raise UserError(
            f"the items of '{name}' are drawn: a sample neither grows nor shrinks",
            fix="draw a second one, in a campaign with another name",
        )
    if sharing.percent < 100 or sharing.number is not None:
        return []
    return [CampaignItem(i, probability=1.0) for i in items if i.id not in placed]


def form_digest(form: Form) -> str:
    """Of everything that a form shows and asks: another one means that people were asked otherwise."""
    payload = form.model_dump(mode="json")
    return content_id("form", payload)


def campaign_task(db: RatingsDB, name: str) -> RatingTask:
    """The task of a campaign, with the very form that the campaign was made with.

    Raises:
        UserError: the form has another version by now, or was changed under its version.
    """
    campaign = db.campaign(name)
    task = task_of(db, name)
    digest = campaign.settings.get("form_digest")
    if campaign.form != task.form.label:
        raise UserError(
            f"the campaign was made with the form {campaign.form}, the task now has {task.form.label}",
            where=name,
            fix="make a new campaign for the new form, or use the earlier program for this one",
        )
    if digest is not None and digest != form_digest(task.form):
        raise UserError(
            f"the form {campaign.form} was changed after the campaign was made, and its version was not raised",
            where=name,
            fix="put the form back, or raise its version and make a new campaign",
        )
    return task


def started_pairs(db: RatingsDB, name: str) -> set[tuple[str, str]]:
    """Person and item of all that was answered or skipped in a campaign, withdrawn answers too."""
    return {(r.person, r.item) for r in db.history(name)} | set(skips_of_campaign(db, name))


def assign_items(db: RatingsDB, name: str) -> tuple[int, int]:
    """Share a campaign's items out among all raters; returns assignments added and taken back.

    Call it again when people or items were added: what is answered or begun stays where it is.

    Args:
        db: The ratings file.
        name: Of the campaign.

    Raises:
        UserError: fewer raters than the overlap asks for.
    """
    campaign = db.campaign(name)
    task = campaign_task(db, name)
    refuse_unshared(db, campaign)
    raters = [p.name for p in list_raters(db) if p.role == "rater"]
    seeded_by = str(campaign.settings.get("group") or name) if task.same_people else name
    new, taken = assign(
        list(db.items(name).values()),
        raters,
        overlap=int(campaign.settings["overlap"]),
        batch=int(campaign.settings["batch"]),
        name=seeded_by,
        existing=db.assignments(name),
        started=started_pairs(db, name),
    )
    db.add_items(name, [], new, taken)
    return len(new), len(taken)


class RaterProgress(NamedTuple):
    """How far somebody is.

    Attributes:
        person: Who; ``synthetic`` where it is a program.
        assigned, done: Real items.
        training: Trained items answered, of all.
        attention: Attention items answered rightly, of those answered.
        seconds: Median seconds an item, None before the first.
        last: When the last save was.
        odd_times: Answers whose time cannot be one (zero, negative, text); the median leaves them out.
        skipped: Items that the person could not judge.
    """

    person: str
    synthetic: bool
    assigned: int
    done: int
    training: tuple[int, int]
    attention: tuple[int, int]
    seconds: float | None
    last: str | None
    odd_times: int = 0
    skipped: int = 0


def rater_progress(db: RatingsDB, name: str) -> list[RaterProgress]:
    """Everybody's progress in a campaign, by name."""
    task, items = task_of(db, name), db.items(name)
    known = {p.name: p for p in list_raters(db)}
    assigned: dict[str, list[Assignment]] = {}
    for a in db.assignments(name):
        assigned.setdefault(a.person, []).append(a)
    answers: dict[str, dict[str, Revision]] = {}
    for r in db.current_answers(name):
        answers.setdefault(r.person, {})[r.item] = r
    skipped = Counter(person for person, _ in skips_of_campaign(db, name))
    out = []
    for person in sorted({*assigned, *answers}):
        mine = answers.get(person, {})
        purposes = ("real", "training", "attention")
        of = {p: [a for a in assigned.get(person, []) if items[a.item].purpose == p] for p in purposes}
        watched = [mine[a.item] for a in of["attention"] if a.item in mine]
        right = sum(not wrong_fields(items[r.item], task, r.answers or {}) for r in watched)
        times = [r.seconds for r in mine.values() if r.seconds is not None]
        out.append(
            RaterProgress(
                person,
                known[person].synthetic if person in known else False,
                len(of["real"]),
                sum(a.item in mine for a in of["real"]),
                (sum(a.item in mine for a in of["training"]), len(of["training"])),
                (right, len(watched)),
                median(times) if times else None,
                max((r.saved_at for r in mine.values()), default=None),
                sum(r.odd_time for r in mine.values()),
                skipped[person],
            )
        )
    return out


def campaigns_of_group(db: RatingsDB, group: str) -> list[Campaign]:
    """The campaigns of a group, oldest first: the first one drew the items. None for no group."""
    return [c for c in db.campaigns() if group and c.settings.get("group") == group]


def earlier_campaigns(db: RatingsDB, campaign: Campaign) -> list[Campaign]:
    """Campaigns of the group that everybody does before this one: theirs shows less than this one tells."""
    after = TASKS.get(campaign.task).after
    return [c for c in campaigns_of_group(db, str(campaign.settings.get("group", ""))) if c.task in after]


def waiting_for(db: RatingsDB, campaign: Campaign, person: str) -> str | None:
    """The campaign that a person has to finish first; None where nothing stands before this one."""
    for earlier in earlier_campaigns(db, campaign):
        if next_item(db, earlier.name, person) is not None:
            return earlier.name
    return None


def closed_items(db: RatingsDB, campaign: Campaign, person: str) -> set[str]:
    """Items whose answer a person cannot change any more: a later campaign shows more of them.

    That is what the person answered or skipped there, and the item that stands open there now: it may be on the screen.
    """
    later = [
        c
        for c in campaigns_of_group(db, str(campaign.settings.get("group", "")))
        if campaign.task in TASKS.get(c.task).after
    ]
    return {item for c in later for item in _seen_items(db, c, person)}


def _seen_items(db: RatingsDB, campaign: Campaign, person: str) -> set[str]:
    seen = {*answered_items(db, campaign.name, person), *skipped_items(db, campaign.name, person)}
    if seen or waiting_for(db, campaign, person) is None:
        at = next_item(db, campaign.name, person)
        seen |= {at.item} if at else set()
    return seen


def refuse_disorder(db: RatingsDB, name: str, task: str, group: str) -> None:
    """Refuse a campaign that should have come before one that has answers already.

    Raises:
        UserError: it should.
    """
    for other in campaigns_of_group(db, group):
        if other.name != name and task in TASKS.get(other.task).after and db.history(other.name):
            raise UserError(
                f"'{task}' comes before '{other.task}', and '{other.name}' of the group '{group}' has answers already",
                fix="make it in a group of its own, for other raters",
            )


def refuse_unshared(db: RatingsDB, campaign: Campaign) -> None:
    """Refuse to assign a campaign before those that come first.

    Raises:
        UserError: one that comes first is not assigned.
    """
    for earlier in earlier_campaigns(db, campaign):
        if not db.assignments(earlier.name):
            raise UserError(
                f"'{earlier.name}' comes before '{campaign.name}' and is not assigned",
                fix=f"run: scedit annotate assign {earlier.name}",
            )


def refuse_outside_app(db: RatingsDB, campaign: Campaign, raters: Collection[str]) -> None:
    """Refuse to give out, in Label Studio or as sheets, what cannot be rated there as it should be.

    Neither can tell a trainee the right answer, so training items stay in the rating app and come first. Nor can they
    record that somebody agreed to the consent text, so that is done there, too.

    Args:
        db: The ratings file.
        campaign: What is to be given out.
        raters: For whom.

    Raises:
        UserError: nothing is assigned, the form was changed, somebody has to finish another campaign first, has not
            agreed to the consent text, or has training items left.
    """
    name = campaign.name
    if not raters:
        raise UserError(f"nothing of '{name}' is assigned", fix=f"run: scedit annotate assign {name}")
    campaign_task(db, name)
    items = db.items(name)
    in_app = "have it done in the rating app first: scedit annotate serve"
    for person in sorted(raters):
        if first := waiting_for(db, campaign, person):
            fix = "bring the answers to it into the ratings file first"
            raise UserError(f"'{first}' comes first, and {person} has not finished it", where=name, fix=fix)
        consent = str(campaign.settings.get("consent", ""))
        if consent and consent not in consents(db, person):
            what = f"{person} has not agreed to the consent text, and only the rating app can record it"
            raise UserError(what, where=name, fix=in_app)
        done = answered_items(db, name, person)
        mine = [a.item for a in db.assignments(name, person) if items[a.item].purpose == "training"]
        if left := sum(i not in done for i in mine):
            what = f"{person} has {left} training items left, and only the rating app shows the right answers"
            raise UserError(what, where=name, fix=in_app)
