"""Examples for reading: what every model preferred, and the worst and best scripts with the two objects marked."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from evaluation.analysis.tables import FigureTable, Rate, rate_table
from evaluation.analysis.text_ratings import ASPECTS, PEOPLE, PROGRAMS, SHORT, RatedTexts, script_values, who
from evaluation.metrics.base import Metric, Normalisation, Preference, metric_of, target_values
from evaluation.runs.frame import Scores
from evaluation.runs.results import EditorRun, Run, answers_by_probe, cases_by_key
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


def pick_examples(
    run: Run, scores: Scores, metrics: Sequence[Metric], normalisation: Normalisation
) -> list[dict[str, Any]]:
    """Two cases where script efficacy was best, two where it was worst, and one whose neighbours suffered most.

    Editors other than the unedited model count equally. Cases that some editor did not finish are not picked. An
    example has its ``case``, ``why`` it is shown, and prompts (``questions``).
    """
    cases = cases_by_key(run)
    labels = [e.label for e in run.editors if e.label != run.baseline.label]
    target = metric_of(metrics, "script_efficacy") or next((m for m in metrics if m.better == "higher"), None)
    efficacy = {} if target is None else _mean_over_editors(labels, target.name, scores)
    ranked = sorted(efficacy, key=lambda k: (-efficacy[k], list(cases).index(k)))
    title = "" if target is None else target.title
    reasons = dict.fromkeys(ranked[:2], f"among the highest {title}")
    for key in ranked[::-1][:2]:
        reasons.setdefault(key, f"among the lowest {title}")
    locality = metric_of(metrics, "script_locality")
    if locality is not None:
        after = _mean_over_editors(labels, locality.name, scores)
        before = scores.means(run.baseline.label, locality.name)
        rest = (key for key in after if key not in reasons)
        worst = sorted(rest, key=lambda key: after[key] - before.get(key, 0.0))
        reasons |= dict.fromkeys(worst[:1], f"among the largest losses of {locality.title}")
    return [
        {"case": cases[key], "why": why, "questions": _questions(cases[key], run, metrics, normalisation)}
        for key, why in reasons.items()
    ]


def _mean_over_editors(labels: Sequence[str], metric: str, scores: Scores) -> dict[str, float]:
    """Mean of a metric over editors, for the cases that every one of them has."""
    means = [scores.means(label, metric) for label in labels]
    common = set.intersection(*map(set, means)) if means else set()
    return {k: sum(m[k] for m in means) / len(means) for m in means[:1] for k in m if k in common}


def _questions(case: Case, run: Run, metrics: Sequence[Metric], normalisation: Normalisation) -> list[dict[str, Any]]:
    """Prompts of a case: text by lines, targets, and what every editor's model made of it (``choices``).

    ``wanted`` is the index of the target that should win.
    """
    left, seen, out = dict(_SHOWN), set[str](), []
    for metric, probe in ((m, probe) for m in metrics for probe in m.probes(case)):
        if not isinstance(probe, ScoreProbe) or probe.id in seen or not left.get(probe.purpose):
            continue
        seen.add(probe.id)
        left[probe.purpose] -= 1
        wanted = ("new", "old").index(metric.wanted) if isinstance(metric, Preference) else None
        out.append(
            {
                "kind": probe.purpose,
                "metric": metric.title,
                "lines": probe.prompt.split("\n"),
                "separator": probe.separator,
                "targets": probe.targets,
                "wanted": wanted,
                "choices": [_choice(editor, case.key, probe, wanted, normalisation) for editor in run.editors],
            }
        )
    return sorted(out, key=lambda question: list(PURPOSES).index(question["kind"]))


def _choice(
    editor: EditorRun, case: str, probe: ScoreProbe, wanted: int | None, normalisation: Normalisation
) -> dict[str, Any]:
    """What one editor's model made of a prompt: probability of each target, and whether the wanted one ``won``.

    ``note`` says what is to be said instead or beside: a tie, a truncated prompt, why there is no answer.
    """
    result, won, probabilities = editor.results.get(case), None, [None] * len(probe.targets)
    choice = {"label": editor.label, "probabilities": probabilities, "won": None}
    if result is None or result.error is not None:
        return choice | {"note": "not yet run" if result is None else f"failed: {result.error}"}
    answer = answers_by_probe(result.answers).get(probe.id)
    values = target_values(probe, answer, normalisation)
    if isinstance(values, str):
        return choice | {"note": f"unscored: {values}"}
    note = "prompt truncated" if answer is not None and answer.truncated else ""
    if wanted is not None and len(values) == 2:
        won = values[wanted] > values[1 - wanted]
        note = "tie" if values[0] == values[1] else note
    return choice | {"probabilities": [math.exp(v) for v in values], "won": won, "note": note}


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


def mark_objects(text: str, fact: Fact) -> list[list[tuple[str, str]]]:
    """A text by lines, each in pieces, with the mentions of the two objects apart: ``new``, ``old`` or empty.

    Example:
        >>> from schemas.facts import Entity, Object, Relation, Source
        >>> told = {"key": "f", "subject": Entity(text="Peru"), "relation": Relation(id="P36"), "prompt": "{} is"}
        >>> told |= {"source": Source(name="x", licence="CC0-1.0"), "old": Object(text="Lima")}
        >>> mark_objects("Fly to Oslo.", Fact(new=Object(text="Oslo"), **told))
        [[('Fly to ', ''), ('Oslo', 'new'), ('.', '')]]
    """
    out = []
    for line in text.split("\n"):
        pieces, at = [], 0
        for mention, kind in mentions(line, fact):
            pieces += [(line[at : mention.start], ""), (line[mention.start : mention.end], kind)]
            at = mention.end
        out.append([(piece, kind) for piece, kind in [*pieces, (line[at:], "")] if piece])
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
    return rate_table("Objects named in the scripts", values, ["method"], "Scripts", MENTIONS, caption)


SHOWN = 2  # of the worst and of the best questions, each of another case


def side_by_side(texts: RatedTexts, cases: Mapping[str, Case]) -> list[dict[str, Any]]:
    """Questions where the edited methods did worst and best; by Coherence where it was rated, else by what is named.

    Only questions that every method answered are taken. Ties are broken by the question's key, so the choice is the
    same every time. Each has its ``case``, ``question``, ``why`` it is shown, and every method's script: its lines in
    pieces, what it names, its ratings as (aspect, source, value in words).
    """
    by_question: dict[tuple[str, str], dict[str, GeneratedScript]] = defaultdict(dict)
    for s in sorted(texts.scripts, key=lambda s: s.sample):
        if s.case in cases:
            by_question[(s.case, s.question)].setdefault(s.editor, s)
    labels = texts.editors
    whole = {k: v for k, v in by_question.items() if len(v) == len(labels) and any(s.edited for s in v.values())}
    coherence = script_values(r for r in texts.ratings if r.rated_by.kind != "adjudicated").get("coherence", {})
    reason, values = "mean Coherence of the edited methods {:.1f}", {}
    for key, scripts in whole.items():
        known = [coherence.get(s.id) for s in scripts.values() if s.edited]
        if None not in known:
            values[key] = sum(v or 0.0 for v in known) / len(known)
    if not values:
        reason = "share of edited methods whose script names the new object only {:.2f}"
        for key, scripts in whole.items():
            named = [which_objects(raw_text(s.text), cases[s.case].fact) for s in scripts.values() if s.edited]
            values[key] = named.count("new only") / len(named)
    order = sorted(values, key=lambda k: (values[k], k))
    picked: dict[tuple[str, str], str] = {}
    for which, keys in (("worst", order), ("best", order[::-1])):
        taken = {case for case, _ in picked}
        of_case: dict[str, tuple[str, str]] = {}
        for key in keys:
            of_case.setdefault(key[0], key)
        some = [key for case, key in of_case.items() if case not in taken][:SHOWN]
        picked |= {key: f"among the {which}: {reason.format(values[key])}" for key in some}
    return [
        {
            "case": cases[case],
            "question": next((q.text for q in cases[case].questions if q.key == question), question),
            "why": why,
            "scripts": [_shown(whole[case, question][label], cases[case].fact, texts) for label in labels],
        }
        for (case, question), why in picked.items()
    ]


def _shown(script: GeneratedScript, fact: Fact, texts: RatedTexts) -> dict[str, Any]:
    marks: dict[tuple[str, str], list[str]] = defaultdict(list)
    for r in texts.ratings:
        if r.item_id == script.id and r.rated_by.kind != "adjudicated":
            marks[(r.aspect, who(r.rated_by))].append("unscored" if r.value is None else str(r.value))
    order = sorted(marks, key=lambda k: (ASPECTS.index(k[0]), k[1] not in (PEOPLE, PROGRAMS), k[1]))
    text = raw_text(script.text)
    return {
        "label": script.editor,
        "lines": mark_objects(text, fact),
        "names": which_objects(text, fact),
        "refused": script.refused,
        "ratings": [(SHORT[a], name, ", ".join(sorted(marks[(a, name)]))) for a, name in order],
    }
