"""What lead pages show of a campaign: quick figures here, slow ones of the shared cache, each once a change."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import NamedTuple

from annotation_ui.agreement.judgements import live_judgements
from annotation_ui.agreement.overview import answers_digest
from annotation_ui.agreement.overview_cache import CampaignKey, HeldOverview, shared_cache
from annotation_ui.agreement.report import ItemDisagreement, disagreements
from annotation_ui.campaigns.campaign import RaterProgress, rater_progress, task_of
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.records import Revision

_KEPT = 16  # campaigns whose quick figures are kept
_quick: OrderedDict[tuple[Path, str], QuickFigures] = OrderedDict()
_lock = threading.Lock()


class QuickFigures(NamedTuple):
    """What takes a fraction of a second: progress, answers, and items on which people differ, widest first."""

    digest: str
    progress: list[RaterProgress]
    answers: list[Revision]
    apart: list[ItemDisagreement]


def quick_figures(db: RatingsDB, name: str, digest: str = "") -> QuickFigures:
    """The quick figures of a campaign, computed once for every state of its answers.

    Args:
        db: The ratings file.
        name: Of the campaign.
        digest: Of the present answers, where it is known already.
    """
    digest, key = digest or answers_digest(db, name), (db.path.absolute(), name)
    with _lock:
        if key in _quick and _quick[key].digest == digest:
            _quick.move_to_end(key)
            return _quick[key]
    figures = compute_quick_figures(db, name, digest)
    with _lock:
        _quick[key] = figures
        while len(_quick) > _KEPT:
            _quick.popitem(last=False)
    return figures


def compute_quick_figures(db: RatingsDB, name: str, digest: str) -> QuickFigures:
    """The same, computed anew."""
    apart = disagreements(live_judgements(db, name), task_of(db, name))
    return QuickFigures(digest, rater_progress(db, name), db.current_answers(name), apart)


def held_overview(db: RatingsDB, name: str, store: Path | None, *, patience: float | None = None) -> HeldOverview:
    """The slow figures as far as they are there; they are brought up to date in the background."""
    digest = answers_digest(db, name, store)
    return shared_cache().held(CampaignKey(db.path.absolute(), name, store), digest, patience=patience)
