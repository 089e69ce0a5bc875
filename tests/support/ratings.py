"""Made scripts and ratings for a run of the arithmetic model, in a store: what text-level reports are tested on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from curation.store.store import Store
from evaluation.runs.results import Run, cases_by_key
from schemas.generated_scripts import GeneratedScript
from schemas.ratings import Rating
from schemas.scripts import ScriptQuestion
from tests.support.arithmetic import noise

ASPECTS = ("executability", "coherence", "consistency", "completeness")
Value = Callable[[GeneratedScript, str, str], int | None]


def made_scripts(run: Run, *, questions: int = 2) -> list[GeneratedScript]:
    """Scripts of every editor: edited ones name the new object, or both in every third case; others the old one."""
    out = []
    for editor in run.editors:
        has_edit = editor.label != run.baseline.label
        for n, (key, case) in enumerate(cases_by_key(run).items()):
            fact = case.fact
            keys = [q.key for q in case.questions] or [f"{fact.key}/q{q}" for q in range(questions)]
            for q, question in enumerate(keys[:questions]):
                place = fact.new.text if has_edit and fact.new else fact.old.text
                also = f"Ask about {fact.old.text}" if has_edit and n % 3 == 0 else "Ask a guide"
                steps = (f"Fly to {place}", also, "Go home")
                out.append(
                    GeneratedScript(
                        key=f"{editor.label}/{key}/{q}",
                        case=key,
                        fact=fact.key,
                        question=question,
                        model=f"{run.about['model']}@{run.about['model_revision']}",
                        editor=editor.label,
                        edited=has_edit,
                        text="\n".join(steps),
                        steps=steps,
                    )
                )
    return out


def made_value(script: GeneratedScript, rater: str, aspect: str) -> int | None:
    """A rating that depends on the method, the case and a little on the rater; the judge leaves some unscored."""
    if rater.startswith("judge:") and noise("lost", script.key, aspect) < 0.1:
        return None
    quality = 5 if script.edited else 2
    return min(7, max(1, quality + round(2 * noise(script.case, aspect)) + round(2 * noise(rater, script.key) - 1)))


def rate(scripts: list[GeneratedScript], raters: tuple[str, ...], value: Value = made_value) -> list[Rating]:
    """Every rater rates every script on every aspect."""
    out = []
    for s in scripts:
        for rater in raters:
            for aspect in ASPECTS:
                form = f"judge_{aspect}@1" if rater.startswith("judge:") else "rate_script@1"
                score = value(s, rater, aspect)
                out.append(
                    Rating.model_validate(
                        {
                            "key": f"{form}/{rater}/{s.key}/{aspect}",
                            "item_id": s.id,
                            "aspect": aspect,
                            "value": score,
                            "rater": rater,
                            "form": form,
                            "reason": "" if score is not None else "malformed JSON",
                        }
                    )
                )
    return out


def rated_store(path: Path, run: Run, raters: tuple[str, ...], value: Value = made_value) -> list[GeneratedScript]:
    """A store with the scripts, their facts and their ratings."""
    scripts = made_scripts(run)
    facts = {s.question: s.fact for s in scripts}
    questions = [ScriptQuestion(key=k, fact=f, text=f"How to see it ({k})?") for k, f in facts.items()]
    keys = {q.key for case in cases_by_key(run).values() for q in case.questions}
    with Store.open(path, create=True) as store:
        store.put([r for case in cases_by_key(run).values() for r in (case.fact, *case.questions, case)])
        store.put([q for q in questions if q.key not in keys])
        store.put(scripts)
        store.put(rate(scripts, raters, value))
    return scripts
