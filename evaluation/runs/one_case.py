"""One edit tried by hand: the probabilities of some answers, and a case's scores, with and without it."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from evaluation.edits.edit import Edit, NoEdit
from evaluation.inference.scoring import score
from evaluation.metrics.base import Normalisation
from evaluation.metrics.generation import load_metrics
from evaluation.models.language_model import LM
from evaluation.runs.config import TEACHER_FORCED
from evaluation.runs.plan import ask
from schemas.answers import Answer, CaseScores
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.probes import Probe, ScoreProbe


def log_probs(
    lm: LM, prompt: str, targets: Sequence[str], edit: Edit | None = None, *, normalisation: Normalisation = "mean"
) -> dict[str, float]:
    """Log-probability of each target after a prompt and one space, in nats.

    Args:
        lm: The model; it comes back unchanged.
        prompt: Text without the space at its end.
        targets: Texts that may follow.
        edit: An edit that stands while the model is asked.
        normalisation: ``mean`` over the target's tokens, or their ``sum``.

    Raises:
        UserError: a target cannot be scored, or white space at the end of the prompt or the beginning of a target
            would stand beside the space between them.
    """
    try:
        probe = ScoreProbe(purpose="fact", item="by-hand", prompt=prompt, targets=tuple(targets))
    except ValidationError as error:
        problem = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise UserError(f"the targets cannot be scored: {problem}") from None
    answer = _answers(lm, [probe], edit)[probe.id]
    if answer.error is not None:
        raise UserError(f"the targets cannot be scored: {answer.error}", where=prompt)
    return {target.text: target.value(normalisation) for target in answer.targets}


def score_case(
    lm: LM,
    case: Case,
    edit: Edit | None = None,
    *,
    metrics: Sequence[str] = TEACHER_FORCED,
    normalisation: Normalisation = "mean",
) -> dict[str, CaseScores]:
    """A case's scores by metric; ``.mean`` of each is a fraction from 0 to 1, or None where nothing was asked.

    The model is asked twice, without the edit and with it, since some metrics compare.

    Args:
        lm: The model; it comes back unchanged.
        case: What to ask.
        edit: The edit; None scores the unedited model.
        metrics: Names of metrics that read log-probabilities.
        normalisation: ``mean`` per token (as the published code) or ``sum`` (as the paper's formula).

    Raises:
        UserError: unknown metric, or one that has texts generated.
    """
    loaded = load_metrics(metrics)
    probes = ask(case, loaded)
    before = _answers(lm, probes, None)
    after = before if edit is None else _answers(lm, probes, edit)
    return {m.name: m.score(case, after, before, normalisation) for m in loaded}


def _answers(lm: LM, probes: Sequence[Probe], edit: Edit | None) -> dict[str, Answer]:
    scored = [p for p in probes if isinstance(p, ScoreProbe)]
    if len(scored) < len(probes):
        raise UserError("a metric has texts generated", fix="run it with: scedit run")
    edit = edit or NoEdit()
    with edit.on(lm) as edited:
        answers = score(edited, scored, rewrite=edit.rewrite)
    return {probe.id: answer for probe, answer in zip(scored, answers, strict=True)}
