"""Asking a closed model from the outside: journal, store, and what its scripts come to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from construction.llm.client import gather_all
from construction.llm.connection import Access
from construction.llm.cost.estimates import CallCounter, CallEstimate
from construction.llm.session import ModelSession, model_session
from curation.stats.bounded import clustered_interval
from curation.store.store import Store
from evaluation.api_models.editing import SCRIPT_TOKENS, STEP_TOKENS, ApiAnswer, ApiRequest, ApiScriptStep, request_text
from schemas.cases import Case

_CHUNK = 100  # texts between two transactions; all of them where a batch takes hours


def estimate(asks: Sequence[ApiRequest], step: ApiScriptStep, model: Access) -> CallEstimate:
    """Count calls and tokens, at four characters a token and replies of full length."""
    counter = CallCounter()
    for ask in asks:
        counter.add(step.prompt(ask), reply_tokens=STEP_TOKENS if ask.goes_on else SCRIPT_TOKENS)
    return counter.estimate(model.price())


def run_requests(
    store: Path,
    journal: Path,
    cases: Sequence[Case],
    asks: Sequence[ApiRequest],
    step: ApiScriptStep,
    model: Access,
    *,
    on_progress: Callable[[int, int, str], None] = lambda done, total, spent: None,
) -> list[ApiAnswer]:
    """Ask everything and keep the scripts, with their cases, facts and questions; what is finished stays.

    Raises:
        UserError: store or journal in use, no key, endpoint away.
        StoppedEarly: Ctrl-C or SIGTERM.
        BudgetReached: the next call does not fit the budget.
    """
    with model_session(journal, model) as session, Store.open(store, create=True) as opened:
        for case in cases:
            opened.put([case.fact, *case.questions, case])
        return session.run(_ask_all(opened, session, asks, step, on_progress))


async def _ask_all(
    store: Store,
    session: ModelSession,
    asks: Sequence[ApiRequest],
    step: ApiScriptStep,
    on_progress: Callable[[int, int, str], None],
) -> list[ApiAnswer]:
    size = max(1, len(asks) if session.access.batch else _CHUNK)
    out: list[ApiAnswer] = []
    async with session.client() as client:
        for first in range(0, len(asks), size):
            answers = await gather_all([request_text(step, ask, client) for ask in asks[first : first + size]])
            store.put([a.script for a in answers if a.script], [a.line for a in answers if a.line])
            out += answers
            on_progress(len(out), len(asks), session.budget.sentence())
    return out


class PercentShare(NamedTuple):
    """A share in percent: mean of case means with its 95 % interval over cases; ``half`` is half the published one."""

    mean: float | None
    half: float | None
    n: int
    cases: int
    low: float | None = None
    high: float | None = None


class ApiResultRow(NamedTuple):
    """One method on one kind of text (``script``: the answer to a question; ``rest``: the rest of a cut step).

    Attributes:
        texts: Asked for.
        answered: Of them with a text; the shares are over these.
        refused: Declined by the model or its endpoint.
        failed: Not taken by the endpoint.
        waiting: Ask again.
        new, old, neither: Which object the text names first.
        mixed: It names both.
        in_format: It keeps the format of Appendix A; None for the rest of a step.
    """

    editor: str
    kind: str
    texts: int
    answered: int
    refused: int
    failed: int
    waiting: int
    new: PercentShare
    old: PercentShare
    neither: PercentShare
    mixed: PercentShare
    in_format: PercentShare | None


def summarise_answers(answers: Sequence[ApiAnswer]) -> list[ApiResultRow]:
    """What the texts come to, by method and kind."""
    groups: dict[tuple[str, bool], list[ApiAnswer]] = {}
    for a in answers:
        groups.setdefault((a.ask.editor, a.ask.goes_on), []).append(a)
    return [_row(editor, goes_on, some) for (editor, goes_on), some in groups.items()]


def _row(editor: str, goes_on: bool, answers: Sequence[ApiAnswer]) -> ApiResultRow:
    good = [a for a in answers if a.status == "ok" and not (a.script is not None and a.script.refused)]
    mentions = [a.mentioned for a in good]
    cases = [a.ask.case.key for a in good]
    declined = sum(a.status == "refused" or bool(a.script and a.script.refused) for a in answers)
    firsts = {which: _share([m.first == which for m in mentions], cases) for which in ("new", "old", "neither")}
    return ApiResultRow(
        editor=editor,
        kind="rest" if goes_on else "script",
        texts=len(answers),
        answered=len(good),
        refused=declined,
        failed=sum(a.status in ("permanent", "unparseable") for a in answers),
        waiting=sum(a.status == "unanswered" for a in answers),
        mixed=_share([m.mixed for m in mentions], cases),
        in_format=None if goes_on else _share([a.in_format for a in good], cases),
        **firsts,
    )


def _share(hits: Sequence[bool], cases: Sequence[str]) -> PercentShare:
    interval = clustered_interval([100.0 * h for h in hits], cases, scale=(0.0, 100.0))
    return PercentShare(interval.mean, interval.half, len(hits), interval.n, interval.low, interval.high)


def as_data(rows: Sequence[ApiResultRow]) -> list[dict[str, Any]]:
    """Rows as JSON values."""
    plain = [r._asdict() for r in rows]
    return [{n: v._asdict() if isinstance(v, PercentShare) else v for n, v in row.items()} for row in plain]


def as_text(rows: Sequence[ApiResultRow]) -> str:
    """Rows as a table, in percent."""
    wide = max([len("method"), *(len(r.editor) for r in rows)]) + 2
    heads = ("new first", "old first", "neither", "both", "in format")
    lines = ["method".ljust(wide) + f"{'text':8s}{'asked':>6s}{'refused':>9s}" + "".join(h.rjust(22) for h in heads)]
    for r in rows:
        cells = [_cell(s) for s in (r.new, r.old, r.neither, r.mixed, r.in_format)]
        odd = "".join(f"  {n} {what}" for n, what in ((r.failed, "failed"), (r.waiting, "waiting")) if n)
        lines.append(
            f"{r.editor.ljust(wide)}{r.kind:8s}{r.texts:6d}{r.refused:9d}" + "".join(c.rjust(22) for c in cells) + odd
        )
    lines.append("Percent [95 % over cases], of the texts that were answered. script: answers to script questions;")
    lines.append("rest: the rest of a cut step of a script prompt. Read off the text alone, without log-probabilities.")
    return "\n".join(lines)


def _cell(share: PercentShare | None) -> str:
    if share is None or share.mean is None:
        return "-"
    return f"{share.mean:.1f}" + ("" if share.low is None else f" [{share.low:.1f}, {share.high:.1f}]")
