"""Why an event or a question about one is in a split of events, or out of it."""

from __future__ import annotations

from curation.rules.event_rule import EventRule
from curation.rules.explanation import Explanation, Standing, explain_request, find_loss, replaced_or_alone
from curation.rules.request_selection import RequestRuling
from curation.rules.rule import SplitRule
from curation.splits.errata import Errata
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.core.records import Record
from schemas.events.event import Event
from schemas.events.questions import FactQuestion, TendencyQuestion
from schemas.text.counting import counted

AnyQuestion = FactQuestion | TendencyQuestion


def explain_event(
    store: Store, rule: SplitRule, record: Event | AnyQuestion, errata: Errata | None = None
) -> Explanation:
    """Why an event or one of its questions is in or out under a rule for events.

    Raises:
        UserError: the rule is about facts.
    """
    if not isinstance(rule, EventRule):
        raise UserError(f"'{record.key}' belongs to an event, and the rule is about facts", fix="--set edits=event")
    key = record.key if isinstance(record, Event) else record.event
    events = store.by_keys(Event, [key])
    questions: list[AnyQuestion] = [*store.of_parents(FactQuestion, [key]), *store.of_parents(TendencyQuestion, [key])]
    ruling = RequestRuling(store, rule, errata, items=[record.id, *(r.id for r in (*events, *questions))])
    standing = replaced_or_alone(record, events, questions, f"its event '{key}'") or _standing(
        ruling, record, events[0], questions
    )
    return explain_request(store, ruling, record, events, standing)


def _standing(ruling: RequestRuling[EventRule], record: Record, event: Event, questions: list[AnyQuestion]) -> Standing:
    rule = ruling.rule
    if not event.key.startswith(rule.prefix):
        return Standing("out", f"its key does not begin with '{rule.prefix}'")
    if rule.types is not None and event.type not in rule.types:
        return Standing("out", f"its type is '{event.type}', the rule takes {', '.join(rule.types)}")
    for item in dict.fromkeys((record.key, event.key)):
        judged = record if item == record.key else event
        if lost := find_loss(ruling.decide(judged), judged):
            return lost
    questions_left = sum(ruling.decide(q).outcome == "keep" for q in questions)
    if questions_left < rule.min_questions:
        return Standing(
            "out", f"'{event.key}' has {counted(questions_left, 'kept question')}, the rule wants {rule.min_questions}"
        )
    return Standing("in", f"in 'case/{event.key}', which has {counted(questions_left, 'question')}")
