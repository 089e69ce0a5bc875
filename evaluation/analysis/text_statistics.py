"""What the texts of a run look like, counted apart: which object comes first, which at all, loops, format, length.

Plain functions over a finished run; the report shows them. Rates are means of case means with intervals over cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Literal, NamedTuple

from curation.stats.bootstrap import case_means
from curation.stats.bounded import SHARE, Scale, clustered_interval, difference_interval
from curation.stats.intervals import Interval
from evaluation.metrics.base import Normalisation, target_values
from evaluation.metrics.generation import Generation
from evaluation.metrics.text_level.base import text_of
from evaluation.metrics.text_level.probes import objects, rest_of_step, scripts_for
from evaluation.metrics.text_level.script_parser import (
    MentionedObjects,
    broken_rules,
    has_repetition,
    n_gram_entropy,
    names,
    parse,
    words,
)
from evaluation.metrics.token_level.collapse import PROMPT, TEXT, perplexity
from evaluation.metrics.token_level.s_es import SES
from evaluation.runs.generated_scripts import generation_of
from evaluation.runs.results import EditorRun, Run, answers_by_probe, cases_by_key
from evaluation.runs.validity_variants import asked_case
from schemas.answers import Answer, GeneratedText
from schemas.cases import Case
from schemas.probes import ScoreProbe
from schemas.scripts import ScriptPrompt

Place = Literal["script prompt", "question"]


class ObjectMentionRates(NamedTuple):
    """Which objects an editor's texts name, at one place.

    Attributes:
        label: The editor.
        place: Continued from the script prompt, or written for the question alone.
        texts: Texts written.
        missing: Probes without a text.
        new, old, neither: The object that is named first.
        mixed: Both are named.
        repetition: The text repeats itself.
        sound: The new object comes first and the text does not.
    """

    label: str
    place: Place
    texts: int
    missing: int
    new: Interval
    old: Interval
    neither: Interval
    mixed: Interval
    repetition: Interval
    sound: Interval


class ScoreTextGap(NamedTuple):
    """S-ES minus S-ES-gen on the same script prompts: what probabilities promise and the text does not keep.

    Attributes:
        label: The editor.
        all: Over all prompts that have both.
        prompts: Their number.
        known: Over the prompts at which the unedited model names the old object first.
        known_prompts: Their number.
        known_new: Share of these at which the edited model names the new object first.
    """

    label: str
    all: Interval
    prompts: int
    known: Interval
    known_prompts: int
    known_new: Interval


class TextShape(NamedTuple):
    """An editor's scripts as texts.

    Attributes:
        label: The editor.
        scripts: Written for a question.
        words: Words and signs a script.
        steps: Steps a script.
        cut_off: Share that reached the most tokens.
        chat: Share written in a chat template.
        broken: Rules of the format, with the number of scripts that break each.
        entropy: N-gram entropy in bits of whole texts, not matched in length (the metric is).
        perplexity: Median perplexity of the fixed text over cases; None where it was not asked.
        before: That of the unedited model.
    """

    label: str
    scripts: int
    words: Interval
    steps: Interval
    cut_off: Interval
    chat: Interval
    broken: dict[str, int]
    entropy: Interval
    perplexity: float | None
    before: float | None


class _Text(NamedTuple):
    case: str
    item: str
    written: GeneratedText
    named: MentionedObjects


def object_mention_rates(run: Run) -> list[ObjectMentionRates]:
    """Every editor at both places; places at which nothing was written are left out."""
    generation = generation_of(run)
    out = []
    for editor in run.editors:
        for place in ("script prompt", "question"):
            texts, missing = _texts(run, editor, place, generation)
            if texts:
                out.append(_mention_rates(editor.label, place, texts, missing))
    return out


def score_text_gaps(run: Run, normalisation: Normalisation = "mean") -> list[ScoreTextGap]:
    """S-ES against S-ES-gen for every editor, prompt by prompt; intervals over cases."""
    generation = generation_of(run)
    base = _texts(run, run.baseline, "script prompt", generation)[0]
    old_first = {(t.case, t.item) for t in base if t.named.first == "old"}
    out = []
    for editor in run.editors:
        wrote = {
            (t.case, t.item): float(t.named.first == "new") for t in _texts(run, editor, "script prompt", generation)[0]
        }
        scored = _script_preferences(run, editor, normalisation)
        both = [k for k in wrote if k in scored]
        some = [k for k in both if k in old_first]
        if both:
            out.append(
                ScoreTextGap(
                    editor.label,
                    _gap(scored, wrote, both),
                    len(both),
                    _gap(scored, wrote, some),
                    len(some),
                    _interval([(k[0], wrote[k]) for k in some]),
                )
            )
    return out


def text_shapes(run: Run) -> list[TextShape]:
    """Length, format and plain entropy of every editor's scripts, and the perplexity of the fixed text."""
    generation = generation_of(run)
    before = _perplexity(run.baseline)
    out = []
    for editor in run.editors:
        texts = _texts(run, editor, "question", generation)[0]
        if not texts:
            continue
        rules = [broken_rules(t.written.text, ended=t.written.ended) for t in texts]
        entropy = [(t.case, e) for t in texts if (e := n_gram_entropy(t.written.text, max_words=None)) is not None]
        out.append(
            TextShape(
                label=editor.label,
                scripts=len(texts),
                words=_interval([(t.case, float(len(words(t.written.text)))) for t in texts], None),
                steps=_interval([(t.case, float(len(parse(t.written.text).steps))) for t in texts], None),
                cut_off=_interval([(t.case, float(t.written.ended == "length")) for t in texts]),
                chat=_interval([(t.case, float(t.written.chat)) for t in texts]),
                broken=dict(Counter(rule for broken in rules for rule in broken).most_common()),
                entropy=_interval(entropy, None),
                perplexity=_perplexity(editor),
                before=before,
            )
        )
    return out


