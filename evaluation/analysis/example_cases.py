"""Examples for reading: what every model preferred, and the worst and best scripts with the two objects marked."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from evaluation.analysis.tables import FigureTable, Rate, head_of, rates
from evaluation.analysis.text_ratings import ASPECTS, PEOPLE, PROGRAMS, SHORT, RatedTexts, who
from evaluation.metrics.base import Metric, Normalisation, Preference, metric_of, target_values
from evaluation.runs.frame import Scores
from evaluation.runs.results import Run, answers_by_probe, cases_by_key
from schemas.answers import Answer
from schemas.cases import Case
from schemas.facts import Fact
from schemas.generated_scripts import GeneratedScript
from schemas.probes import ScoreProbe
from schemas.text.mentions import Mention, find
from schemas.text.raw_text import raw_text

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


NAMED = ("new only", "old only", "both", "neither")
MENTIONS = (*(Rate(n, n) for n in NAMED), Rate("refused", "refused"), Rate("without steps", "formless"))


class MarkedText(NamedTuple):
    """A piece of text: ``kind`` is ``new``, ``old`` or empty."""

    text: str
    kind: str


def mentions(text: str, fact: Fact) -> list[tuple[Mention, str]]:
    """Mentions of both objects in order, none overlapping (``schemas.text.mentions``: aliases and endings count)."""
    matches = [(m, "old") for m in find(text, fact.old, beside=[fact.new])]
    if fact.new is not None:
        matches += [(m, "new") for m in find(text, fact.new, beside=[fact.old])]
    out: list[tuple[Mention, str]] = []
    for mention, kind in sorted(matches, key=lambda x: (x[0].start, -x[0].end)):
        if not out or mention.start >= out[-1][0].end:
            out.append((mention, kind))
    return out


def mark_objects(text: str, fact: Fact) -> list[list[MarkedText]]:
    """A text by lines, each in pieces, with the mentions of the two objects apart.

    Example:
        >>> from schemas.facts import Entity, Object, Relation, Source
        >>> told = {"key": "f", "subject": Entity(text="Peru"), "relation": Relation(id="P36"), "prompt": "{} is"}
        >>> told |= {"source": Source(name="x", licence="CC0-1.0"), "old": Object(text="Lima")}
        >>> fact = Fact(new=Object(text="Oslo"), **told)
        >>> [[tuple(p) for p in line] for line in mark_objects("Fly to Oslo.", fact)]
        [[('Fly to ', ''), ('Oslo', 'new'), ('.', '')]]
    """
    out = []
    for line in text.split("\n"):
        pieces, at = [], 0
        for mention, kind in mentions(line, fact):
            pieces += [MarkedText(line[at : mention.start], ""), MarkedText(line[mention.start : mention.end], kind)]
            at = mention.end
        out.append([p for p in [*pieces, MarkedText(line[at:], "")] if p.text])
    return out


def which_objects(text: str, fact: Fact) -> str:
    """Which of the two objects a text names: one of ``NAMED``."""
    kinds = {kind for _, kind in mentions(text, fact)}
    if len(kinds) == 2:
        return "both"
    return f"{next(iter(kinds))} only" if kinds else "neither"


def mention_table(scripts: Sequence[GeneratedScript], cases: Mapping[str, Case], labels: Sequence[str]) -> FigureTable:
    """What the scripts of every method name, over those whose case is known."""
    values = []
    for script in sorted((s for s in scripts if s.case in cases), key=lambda s: labels.index(s.editor)):
        named = which_objects(raw_text(script.text), cases[script.case].fact)
        shares = {name: name == named for name in NAMED}
        ends = {"refused": script.refused, "formless": not script.steps}
        values.append({"method": script.editor, "case": script.case, **shares, **ends})
    caption = "Aliases, plurals and possessives count as mentions."
    rows = rates(values, ["method"], MENTIONS)
    return FigureTable("Objects named in the scripts", head_of(("Method",), "Scripts", MENTIONS), rows, caption)


WORST, BEST = 2, 2


class MethodScript(NamedTuple):
    """One method's script: its lines in pieces, what it names, its ratings as (aspect, source, value in words)."""

    label: str
    lines: list[list[MarkedText]]
    names: str
    ratings: tuple[tuple[str, str, str], ...]
    refused: bool


