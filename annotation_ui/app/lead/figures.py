"""What lead pages show of a campaign, computed once for each state of the answers (``st.cache_data``)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import streamlit as st

from annotation_ui.agreement.judgements import live_judgements
from annotation_ui.agreement.overview import Overview, answers_digest, compute_apart
from annotation_ui.agreement.report import ItemDisagreement, disagreements
from annotation_ui.campaigns.campaign import RaterProgress, rater_progress, task_of
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.records import Revision

_KEPT = 16  # states of campaigns whose figures are cached


class QuickFigures(NamedTuple):
    """What takes a fraction of a second: progress, answers, and items on which people differ, widest first."""

    progress: list[RaterProgress]
    answers: list[Revision]
    apart: list[ItemDisagreement]


def quick_figures(db: RatingsDB, name: str) -> QuickFigures:
    """The quick figures of a campaign."""
    return _quick(str(db.path.absolute()), name, answers_digest(db, name))


@st.cache_data(max_entries=_KEPT, show_spinner=False)
def _quick(ratings: str, name: str, digest: str) -> QuickFigures:
    with RatingsDB(ratings) as db:
        apart = disagreements(live_judgements(db, name), task_of(db, name))
        return QuickFigures(rater_progress(db, name), db.current_answers(name), apart)


def slow_figures(db: RatingsDB, name: str, store: Path | None) -> Overview:
    """Agreement with its intervals and all that rests on it; a process of its own computes it, the page waits.

    Raises:
        UserError: the process failed.
    """
    place = str(store.absolute()) if store else ""
    return _slow(str(db.path.absolute()), name, place, answers_digest(db, name, store))


@st.cache_data(max_entries=_KEPT, show_spinner="Agreement is being computed ...")
def _slow(ratings: str, name: str, store: str, digest: str) -> Overview:
    return compute_apart(Path(ratings), name, Path(store) if store else None)