def _texts(run: Run, editor: EditorRun, place: Place, generation: Generation) -> tuple[list[_Text], int]:
    """Texts of an editor with what they name, and how many are missing in finished cases."""
    texts, missing = [], 0
    for key, case in cases_by_key(run).items():
        result = editor.results.get(key)
        if result is None or result.error is not None:
            continue
        case = asked_case(case, editor.manifest.components)
        answers = answers_by_probe(result.answers)
        for item, probe, prompt in _written_places(case, place, generation):
            written = text_of(answers.get(probe))
            if isinstance(written, str):
                missing += 1
                continue
            targets = objects(case, prompt)
            texts.append(_Text(key, item, written, names(written.text, *targets)))
    return texts, missing


def _written_places(case: Case, place: Place, generation: Generation) -> list[tuple[str, str, ScriptPrompt | None]]:
    if place == "question":
        return [(p.item, p.id, None) for p in scripts_for(case, generation)]
    return [(p.key, rest_of_step(case, p, generation).id, p) for p in case.prompts]


def _mention_rates(label: str, place: Place, texts: Sequence[_Text], missing: int) -> ObjectMentionRates:
    def share(values: Sequence[bool]) -> Interval:
        return _interval([(t.case, float(v)) for t, v in zip(texts, values, strict=True)])

    repeated = [has_repetition(t.written.text) for t in texts]
    return ObjectMentionRates(
        label,
        place,
        len(texts),
        missing,
        new=share([t.named.first == "new" for t in texts]),
        old=share([t.named.first == "old" for t in texts]),
        neither=share([t.named.first == "neither" for t in texts]),
        mixed=share([t.named.mixed for t in texts]),
        repetition=share(repeated),
        sound=share([t.named.first == "new" and not c for t, c in zip(texts, repeated, strict=True)]),
    )


def _script_preferences(run: Run, editor: EditorRun, normalisation: Normalisation) -> dict[tuple[str, str], float]:
    """S-ES by (case, script prompt)."""
    metric, out = SES(), {}
    for key, case in cases_by_key(run).items():
        result = editor.results.get(key)
        if result is None or result.error is not None:
            continue
        answers: Mapping[str, Answer] = answers_by_probe(result.answers)
        for probe in metric.probes(asked_case(case, editor.manifest.components)):
            values = target_values(probe, answers.get(probe.id), normalisation)
            if not isinstance(values, str):
                out[key, probe.item] = float(values[0] > values[1])
    return out


def _perplexity(editor: EditorRun) -> float | None:
    probe = ScoreProbe(purpose="fixed_text", item="fixed_text", prompt=PROMPT, targets=(TEXT,))
    answers = [a for r in editor.results.values() for a in r.answers if a.probe == probe.id]
    values = [v for a in answers if not isinstance(v := perplexity(probe, a), str)]
    return median(values) if values else None


def _interval(values: Sequence[tuple[str, float]], scale: Scale | None = SHARE) -> Interval:
    """Mean of case means with its interval over cases."""
    return clustered_interval([v for _, v in values], [case for case, _ in values], scale=scale)


_Place = tuple[str, str]  # case, prompt


def _gap(first: Mapping[_Place, float], second: Mapping[_Place, float], places: Sequence[_Place]) -> Interval:
    """Mean difference over the same prompts, paired by case."""
    cases = [case for case, _ in places]
    one, two = (case_means([side[k] for k in places], cases) for side in (first, second))
    return difference_interval(one, two)
