"""Free text after fact prompts: what it names, and the way from a probability to a text taken apart step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from curation.stats.bootstrap import case_means
from curation.stats.bounded import SHARE, clustered_interval, difference_interval
from curation.stats.intervals import Interval
from evaluation.analysis.facts.prompt_readings import PromptReading, prompt_readings
from evaluation.metrics.base import Normalisation
from evaluation.metrics.fact_texts.answer_line import AnswerLine
from evaluation.metrics.fact_texts.probes import PLACES, Place
from evaluation.runs.generated_scripts import generation_of
from evaluation.runs.results import Run

LONG = 3
"""Objects of so many tokens and more are one group."""


class WrittenFactRates(NamedTuple):
    """What a method's answers at one place look like, in shares of the texts.

    Attributes:
        label: The method.
        place: Fact prompt, paraphrases or neighbours; the wanted object is the old one at neighbours.
        texts: Texts written.
        missing: Prompts without a text, where some have one.
        first: The wanted object is named first (the metric).
        other: The other object is named first.
        neither: Neither is named.
        mixed: Both are named.
        exact: The answer is the wanted object and no more.
        degenerate: The text is empty or repeats itself.
        natural: The model ended the answer itself.
    """

    label: str
    place: Place
    texts: int
    missing: int
    first: Interval
    other: Interval
    neither: Interval
    mixed: Interval
    exact: Interval
    degenerate: Interval
    natural: Interval


class LengthRates(NamedTuple):
    """The same steps over objects of one length: ``tokens`` is the length, ``LONG`` for that and more."""

    tokens: int
    prompts: int
    matched: Interval
    whole: Interval
    first: Interval


class FreeTextGap(NamedTuple):
    """From P(wanted) > P(other) to what is written, on the prompts asked in every way. All shares of the same prompts.

    Attributes:
        label: The method.
        place: Where.
        prompts: Prompts that were asked in every way.
        preferred: The wanted object is more probable than the other one.
        matched: Share of its tokens that are the most probable ones under teacher forcing.
        whole: All of them are: greedy writing begins with the object.
        begins: The text begins with the object, by any of its names.
        exact: The answer is the object and no more.
        first: The object is named first of the two, wherever.
        choice: ``preferred`` less ``matched``: being ahead of one other object, against being ahead of all words.
        forcing: ``matched`` less ``whole``: what teacher forcing gives; nothing for objects of one token.
        names: ``whole`` less ``begins``: other names and spellings (below 0 where they are written).
        stop: ``begins`` less ``exact``: the answer goes on after the object.
        rule: ``first`` less ``exact``: what the looser matching rule gives.
        total: ``preferred`` less ``first``.
        lengths: By the object's number of tokens.
    """

    label: str
    place: Place
    prompts: int
    preferred: Interval
    matched: Interval
    whole: Interval
    begins: Interval
    exact: Interval
    first: Interval
    choice: Interval
    forcing: Interval
    names: Interval
    stop: Interval
    rule: Interval
    total: Interval
    lengths: tuple[LengthRates, ...]


def written_fact_rates(run: Run, normalisation: Normalisation = "mean") -> list[WrittenFactRates]:
    """Every method at every place at which texts were written."""
    generation, out = generation_of(run), []
    for place in PLACES:
        for editor in run.editors:
            readings = prompt_readings(run, editor, place, generation, normalisation)
            texts = [r for r in readings if r.answer is not None]
            if texts:
                out.append(_rates(editor.label, place, texts, len(readings) - len(texts)))
    return out


def _rates(label: str, place: Place, texts: Sequence[PromptReading], missing: int) -> WrittenFactRates:
    def share(holds: Callable[[AnswerLine], bool]) -> Interval:
        return _mean(texts, [float(r.answer is not None and holds(r.answer)) for r in texts])

    return WrittenFactRates(
        label,
        place,
        len(texts),
        missing,
        first=share(lambda a: a.first == "new"),
        other=share(lambda a: a.first == "old"),
        neither=share(lambda a: a.first == "neither"),
        mixed=share(lambda a: a.mixed),
        exact=share(lambda a: a.exact),
        degenerate=share(lambda a: a.degenerate),
        natural=share(lambda a: a.natural),
    )


def free_text_gaps(run: Run, normalisation: Normalisation = "mean") -> list[FreeTextGap]:
    """The steps of every method at every place that was asked in every way; intervals over cases."""
    generation, out = generation_of(run), []
    for place in PLACES:
        for editor in run.editors:
            readings = [r for r in prompt_readings(run, editor, place, generation, normalisation) if r.complete]
            if readings:
                out.append(_gap(editor.label, place, readings))
    return out


def _gap(label: str, place: Place, readings: Sequence[PromptReading]) -> FreeTextGap:
    values = _values(readings)
    means = {name: _mean(readings, numbers) for name, numbers in values.items()}
    cases = [r.case for r in readings]

    def less(one: str, two: str) -> Interval:
        return difference_interval(case_means(values[one], cases), case_means(values[two], cases))

    return FreeTextGap(
        label,
        place,
        len(readings),
        **means,
        choice=less("preferred", "matched"),
        forcing=less("matched", "whole"),
        names=less("whole", "begins"),
        stop=less("begins", "exact"),
        rule=less("first", "exact"),
        total=less("preferred", "first"),
        lengths=_lengths(readings, values),
    )


def _values(readings: Sequence[PromptReading]) -> dict[str, list[float]]:
    """The steps' values, one a prompt, all from complete readings."""
    lines = [r.answer for r in readings if r.answer is not None]
    tokens = [(r.matched or 0, r.tokens or 1) for r in readings]
    return {
        "preferred": [float(bool(r.preferred)) for r in readings],
        "matched": [hits / count for hits, count in tokens],
        "whole": [float(hits == count) for hits, count in tokens],
        "begins": [float(line.begins) for line in lines],
        "exact": [float(line.exact) for line in lines],
        "first": [float(line.first == "new") for line in lines],
    }


def _lengths(readings: Sequence[PromptReading], values: Mapping[str, Sequence[float]]) -> tuple[LengthRates, ...]:
    out = []
    for length in range(1, LONG + 1):
        places = [n for n, r in enumerate(readings) if min(r.tokens or 1, LONG) == length]
        if places:
            some = [readings[n] for n in places]
            rates = {name: _mean(some, [values[name][n] for n in places]) for name in ("matched", "whole", "first")}
            out.append(LengthRates(length, len(places), **rates))
    return tuple(out)


def _mean(readings: Sequence[PromptReading], values: Sequence[float]) -> Interval:
    """Mean of case means with its interval over cases."""
    return clustered_interval(values, [r.case for r in readings], scale=SHARE)
