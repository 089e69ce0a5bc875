"""What is wrong with the sources of the open split, beyond the checks that judge one text: likeness, overlap, cuts.

``python -m tests.support.construction.open_review`` prints the counts and what fails; with ``--note`` it also adds what
fails to ``curation/shipped/open/funnel.jsonl``, once each, so that the funnel keeps what was rewritten and why.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from construction.checks.prompts import complaint
from construction.pipeline.adopt import Adoption, adopt
from construction.pipeline.case_files import case_rows
from curation.loaders import load
from curation.shipped import demonstrations_split, mini_split
from curation.similarity.pairs import encode, similar_pairs
from curation.similarity.texts import rouge1_f
from schemas.extras import Extra
from schemas.facts import Entity, Fact, Neighbour, Source
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.text.mentions import find

FOLDER = Path(__file__).resolve().parents[3] / "curation" / "shipped" / "open"
SOURCE = Source(name="ScEdit Toolkit open split", licence="CC0-1.0")
QUESTIONS, NEIGHBOURS, PARAPHRASES = 4, 3, 2
ALIKE_IN_FACT = 0.6  # ROUGE-1 F of two questions of a fact, subject and objects taken out
ALIKE_QUESTIONS = 0.8  # the same across facts
ALIKE_SCRIPTS = 0.5  # ROUGE-1 F of two scripts, names taken out
SAME_STEP = 3  # as often may a step stand in the whole collection
IN_STEP_2 = 0.2  # of all cuts


class Problem(NamedTuple):
    """What is wrong with a case: which check says so, of which text, and why."""

    case: str
    check: str
    text: str
    reason: str


class Collection(NamedTuple):
    """All that came of the sources, by kind; ``edits`` are the facts with a new object, ``times`` keys of extras."""

    adopted: tuple[Adoption, ...]
    edits: tuple[Fact, ...]
    facts: dict[str, Fact]
    questions: tuple[ScriptQuestion, ...]
    scripts: tuple[Script, ...]
    prompts: tuple[ScriptPrompt, ...]
    links: tuple[Neighbour, ...]
    times: frozenset[str]


def sources(folder: Path = FOLDER) -> list[Path]:
    """The files, in order of their names."""
    return sorted(folder.rglob("*.toml"))


def too_long(paths: Iterable[Path]) -> list[Problem]:
    """Steps of more words, and scripts of more steps, than the format has; such a file cannot be adopted at all."""
    results = []
    for path in paths:
        for row in case_rows(path.read_text(encoding="utf-8"), path):
            for script in (*row.data["questions"], *row.data["neighbours"]):
                if wrong := complaint(tuple(script["steps"])):
                    results.append(Problem(row.data["key"], "script_format", script["question"], wrong))
    return results


def collect(paths: Iterable[Path]) -> Collection:
    """Cut and check all files."""
    adoptions = tuple(adopt(path, source=SOURCE) for path in paths)
    records = list(chain.from_iterable(one.records for one in adoptions))
    facts = {r.key: r for r in records if isinstance(r, Fact)}
    return Collection(
        adoptions,
        tuple(f for f in facts.values() if f.new is not None),
        facts,
        tuple(r for r in records if isinstance(r, ScriptQuestion)),
        tuple(r for r in records if isinstance(r, Script)),
        tuple(r for r in records if isinstance(r, ScriptPrompt)),
        tuple(r for r in records if isinstance(r, Neighbour)),
        frozenset(r.key for r in records if isinstance(r, Extra)),
    )


def problems(all_: Collection) -> list[Problem]:
    """All that fails, by any check."""
    objections = (
        Problem(o.case, o.verdict.by, o.text, f"{o.verdict.label}: {o.verdict.reason}")
        for one in all_.adopted
        for o in one.objections
    )
    parts = (objections, _shapes(all_), _prompts(all_), _times(all_), _alike(all_), _steps(all_), overlaps(all_))
    return list(dict.fromkeys(chain.from_iterable(parts)))


def _shapes(all_: Collection) -> Iterator[Problem]:
    counts = Counter(q.fact for q in all_.questions)
    neighbour_counts = Counter(link.edit for link in all_.links)
    for fact in all_.edits:
        for kind, n, least in (
            ("questions", counts[fact.key], QUESTIONS),
            ("neighbours", neighbour_counts[fact.key], NEIGHBOURS),
            ("paraphrases", len(fact.paraphrases), PARAPHRASES),
        ):
            if n != least:
                yield Problem(fact.key, "shape", fact.subject.text, f"{n} {kind}, {least} are expected")
        for text in (fact.fact_prompt, *fact.paraphrases):
            if not find(text, fact.subject):
                yield Problem(fact.key, "cloze", text, "the subject is not named")
            for thing in (fact.old, fact.new_object):
                if find(text, thing):
                    yield Problem(fact.key, "cloze", text, f"'{thing.text}' is named")
        if len({fact.fact_prompt, *fact.paraphrases}) <= PARAPHRASES:
            yield Problem(fact.key, "cloze", fact.fact_prompt, "two cloze prompts are equal")


def _prompts(all_: Collection) -> Iterator[Problem]:
    for prompt in all_.prompts:
        if re.search(r"\ban?\Z", prompt.text, re.IGNORECASE):
            yield Problem(
                prompt.fact, "article_before_cut", prompt.text, "the article before the cut tells of the object"
            )
    for link in all_.links:
        edit, fact = all_.facts[link.edit], all_.facts[link.fact]
        if edit.change == "counterfactual" and link.how != "same_object":
            yield Problem(link.edit, "neighbour", fact.subject.text, "has another object")
        objects = edit.old.compared_names | edit.new_object.compared_names
        if edit.change == "temporal" and objects & fact.old.compared_names:
            yield Problem(link.edit, "neighbour", fact.subject.text, "has an object of the edit")


def _times(all_: Collection) -> Iterator[Problem]:
    for fact in all_.edits:
        if fact.change == "temporal" and f"{fact.key}/extra/times" not in all_.times:
            yield Problem(fact.key, "times", fact.subject.text, "a temporal case without the times of both objects")


def _without(text: str, *things: Entity | None) -> str:
    for thing in things:
        for name in sorted(thing.names if thing else (), key=len, reverse=True):
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", " ", text, flags=re.IGNORECASE)
    return text


def _alike(all_: Collection) -> Iterator[Problem]:
    facts = {q.key: all_.facts[q.fact] for q in all_.questions}
    rows = [(q.fact, q.text, _without(q.text, facts[q.key].subject, facts[q.key].old)) for q in all_.questions]
    pairs = [
        (
            facts[s.question].key,
            s.steps[0],
            _without(" ".join(s.steps), facts[s.question].subject, facts[s.question].old),
        )
        for s in all_.scripts
    ]
    for one, other in _near(rows, ALIKE_IN_FACT):
        value, limit = rouge1_f(one[2], other[2]), ALIKE_IN_FACT if one[0] == other[0] else ALIKE_QUESTIONS
        if value >= limit:
            yield Problem(other[0], "like_question", other[1], f"{value:.2f} like '{one[1]}' of {one[0]}")
    for one, other in _near(pairs, ALIKE_SCRIPTS):
        yield Problem(other[0], "like_script", other[1], f"like '{one[1]} ...' of {one[0]}")


Item = tuple[str, str, str]


def _near(items: Sequence[Item], limit: float) -> Iterator[tuple[Item, Item]]:
    """Pairs at or above a ROUGE-1 F, in the order of the items."""
    blocks = list(similar_pairs(encode(text for _, _, text in items), threshold=limit))
    for a, b in sorted(
        pair for block in blocks for pair in zip(block.first.tolist(), block.second.tolist(), strict=True)
    ):
        yield items[a], items[b]


def _steps(all_: Collection) -> Iterator[Problem]:
    count = Counter(step for script in all_.scripts for step in script.steps)
    owner = {step: script.key for script in all_.scripts for step in script.steps}
    for step, n in count.items():
        if n > SAME_STEP:
            yield Problem(owner[step].split("/q")[0], "same_step", step, f"{n} times, {SAME_STEP} are allowed")
    firsts = Counter(script.steps[0].casefold() for script in all_.scripts)
    for step, n in firsts.items():
        if n > 2:
            yield Problem("all", "same_first_step", step, f"{n} scripts begin so")


def overlaps(all_: Collection) -> Iterator[Problem]:
    """Subjects that other shipped data have, and subjects that are edited here and a neighbour there."""
    shipped: dict[str, str] = {}
    for where, facts in _shipped_subjects():
        for fact in facts:
            for name in fact.subject.compared_names:
                shipped.setdefault(name, where)
    values: dict[str, str] = {}
    for fact in all_.edits:
        for name in sorted(fact.subject.compared_names):
            if name in shipped:
                yield Problem(fact.key, "overlap", fact.subject.text, f"is a subject of {shipped[name]}")
            if values.setdefault(name, fact.key) != fact.key:
                yield Problem(fact.key, "overlap", fact.subject.text, f"is the subject of {values[name]}")
    for link in all_.links:
        for name in sorted(all_.facts[link.fact].subject.compared_names):
            if name in values:
                yield Problem(link.edit, "overlap", name, f"a neighbour here, the subject of {values[name]}")


def _shipped_subjects() -> Iterator[tuple[str, list[Fact]]]:
    yield "mini", [case.fact for case in mini_split().cases]
    cases = demonstrations_split().cases
    yield "demonstrations", [case.fact for case in cases]
    yield "the demonstrations' neighbours", [neighbour.fact for case in cases for neighbour in case.neighbours]
    yield "facts.jsonl", list(load("shipped").require())


def cut_steps(all_: Collection) -> Counter[int | None]:
    """How many prompts are cut in which step."""
    return Counter(prompt.step for prompt in all_.prompts)


def early_share(all_: Collection) -> float:
    """Share of the cuts in step 1 or 2."""
    steps = cut_steps(all_)
    return (steps[1] + steps[2]) / max(1, steps.total())


def main(arguments: list[str]) -> int:
    """Print counts and problems; ``--note`` keeps the problems in the funnel. Other arguments are files."""
    paths = [Path(a) for a in arguments if not a.startswith("--")] or sources()
    if long_paths := too_long(paths):
        if "--note" in arguments:
            note(long_paths)
        sys.stdout.write("\n".join(f"{p.case} | {p.text} | {p.reason}" for p in long_paths) + "\n")
        return 1
    all_ = collect(paths)
    long_paths = problems(all_)
    for one in long_paths:
        sys.stdout.write(f"{one.case} | {one.check} | {one.text[-110:]!r} | {one.reason}\n")
    steps = cut_steps(all_)
    relations = Counter(fact.relation.label for fact in all_.edits)
    kinds = Counter(fact.change for fact in all_.edits)
    sys.stdout.write(
        f"{len(relations)} relations, {len(all_.edits)} cases {dict(kinds)}, {len(all_.questions)} questions, "
        f"{len(all_.prompts)} cut scripts of {len(all_.scripts)}, {len(all_.links)} neighbours; "
        f"{len(long_paths)} problems; cuts by step {dict(sorted(steps.items(), key=str))}, "
        f"{early_share(all_):.1%} in step 1 or 2\n{dict(relations)}\n"
    )
    if "--note" in arguments:
        note(long_paths)
    return bool(long_paths)


def note(result: Iterable[Problem], path: Path = FOLDER / "funnel.jsonl") -> None:
    """Add problems to the funnel that it does not hold yet."""
    before = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    lines = dict.fromkeys(before)
    lines.update(dict.fromkeys(json.dumps(one._asdict(), ensure_ascii=False) for one in result))
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