class SideBySide(NamedTuple):
    """One script question under every method; ``why`` says what chose it."""

    case: Case
    question: str
    why: str
    scripts: tuple[MethodScript, ...]


def side_by_side(texts: RatedTexts, cases: Mapping[str, Case]) -> list[SideBySide]:
    """Questions where the edited methods did worst and best; by Coherence where it was rated, else by what is named.

    Only questions that every method answered are taken. Ties are broken by the question's key, so the choice is the
    same every time.
    """
    by_question: dict[tuple[str, str], dict[str, GeneratedScript]] = defaultdict(dict)
    for s in sorted(texts.scripts, key=lambda s: s.sample):
        if s.case in cases:
            by_question[(s.case, s.question)].setdefault(s.editor, s)
    labels = texts.editors
    whole = {k: v for k, v in by_question.items() if len(v) == len(labels) and any(s.edited for s in v.values())}
    coherence = _coherence(texts)
    means = {k: _mean([coherence.get(s.id) for s in v.values() if s.edited]) for k, v in whole.items()}
    rated = {k: value for k, value in means.items() if value is not None}
    reason = "mean Coherence of the edited methods {:.1f}"
    if not rated:
        rated = {k: _share_new(v, cases) for k, v in whole.items()}
        reason = "share of edited methods whose script names the new object only {:.2f}"
    order = sorted(rated, key=lambda k: (rated[k], k))
    picked = {k: f"among the worst: {reason.format(rated[k])}" for k in _one_a_case(order, (), WORST)}
    for k in _one_a_case(order[::-1], picked, BEST):
        picked[k] = f"among the best: {reason.format(rated[k])}"
    return [_make_example(cases[k[0]], k[1], whole[k], why, labels, texts) for k, why in picked.items()]


def _one_a_case(
    order: Sequence[tuple[str, str]], taken: Iterable[tuple[str, str]], limit: int
) -> list[tuple[str, str]]:
    """The first questions in order, one of a case, none of a case that is taken."""
    cases = {case for case, _ in taken}
    out: list[tuple[str, str]] = []
    for case, question in order:
        if case not in cases and len(out) < limit:
            cases.add(case)
            out.append((case, question))
    return out


def _coherence(texts: RatedTexts) -> dict[str, float]:
    values: dict[str, list[int]] = defaultdict(list)
    for r in texts.ratings:
        if r.aspect == "coherence" and r.value is not None and r.rated_by.kind != "adjudicated":
            values[r.item_id].append(r.value)
    return {i: sum(v) / len(v) for i, v in values.items()}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def _share_new(scripts: Mapping[str, GeneratedScript], cases: Mapping[str, Case]) -> float:
    edited = [s for s in scripts.values() if s.edited]
    return sum(which_objects(raw_text(s.text), cases[s.case].fact) == "new only" for s in edited) / len(edited)


def _make_example(
    case: Case,
    question: str,
    scripts: Mapping[str, GeneratedScript],
    why: str,
    labels: Sequence[str],
    texts: RatedTexts,
) -> SideBySide:
    text = next((q.text for q in case.questions if q.key == question), question)
    out = []
    for label in labels:
        s = scripts[label]
        out.append(
            MethodScript(
                label,
                mark_objects(raw_text(s.text), case.fact),
                which_objects(raw_text(s.text), case.fact),
                _ratings(s, texts),
                s.refused,
            )
        )
    return SideBySide(case, text, why, tuple(out))


def _ratings(script: GeneratedScript, texts: RatedTexts) -> tuple[tuple[str, str, str], ...]:
    marks: dict[tuple[str, str], list[str]] = defaultdict(list)
    for r in texts.ratings:
        if r.item_id == script.id and r.rated_by.kind != "adjudicated":
            marks[(r.aspect, who(r.rated_by))].append("unscored" if r.value is None else str(r.value))
    order = sorted(marks, key=lambda k: (ASPECTS.index(k[0]), k[1] not in (PEOPLE, PROGRAMS), k[1]))
    return tuple((SHORT[a], name, ", ".join(sorted(marks[(a, name)]))) for a, name in order)
