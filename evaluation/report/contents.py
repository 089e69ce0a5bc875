"""What a part of a report holds: its sections in order, and what it has not, with the command that would bring it."""

from __future__ import annotations

from typing import NamedTuple

from evaluation.analysis.written.all_answers import AnsweredQuestion
from evaluation.report.sections import ReportSection
from schemas.cases import FACT


class AbsentSection(NamedTuple):
    """A section that has nothing to show: its title, and what would fill it."""

    title: str
    hint: str


class Contents(NamedTuple):
    """The sections: (anchor, title) in order, and those that are absent."""

    menu: tuple[tuple[str, str], ...]
    absent: tuple[AbsentSection, ...]

    @property
    def there(self) -> frozenset[str]:
        """Anchors of the sections that are shown."""
        return frozenset(anchor for anchor, _ in self.menu)


ANY_TYPE = ("paired", "seeds", "correlations", "forgetting")
"""Sections that a run on edits of any type can have; the others that can be absent are about facts."""

OWN_TYPE = ("events", "documents")
"""Sections about edits of one type; other runs do not miss them."""

_SEQUENTIAL = """scedit run CONFIG --set 'regime={name = "sequential", size = [1, 10, 100]}' --out runs/sequential"""
_FREE_TEXT = "add es_gen, es_argmax and ns_kl to the run's metrics"
_SEEDS = "run a method again with another seed (editors.NAME.params.seed), and report both folders together"


def contents(part: ReportSection, answers: list[AnsweredQuestion], *, texts_hint: str, ratings_hint: str) -> Contents:
    """The sections of a part.

    Args:
        part: Its figures.
        answers: What its models wrote.
        texts_hint: What to do where there are no texts.
        ratings_hint: What to do where there are no ratings.
    """
    single = part.run.regimes == ("single",)
    judged = part.text is not None and part.text.judging is not None
    wrote = bool(part.writing.ladders or part.writing.naming)
    facts = part.run.split.type == FACT
    wanted = [
        ("table", "Results", True, ""),
        ("events", "Events", part.events is not None, ""),
        ("documents", "Documents", part.documents is not None, ""),
        ("paired", "Comparisons", bool(part.contests), "add a second method: scedit run CONFIG --editors none,ft,rome"),
        ("seeds", "Variation over seeds", bool(part.repeated), _SEEDS),
        ("ladder", "Where edits fail", wrote, "add s_es_gen and s_es_gen_question to the run's metrics"),
        ("facts", "Free text, order, locality", bool(part.facts), _FREE_TEXT),
        ("text", "Text level", part.text is not None, texts_hint),
        ("judging", "Can the judge be believed?", judged, ratings_hint),
        (
            "correlations",
            "Correlations",
            _has_variation(part),
            "take more cases: too few metrics vary over three",
        ),
        ("breakdown", "Relations and steps", bool(part.breakdowns), "add s_es to the run's metrics"),
        (
            "forgetting",
            "Many edits",
            bool(part.forgetting),
            f"every edit was made alone: {_SEQUENTIAL}" if single else "no checkpoint is complete yet",
        ),
        ("cost", "Cost", True, ""),
        ("counts", "Counts", True, ""),
        ("cases", "Example cases", facts, ""),
        ("answers", "Every answer", bool(answers), texts_hint),
        ("caveats", "Caveats", True, ""),
        ("next", "Next steps", True, ""),
        ("setup", "Set-up", True, ""),
    ]
    menu = tuple((anchor, title) for anchor, title, there, _ in wanted if there)
    missing = [one for one in wanted if not one[2] and (facts or one[0] in ANY_TYPE)]
    absent = tuple(AbsentSection(title, hint) for anchor, title, _, hint in missing if anchor not in OWN_TYPE)
    return Contents(menu, absent)


def _has_variation(part: ReportSection) -> bool:
    from evaluation.report.correlation_heatmap import heat_map

    return any(heat_map(c) is not None for c in part.correlations)
