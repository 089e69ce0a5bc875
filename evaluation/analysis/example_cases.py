"""Example cases for reading: what was asked, and what every editor's model preferred, side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evaluation.metrics.base import Metric, Normalisation, Preference, metric_of, target_values
from evaluation.runs.frame import Scores
from evaluation.runs.results import Run, answers_by_probe, cases_by_key
from schemas.answers import Answer
from schemas.cases import Case
from schemas.probes import ScoreProbe

PURPOSES = {
    "fact": "Fact prompt",
    "paraphrase": "Paraphrase",
    "script": "Script prompt",
    "neighbour": "Neighbour prompt",
    "script_neighbour": "Neighbour script prompt",
}
_SHOWN = {"fact": 1, "paraphrase": 0, "script": 2, "neighbour": 0, "script_neighbour": 1}  # prompts of each kind a case


class ModelPreference(NamedTuple):
    """What one editor's model made of a prompt: probability of each target, and whether the wanted one won.

    ``note`` says what is to be said instead or beside: a tie, a truncated prompt, why there is no answer.
    """

    label: str
    values: tuple[float | None, ...]
    won: bool | None
    note: str = ""


class ExamplePrompt(NamedTuple):
    """One prompt of an example: its text by lines; ``wanted`` is the index of the target that should win."""

    kind: str
    metric: str
    lines: tuple[str, ...]
    separator: str
    targets: tuple[str, ...]
    wanted: int | None
    choices: tuple[ModelPreference, ...]


class ExampleCase(NamedTuple):
    """A case, why it is shown, and its prompts."""

    case: Case
    why: str
    questions: tuple[ExamplePrompt, ...]


def pick_examples(
    run: Run, scores: Scores, metrics: Sequence[Metric], normalisation: Normalisation
) -> list[ExampleCase]:
    """Two cases where script efficacy was best, two where it was worst, and one whose neighbours suffered most.

    Editors other than the unedited model count equally. Cases that some editor did not finish are not picked.
    """
    cases = cases_by_key(run)
    labels = [e.label for e in run.editors if e.label != run.baseline.label]
    target = metric_of(metrics, "script_efficacy") or next((m for m in metrics if m.better == "higher"), None)
    goal, title = ("", "") if target is None else (target.name, target.title)
    efficacy = _mean_over_editors(labels, goal, scores)
    ranked = sorted(efficacy, key=lambda k: (-efficacy[k], list(cases).index(k)))
    chosen_keys: dict[str, str] = {}
    for key in ranked[:2]:
        chosen_keys[key] = f"among the highest {title}"
    for key in ranked[::-1][:2]:
        chosen_keys.setdefault(key, f"among the lowest {title}")
    locality = metric_of(metrics, "script_locality")
    if locality is not None:
        after, before = (
            _mean_over_editors(labels, locality.name, scores),
            scores.means(run.baseline.label, locality.name),
        )
        worst = sorted(after, key=lambda k: after[k] - before.get(k, 0.0))
        for key in [k for k in worst if k not in chosen_keys][:1]:
            chosen_keys[key] = f"among the largest losses of {locality.title}"
    return [
        ExampleCase(cases[k], why, _questions(cases[k], run, metrics, normalisation)) for k, why in chosen_keys.items()
    ]


def _mean_over_editors(labels: Sequence[str], metric: str, scores: Scores) -> dict[str, float]:
    """Mean of a metric over editors, for the cases that every one of them has."""
    if not labels or not metric:
        return {}
    means = [scores.means(label, metric) for label in labels]
    common = set(means[0]).intersection(*means[1:])
    return {k: sum(m[k] for m in means) / len(means) for k in means[0] if k in common}


def _questions(
    case: Case, run: Run, metrics: Sequence[Metric], normalisation: Normalisation
) -> tuple[ExamplePrompt, ...]:
    left = dict(_SHOWN)
    out = []
    seen = set()
    for metric in metrics:
        for probe in metric.probes(case):
            if not isinstance(probe, ScoreProbe) or probe.id in seen or left.get(probe.purpose, 0) == 0:
                continue
            seen.add(probe.id)
            left[probe.purpose] -= 1
            out.append(_question(case, probe, metric, run, normalisation))
    order = list(PURPOSES)
    return tuple(sorted(out, key=lambda q: order.index(q.kind) if q.kind in order else len(order)))


def _question(case: Case, probe: ScoreProbe, metric: Metric, run: Run, normalisation: Normalisation) -> ExamplePrompt:
    wanted = None
    if isinstance(metric, Preference):
        wanted = 0 if metric.wanted == "new" else 1
    choices = []
    for editor in run.editors:
        result = editor.results.get(case.key)
        if result is None or result.error is not None:
            note = "not yet run" if result is None else f"failed: {result.error}"
            choices.append(ModelPreference(editor.label, (None,) * len(probe.targets), None, note))
            continue
        answers: Mapping[str, Answer] = answers_by_probe(result.answers)
        choices.append(_choice(editor.label, probe, answers.get(probe.id), wanted, normalisation))
    return ExamplePrompt(
        kind=probe.purpose,
        metric=metric.title,
        lines=tuple(probe.prompt.split("\n")),
        separator=probe.separator,
        targets=probe.targets,
        wanted=wanted,
        choices=tuple(choices),
    )


def _choice(
    label: str, probe: ScoreProbe, answer: Answer | None, wanted: int | None, normalisation: Normalisation
) -> ModelPreference:
    values = target_values(probe, answer, normalisation)
    if isinstance(values, str):
        return ModelPreference(label, (None,) * len(probe.targets), None, f"unscored: {values}")
    note = "prompt truncated" if answer is not None and answer.truncated else ""
    won = None
    if wanted is not None and len(values) == 2:
        won = values[wanted] > values[1 - wanted]
        note = "tie" if values[0] == values[1] else note
    return ModelPreference(label, tuple(math.exp(v) for v in values), won, note)


def probability(value: float | None) -> str:
    """A probability with the digits that matter.

    Example:
        >>> probability(0.51234), probability(0.010349), probability(0.00012), probability(0.0), probability(None)
        ('0.512', '0.0103', '1.2·10⁻⁴', '0', '–')
    """
    if value is None:
        return "–"
    if value >= 0.001:
        return f"{value:.3f}" if value >= 0.1 else f"{value:.4f}"
    if value == 0.0:
        return "0"
    digits, _, power = f"{value:.1e}".partition("e")
    return f"{digits}·10{str(int(power)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
