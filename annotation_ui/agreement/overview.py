"""The figures of a lead's page that take long: computed by a process of their own, for the state that a digest names.

``python -m annotation_ui.agreement.overview RATINGS CAMPAIGN [STORE]`` prints them as JSON.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from pydantic import ValidationError

from annotation_ui.agreement.method_means import method_means, methods_of, stop_lines
from annotation_ui.agreement.page import page_body
from annotation_ui.agreement.report import (
    Judgement,
    TaskReport,
    agreement_report,
    judgements_by_judges,
    live_judgements,
)
from annotation_ui.campaigns.campaign import task_of
from annotation_ui.child_environment import child_environment
from annotation_ui.ratings.database import RatingsDB
from curation.stats.bootstrap import DEFAULT, Resampling
from curation.stats.estimates import Estimate
from curation.stats.paired import holm
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.core.records import Frozen

FAST, ALIKE, ENOUGH = 0.5, 0.95, 10
"""Fast: below this share of the others' median time. Alike: this share of the same answers. From so many items on."""


class Overview(Frozen):
    """A campaign's figures.

    Attributes:
        alphas: Agreement of each aspect with its interval.
        notes: By person, what a lead should look at: fast, drifting, always the same answer.
        severity: By person, how much lower than the panel they rate (points).
        stop: What the stop rule says; empty without one.
        body: The agreement page, as HTML.
        warning: Why something is missing, such as a snapshot that cannot be read.
    """

    alphas: dict[str, Estimate]
    notes: dict[str, tuple[str, ...]]
    severity: dict[str, Estimate]
    stop: tuple[str, ...]
    body: str
    warning: str = ""


def answers_digest(db: RatingsDB, name: str, store: Path | None = None) -> str:
    """Of everything that a campaign's figures rest on: another one means that they are to be computed again.

    Rows are read as they lie, so that it takes some hundredths of a second for thousands of answers.
    """
    hasher = hashlib.sha256(name.encode())
    for sql in (
        "SELECT form, settings FROM campaigns WHERE name = ?",
        "SELECT id, person, item, form, answers, seconds, saved_at FROM revisions WHERE campaign = ? ORDER BY id",
        "SELECT rowid, id, purpose, expected FROM items WHERE campaign = ? ORDER BY rowid",
        "SELECT person, item FROM assignments WHERE campaign = ? ORDER BY person, item",
        "SELECT person, item FROM skips WHERE campaign = ? ORDER BY person, item",
        "SELECT id, item FROM decisions WHERE campaign = ? ORDER BY id",
    ):
        for row in db.connection.execute(sql, [name]):
            hasher.update(repr(tuple(row)).encode("utf-8", "replace"))
        hasher.update(b"\n")
    for row in db.connection.execute("SELECT name, synthetic FROM people ORDER BY name"):
        hasher.update(repr(tuple(row)).encode("utf-8", "replace"))
    if store is not None and store.exists():
        hasher.update(f"{store.absolute()} {store.stat().st_mtime_ns}".encode())
    return hasher.hexdigest()


def campaign_overview(
    db: RatingsDB, name: str, store: Path | None = None, *, resampling: Resampling = DEFAULT
) -> Overview:
    """Compute a campaign's figures from its answers, and from judges' ratings where a snapshot is given.

    Raises:
        UserError: there is no such campaign.
    """
    task, warning = task_of(db, name), ""
    judgements = live_judgements(db, name)
    people = list(judgements)
    if store is not None:
        try:
            with Store.open(store) as opened:
                judgements += judgements_by_judges(opened, task, people)
        except UserError as error:
            warning = str(error)
    width = db.campaign(name).settings.get("stop_width")
    means = method_means(people, methods_of(db, name), task, width=width)
    agreement = agreement_report(judgements, task, resampling=resampling)
    return Overview(
        alphas={a.aspect: a.agreement.alpha for a in agreement.aspects},
        notes=rater_notes(people, agreement),
        severity=means.report.severity if means.report else {},
        stop=tuple(stop_lines(means)),
        body=page_body(agreement, judgements, task, means) if people else "",
        warning=warning,
    )


def rater_notes(judgements: Sequence[Judgement], report: TaskReport) -> dict[str, tuple[str, ...]]:
    """What a lead should look at, by person: much faster than the others, one answer to all, drifting.

    Drift is told where its interval leaves 0 out and its p value stays below 0.05 after Holm's correction over all
    people and aspects.
    """
    out: dict[str, list[str]] = defaultdict(list)
    for person in report.people:
        pace, others = (
            report.seconds.get(person),
            [s for p, s in report.seconds.items() if p != person and s is not None],
        )
        mine = [m for m in judgements if m.name == person]
        if pace is not None and others and len({m.item for m in mine}) >= ENOUGH and pace < FAST * median(others):
            out[person].append(f"fast: {pace:.0f} s an item, the others {median(others):.0f} s")
        for aspect in dict.fromkeys(m.aspect for m in mine):
            values = Counter(m.value for m in mine if m.aspect == aspect)
            answer, often = values.most_common(1)[0]
            varied = {m.value for m in judgements if m.aspect == aspect and m.name != person}
            if values.total() >= ENOUGH and often >= ALIKE * values.total() and len(varied) > 1:
                out[person].append(f"{aspect}: {answer} in {often} of {values.total()} answers")
    drifts = {(p, a.aspect): e for a in report.aspects for p, e in a.drift.items()}
    sure = holm({f"{p}\n{a}": e.p for (p, a), e in drifts.items()})
    for (person, aspect), e in drifts.items():
        p = sure[f"{person}\n{aspect}"]
        apart = e.low is not None and e.high is not None and (e.low > 0 or e.high < 0)
        if e.value is not None and apart and p is not None and p < 0.05:
            out[person].append(f"{aspect}: {'more lenient' if e.value > 0 else 'stricter'} over time ({e.text(2)})")
    return {p: tuple(notes) for p, notes in out.items()}


def compute_apart(ratings: Path, name: str, store: Path | None = None) -> Overview:
    """Compute in a process of its own, so that people who rate do not wait for it.

    Raises:
        UserError: it failed; says with what.
    """
    words = [sys.executable, "-m", "annotation_ui.agreement.overview", str(ratings.absolute()), name]
    words += [str(store.absolute())] if store else []
    done = subprocess.run(words, env=child_environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False)
    try:
        return Overview.model_validate_json(done.stdout)
    except ValidationError:
        messages = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit status {done.returncode}"]
        raise UserError(f"the figures could not be computed: {messages[-1]}", where=name) from None


def main() -> None:
    """Print one campaign's figures."""
    os.nice(5)  # people who rate come first
    ratings, name, *store = sys.argv[1:]
    with RatingsDB(ratings) as db:
        overview = campaign_overview(db, name, Path(store[0]) if store else None)
    sys.stdout.buffer.write(overview.model_dump_json().encode("utf-8", "replace"))


if __name__ == "__main__":
    main()
