"""The funnel of a construction of events: what was drawn, written, kept, and why the rest was not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from typing_extensions import override

from construction.authoring.outcome import overall_label
from construction.report.funnel import CountRow, Funnel, percent_of
from construction.report.store_funnel import JudgedItems
from curation.store.store import Store
from schemas.events.event import Event
from schemas.events.questions import FactQuestion, TendencyQuestion

PAPER_EVENTS = 841  # events of templates (ELKEN, Table 1)
PAPER_TOPICS = (674, 1800)  # events of topics that stayed, of those written
PAPER_KEPT = (78.4, 55.7)  # % of tendency questions that two people kept, in and out of scope


class EventFunnel(Funnel):
    """Counts of events and of questions about them.

    ``drawn`` are draws of entities for templates; ``events`` of them became events of templates, ``paraphrased`` of
    which have a paraphrase that passes the checks. Of ``topic_events`` those of ``topic_kept`` are like no earlier one.
    Of ``facts_in``, factual questions in scope, some are ``unknown`` or ``background``. Of ``tendencies_in`` and
    ``tendencies_out`` those of ``kept_in`` and ``kept_out`` pass every check.
    """

    names: ClassVar[tuple[str, ...]] = (
        "drawn",
        "events",
        "paraphrased",
        "topic_events",
        "topic_kept",
        "facts_in",
        "facts_out",
        "unknown",
        "background",
        "tendencies_in",
        "tendencies_out",
        "kept_in",
        "kept_out",
    )
    width: ClassVar[int] = 34
    stages: ClassVar[tuple[str, ...]] = ("draw", "facts", "paraphrase", "topics", "tendencies", "checks")
    made_by: ClassVar[frozenset[str]] = frozenset({"template", "paraphrase", "topic_events"})
    asked_by: ClassVar[frozenset[str]] = frozenset({"tendency_questions"})

    @override
    def rows(self, *, stored: bool) -> list[CountRow]:
        n, (stayed, written) = self.n, PAPER_TOPICS
        of_topics = f"{percent_of(n['topic_kept'], n['topic_events'])} (the paper: {stayed} of {written:,})".strip()
        rows = [
            ("draws of entities", n["drawn"], ""),
            ("events of templates", n["events"], f"the paper: {PAPER_EVENTS}"),
            ("  with a paraphrase", n["paraphrased"], percent_of(n["paraphrased"], n["events"])),
            ("  factual questions in scope", n["facts_in"], f"{n['unknown']} unknown, {n['background']} background"),
            ("  factual questions out of scope", n["facts_out"], ""),
            ("events of topics written", n["topic_events"], ""),
            ("  like no earlier one", n["topic_kept"], of_topics),
        ]
        for scope, paper in zip(("in", "out"), PAPER_KEPT, strict=True):
            asked, kept = n[f"tendencies_{scope}"], n[f"kept_{scope}"]
            rows.append((f"tendency questions {'out of' if scope == 'out' else 'in'} scope", asked, ""))
            beside = f"{percent_of(kept, asked)} (people in the paper: {paper:g} %)".strip()
            rows.append(("  pass every check", kept, beside))
        return rows[stored:]

    @override
    def count_items(self, store: Store, made: Mapping[str, set[str]]) -> None:
        judged, keys = JudgedItems(store.verdicts()), set[str]()
        for event in store.all(Event):
            if event.id not in made:
                continue
            keys.add(event.key)
            of_topic = "topic_events" in made[event.id]
            verdicts = judged.deciding(event.id)
            self.n["topic_events" if of_topic else "events"] += 1
            self.n["paraphrased"] += "paraphrase" in made[event.id]
            self.n["topic_kept"] += of_topic and overall_label(verdicts) != "drop"
            self.lose_by("topics" if of_topic else "paraphrase", verdicts)
        for question in store.all(FactQuestion):
            if question.event in keys:
                self.n[f"facts_{question.scope}"] += 1
                self.n["unknown"] += question.unknown
                self.n["background"] += question.background
        for tendency in store.all(TendencyQuestion):
            if tendency.event in keys:
                verdicts = judged.deciding(tendency.id)
                self.n[f"tendencies_{tendency.scope}"] += 1
                self.n[f"kept_{tendency.scope}"] += overall_label(verdicts) == "keep"
                self.lose_by("checks", verdicts)


def stored_events(store: Store) -> EventFunnel | None:
    """The funnel of a store; None where no event in it was constructed."""
    funnel = EventFunnel()
    funnel.count(store)
    return funnel if funnel.n["events"] or funnel.n["topic_events"] else None
