"""Every text that a run's models wrote, by case and question: raw, how it ended, and what raters said of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from evaluation.analysis.text_ratings import ASPECTS, RatedTexts, profile
from evaluation.engines.base import REWRITTEN, prompt_as_read
from evaluation.metrics.text_level.probes import questions, scripts_for
from evaluation.metrics.text_level.script_parser import INSTRUCTION, has_repetition
from evaluation.runs.generated_scripts import generation_of, scripts_of_run
from evaluation.runs.results import Run, cases_by_key
from evaluation.runs.validity_variants import asked_case
from schemas.answers import GeneratedText
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.ratings import Rating
from schemas.text.raw_text import raw_text


class GivenRating(NamedTuple):
    """A rating as readers see it: who, on what, the value in words, the reason."""

    rater: str
    aspect: str
    value: str
    reason: str


class RawAnswer(NamedTuple):
    """One text: the method, whether an edit was in force, the raw text, how it ended, its tokens, its ratings.

    ``prompt`` is what the edited model was given where the edit changed the prompt; empty where it did not. ``thought``
    is what a model that thinks first thought, empty where it did not.
    """

    label: str
    edited: bool
    text: str
    ended: str
    tokens: int
    ratings: tuple[GivenRating, ...]
    prompt: str = ""
    thought: str = ""


class AnsweredQuestion(NamedTuple):
    """A script question of a case with what every method answered, the unedited model first.

    ``prompt`` is what a model is given whose edit leaves prompts alone; ``chat``: the model's chat template stood
    around it.
    """

    case: Case
    question: str
    prompt: str
    answers: tuple[RawAnswer, ...]
    chat: bool = False


_ENDED = {"eos": "ended by the model", "stop": "ended at a stop text", "length": "cut off at the token limit"}


def all_answers(run: Run, texts: RatedTexts | None) -> list[AnsweredQuestion]:
    """Every answer of a run, in its order; empty where no script was written."""
    try:
        sources = scripts_of_run(run, unfinished=True)
    except UserError:
        return []
    ratings = _by_script(texts)
    cases = cases_by_key(run)
    raw_answers: dict[tuple[str, str], list[RawAnswer]] = defaultdict(list)
    read, chats = _prompts_read(run), set()
    for source in sources:
        script, written = source.script, source.written
        if written is not None and written.chat:
            chats.add((script.case, script.question))
        label = script.editor if not script.sample else f"{script.editor}, sample {script.sample + 1}"
        raw_answers[script.case, script.question].append(
            RawAnswer(
                label,
                script.edited,
                raw_text(script.text),
                "" if written is None else _how_ended(written),
                0 if written is None else written.tokens,
                ratings.get(script.id, ()),
                read.get((script.editor, script.case, script.question, script.sample), ""),
                "" if written is None else raw_text(written.thought or ""),
            )
        )
    order = {key: n for n, key in enumerate(cases)}
    chosen = sorted(raw_answers.items(), key=lambda x: (order[x[0][0]], x[0][1]))
    return [_question(cases[case], key, answers, (case, key) in chats) for (case, key), answers in chosen]


def _how_ended(written: GeneratedText) -> str:
    return _ENDED[written.ended] + (" within the thought: there is no answer" if written.unfinished else "")


def _prompts_read(run: Run) -> dict[tuple[str, str, str, int], str]:
    """What edited models were given where their edit changed the prompt, by label, case, question and sample."""
    generation, cases, out = generation_of(run), cases_by_key(run), {}
    for editor in run.editors:
        for key, result in editor.results.items():
            if REWRITTEN not in result.notes:
                continue
            for probe in scripts_for(asked_case(cases[key], editor.manifest.components), generation):
                if (text := prompt_as_read(probe, result.notes)) != probe.prompt:
                    out[editor.label, key, probe.item, probe.sample] = f"{INSTRUCTION}\n\n{text}"
    return out


class TextEnds(NamedTuple):
    """How the texts of some methods ended: at the token limit (some of these in a loop), or at a stop text."""

    texts: int
    cut_off: int
    loops: int
    stopped: int


def text_ends(answers: Sequence[AnsweredQuestion], *, without: Collection[str] = ()) -> TextEnds:
    """Counts over all answers but those of some methods (all their samples)."""
    given = [a for q in answers for a in q.answers if not {a.label, a.label.rpartition(", sample ")[0]} & set(without)]
    cut_off = [a for a in given if a.ended.startswith(_ENDED["length"])]
    loops = sum(has_repetition(a.text) for a in cut_off)
    return TextEnds(len(given), len(cut_off), loops, sum(a.ended == _ENDED["stop"] for a in given))


def _question(case: Case, key: str, answers: Sequence[RawAnswer], chat: bool) -> AnsweredQuestion:
    text = dict(questions(case)).get(key, key)
    return AnsweredQuestion(
        case, text, f"{INSTRUCTION}\n\n{text}", tuple(sorted(answers, key=lambda a: a.edited)), chat
    )


def _by_script(texts: RatedTexts | None) -> Mapping[str, tuple[GivenRating, ...]]:
    ratings: dict[str, list[Rating]] = defaultdict(list)
    for rating in () if texts is None else texts.ratings:
        if rating.rated_by.kind != "adjudicated":
            ratings[rating.item_id].append(rating)
    return {item: tuple(map(_given_rating, sorted(rated, key=_order))) for item, rated in ratings.items()}


def _order(rating: Rating) -> tuple[int, bool, str]:
    return ASPECTS.index(rating.aspect), rating.rated_by.is_judge, rating.rater


def _given_rating(rating: Rating) -> GivenRating:
    who = f"{rating.rated_by.name} ({profile(rating)})"
    value = "unscored" if rating.value is None else f"{rating.value} of 7"
    return GivenRating(who, rating.aspect.capitalize(), value, rating.reason)
