"""A blind reading of a split: sheets for a reader who has not seen it, and what the answers come to.

``python -m benchmarks.open.reading sheets SPLIT FOLDER --edits 150 --neighbours 100 --seed 7`` draws script
prompts and paraphrases, shuffles them, adds a damaged prompt as a control for every four, and writes one file a test,
``TEST.jsonl``. Controls are other prompts than those that are judged; if all are judged, every fourth is shown twice.
A reader writes ``TEST.answers.jsonl`` beside it: ``{"n": 1, "answer": "..."}``. ``score FOLDER`` prints the table. The
truth is in ``truth.jsonl``, which the reader must not open. A reader is a person or a language model; say which.
``verdicts FOLDER OUT --reader NAME`` writes the answers as verdicts for ``scedit data import``, and ``decide SPLIT OUT
FOLDER ...`` what several readings come to.

| test | what the reader sees | what it writes | passes if |
| --- | --- | --- | --- |
| continuation | question and prefix | the next one to six words | the old object is first (temporal: or the new one) |
| after_edit | "Suppose that" the new fact, question, prefix | the same | the new object comes first |
| hidden | question and prefix, the subject an X | two guesses, parted by a semicolon | the old object is no guess |
| asked | the question | yes or no | yes: a person would type this to an assistant |
| needed | the question and the fact | yes or no | yes: the task cannot be finished without the fact |
| paraphrase | a paraphrase without its end | the next one to six words | the old object comes first |
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from construction.mentions import other_names
from construction.verifier.steps import names_first
from curation.files.atomic import write_text
from curation.files.json_files import json_lines
from curation.loaders.formats.native import write_records
from curation.shipped import named_split
from curation.splits.split_file import Split
from curation.stats.intervals import binomial_interval
from schemas.core.errors import DataError, UserError
from schemas.core.ids import seed as seed_of
from schemas.facts import Fact, Object
from schemas.scripts import ScriptPrompt
from schemas.text.counting import counted
from schemas.text.masking import mask
from schemas.text.mentions import find
from schemas.verdicts import Verdict, verdict_key

TESTS = ("continuation", "after_edit", "hidden", "asked", "needed", "paraphrase")
CONTROLS = 4  # items for each control
ENOUGH = (3, 1)  # prompts of an edit, and of a fact that only serves as a neighbour
UNASKED, GUESSED = "a reader would not ask this", "guessed with the subject hidden"
RATHER_NOT = {UNASKED: 2, GUESSED: 1}  # a guessed object weighs less than a question that a reader would not ask
NEVER = {"continuation": "something else comes next", "needed": "the task does not need the fact"}
UNGUESSED = 2  # prompts of an edit at least whose object is not guessed, else it is the likeliest object of its kind
TASKS = {
    "continuation": "Write the one to six words that come next and end the step. Name a thing by its name.",
    "after_edit": "Take the first sentence as true. Write the one to six words that come next and end the step.",
    "hidden": "X hides a name. Guess what comes next: two guesses, parted by a semicolon.",
    "asked": "Would an ordinary person type this to an assistant, in these or similar words? yes or no",
    "needed": "Can this task not be finished without knowing the fact? yes (it cannot) or no",
    "paraphrase": "Write the one to six words that come next.",
}


class Drawn(NamedTuple):
    """A prompt of a split with its fact; ``kind`` is ``edit`` or ``neighbour``."""

    kind: str
    fact: Fact
    prompt: ScriptPrompt

    @property
    def question(self) -> str:
        """Its question."""
        return self.prompt.text.partition("\n")[0]

    @property
    def relation(self) -> str:
        """The relation of its fact."""
        return self.fact.relation.id


def drawn(split: Split, *, edits: int, neighbours: int, seed: int) -> tuple[list[Drawn], list[Drawn]]:
    """Script prompts by a seed, each once, also where a neighbour serves several cases, and those to damage."""
    own = {p.id: Drawn("edit", case.fact, p) for case in split.cases for p in case.prompts}
    served = {p.id: Drawn("neighbour", n.fact, p) for case in split.cases for n in case.neighbours for p in n.prompts}
    beside = {key: one for key, one in served.items() if key not in own}  # an edited fact may serve another edit
    prompts, controls = list[Drawn](), list[Drawn]()
    for pool, count in ((own, edits), (beside, neighbours)):
        keys = sorted(pool, key=lambda key: seed_of("reading", str(seed), key))
        prompts += [pool[key] for key in keys[:count]]
        others = keys[count:][: count // CONTROLS] or keys[:count:CONTROLS]
        controls += [pool[key] for key in others]
    return prompts, controls


def objects_of(fact: Fact) -> list[Object]:
    """What counts as the present object: of a change in time a reader may know the new one."""
    return [fact.old, *([fact.new] if fact.new is not None and fact.change == "temporal" else [])]


def shown(test: str, one: Drawn, other: Drawn | None) -> str | None:
    """What a test shows of a prompt; with another one of another relation it is damaged. None: the test has no item."""
    text, fact = one.prompt.text, one.fact
    new = fact.new
    if test == "continuation":
        head, _, _ = text.rpartition("\n")
        return text if other is None else head  # the cut step is gone: any step may follow
    if test == "after_edit":
        if new is None or (other is not None and fact.change == "temporal"):
            return None  # of a change in time a reader may know the new object without being told
        said = fact if other is None else other.fact
        wanted = said.new or said.old
        return f"Suppose that {said.fact_prompt} {wanted.text}.\n{text}"
    if test == "hidden":
        hidden = mask(text, fact.subject)
        return hidden if other is None else hidden.replace("\n", f"\nThink of {fact.old.text} first\n", 1)
    question = one.question
    if other is not None:
        question = other.question.replace(other.fact.subject.text, fact.subject.text)
    if test == "asked":
        return question
    if test == "needed":
        return f"{question}\nFact: {fact.fact_prompt} {fact.old.text}."
    return None


def sheets(split: Split, *, edits: int, neighbours: int, seed: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Every test with its items in random order; each has its text, and its truth."""
    prompts, controls = drawn(split, edits=edits, neighbours=neighbours, seed=seed)
    for test in TESTS:
        rng = random.Random(seed_of("reading", str(seed), test))
        items = list(_paraphrases(prompts) if test == "paraphrase" else _items(test, prompts, controls, rng))
        rng.shuffle(items)
        yield test, [{"n": n, **item} for n, item in enumerate(items, 1)]


def _items(
    test: str, prompts: Sequence[Drawn], controls: Sequence[Drawn], rng: random.Random
) -> Iterator[dict[str, Any]]:
    for one in prompts:
        text = shown(test, one, None)
        if text is not None:
            yield _item(one, text, control=False)
    for one in controls:
        others = [other for other in prompts if other.relation != one.relation]
        damaged = shown(test, one, rng.choice(others)) if others else None
        if damaged is not None:
            yield _item(one, damaged, control=True)


def _paraphrases(prompts: Sequence[Drawn]) -> Iterator[dict[str, Any]]:
    facts = {one.fact.key: one for one in prompts if one.kind == "edit"}
    for one in facts.values():
        for text in one.fact.paraphrases:
            yield _item(one, text, control=False)


def _item(one: Drawn, text: str, *, control: bool) -> dict[str, Any]:
    fact = one.fact.model_dump(mode="json", include={"old", "new", "change"})
    ids = {"fact": one.fact.id, "prompt": one.prompt.id, "relation": one.relation}
    return {"kind": one.kind, "control": control, "text": text, **ids, **fact}


def passes(test: str, item: dict[str, Any], answer: str) -> bool:
    """Whether an answer passes its test."""
    old = Object.model_validate(item["old"])
    new = None if item["new"] is None else Object.model_validate(item["new"])
    if test in ("asked", "needed"):
        return answer.strip().casefold().startswith("yes")
    if test == "hidden":
        return not find(answer, old)
    wanted = [new] if test == "after_edit" else [old, new if item["change"] == "temporal" else None]
    named = (one.model_copy(update={"aliases": (*one.aliases, *other_names(one).names)}) for one in wanted if one)
    return any(names_first(answer, one) for one in named)


def write_sheets(split: Split, folder: Path, **draw: int) -> None:
    """Write what the reader sees, and the truth, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    truth = []
    for test, items in sheets(split, **draw):
        rows = [{"n": item["n"], "text": item["text"]} for item in items]
        write_text(folder / f"{test}.jsonl", _lines([{"task": TASKS[test]}, *rows]))
        truth += [{"test": test, **item} for item in items]
    write_text(folder / "truth.jsonl", _lines(truth))


def _lines(rows: Sequence[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


class Answered(NamedTuple):
    """An item with what a reader wrote about it."""

    item: dict[str, Any]
    answer: str

    @property
    def good(self) -> bool:
        """Whether the answer passes the item's test."""
        return passes(self.item["test"], self.item, self.answer)


def answered(folder: Path) -> dict[str, list[Answered]]:
    """What a reader wrote, by test; a test without a file of answers is left out."""
    truth = [data for _, _, data in json_lines(folder / "truth.jsonl")]
    read = {}
    for test in TESTS:
        path = folder / f"{test}.answers.jsonl"
        if path.is_file():
            items, answers = [item for item in truth if item["test"] == test], _answers(path)
            if missing := [item["n"] for item in items if item["n"] not in answers]:
                what = f"{counted(len(missing), 'item')} without an answer, the first is n = {missing[0]}"
                raise DataError(what, where=str(path))
            read[test] = [Answered(item, answers[item["n"]]) for item in items]
    if not read:
        raise UserError("nobody has answered", where=str(folder), fix=f"a reader writes {TESTS[0]}.answers.jsonl ...")
    return read


def _answers(path: Path) -> dict[int, str]:
    """The answers of a file by the number of their item."""
    answers = {}
    for _, where, data in json_lines(path):
        if not {"n", "answer"} <= data.keys():
            raise DataError("an answer has the fields n and answer", where=where)
        answers[int(data["n"])] = str(data["answer"])
    return answers


def verdicts(folder: Path, reader: str) -> Iterator[Verdict]:
    """A verdict of ``blind_TEST`` on every prompt that was read, and on every fact whose paraphrases were.

    Of an edit whose object is guessed with the subject hidden in all prompts but one, or in all, no prompt is dropped
    for that: the object is the likeliest of its kind, and other words would not change it.
    """
    for test, read in answered(folder).items():
        of_item: dict[str, list[Answered]] = defaultdict(list)
        good: dict[str, set[str]] = defaultdict(set)  # prompts that pass, by fact
        for one in read:
            if not one.item["control"]:
                of_item[one.item["fact" if test == "paraphrase" else "prompt"]].append(one)
                good[one.item["fact"]] |= {one.item["prompt"]} if one.good else set()
        for item_id, some in of_item.items():
            first = some[0].item
            likely = test == "hidden" and first["kind"] == "edit" and len(good[first["fact"]]) < UNGUESSED
            told = f"a reader wrote: {' / '.join(one.answer for one in some)}"
            reason = f"{told} (the fact's likely object)" if likely else told
            keep = likely or all(one.good for one in some)
            yield _verdict(item_id, f"blind_{test}@1", keep=keep, reason=reason, model=reader)


def _verdict(item_id: str, by: str, *, keep: bool, reason: str, model: str | None = None) -> Verdict:
    key = verdict_key(item_id=item_id, by=by, model=model)
    return Verdict(key=key, item_id=item_id, by=by, label="keep" if keep else "drop", reason=reason, model=model)


def decisions(split: Split, readings: Sequence[Path]) -> Iterator[Verdict]:
    """What several readings of a split's prompts come to, a verdict of ``blind_reading`` on each prompt.

    A prompt is dropped where the next words or the need of the fact fail, or all readers say that nobody would ask.
    One that a single reader would not ask, or whose object is guessed with the subject hidden, is dropped where its
    fact keeps enough others: three of an edit, one of a neighbour.
    """
    good: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for folder in readings:
        for test, read in answered(folder).items():
            for one in read:
                if not one.item["control"] and test != "paraphrase":
                    good[one.item["prompt"]][test].append(one.good)
    for prompts, enough in _prompts_of_facts(split):
        faults = {p.id: _faults(good.get(p.id, {})) for p in prompts}
        open_ = [p.id for p in prompts if not faults[p.id].never]
        kept = sorted(open_, key=lambda i: (faults[i].weight, seed_of("reading", i)))[:enough]
        for p in prompts:
            if p.id not in good:
                continue
            found = faults[p.id]
            reason = ", ".join((*found.never, *found.rather_not)) or "passes every blind test that it was given"
            stays = p.id in kept or not (found.never or found.rather_not)
            yield _verdict(p.id, "blind_reading@1", keep=stays, reason=reason)


class Faults(NamedTuple):
    """What is wrong with a prompt: for good, or only where its fact has better ones."""

    never: tuple[str, ...]
    rather_not: tuple[str, ...]

    @property
    def weight(self) -> int:
        """How much is wrong, of what is not for good."""
        return sum(RATHER_NOT[one] for one in self.rather_not)


def _faults(good: Mapping[str, Sequence[bool]]) -> Faults:
    asked = good.get("asked", ())
    never = [name for test, name in NEVER.items() if not all(good.get(test, ()))]
    never += ["nobody would ask this"] if asked and not any(asked) and len(asked) > 1 else []
    rather_not = [UNASKED] if not all(asked) else []
    rather_not += [GUESSED] if not all(good.get("hidden", ())) else []
    return Faults(tuple(never), tuple(rather_not))


def _prompts_of_facts(split: Split) -> Iterator[tuple[tuple[ScriptPrompt, ...], int]]:
    """The prompts of every edit and of every other neighbour, with how many of them are enough."""
    edited = {case.fact.key for case in split.cases}
    yield from ((case.prompts, ENOUGH[0]) for case in split.cases)
    others = {n.fact.key: n.prompts for case in split.cases for n in case.neighbours if n.fact.key not in edited}
    yield from ((prompts, ENOUGH[1]) for prompts in others.values())


def score(folder: Path) -> str:
    """Rows of a Markdown table: what passes by kind, and how many controls the reader noticed."""
    lines = ["| test | edits | neighbours | controls noticed |", "| --- " * 4 + "|"]
    for test, said in answered(folder).items():
        read = [(one.item, one.good) for one in said]
        groups: tuple[Callable[[dict[str, Any]], bool], ...] = (
            lambda item: item["kind"] == "edit" and not item["control"],
            lambda item: item["kind"] == "neighbour" and not item["control"],
        )
        cells = [_share([ok for item, ok in read if group(item)]) for group in groups]
        noticed = _share([not ok for item, ok in read if item["control"]])
        lines.append(f"| {test} | {' | '.join(cells)} | {noticed} |")
        if test == "hidden":
            lines.append(f"| hidden, by the relation alone | {' | '.join(_by_relation(said, g) for g in groups)} | - |")
    return "\n".join(lines)


def _by_relation(said: Sequence[Answered], group: Callable[[dict[str, Any]], bool]) -> str:
    """How many would pass if a relation's answers were dealt out anew, so that a text's own words cannot help."""
    passed = list[float]()
    for one in (one for one in said if group(one.item)):
        alike = [
            other.item for other in said if other.item["relation"] == one.item["relation"] and not other.item["control"]
        ]
        passed.append(fmean(passes("hidden", item, one.answer) for item in alike))
    return f"{fmean(passed):.2f}" if passed else "-"


def _share(passed: Sequence[bool]) -> str:
    if not passed:
        return "-"
    share = binomial_interval(sum(passed), len(passed), kind="wilson")
    return f"{sum(passed)} of {len(passed)}: {share.value:.2f} [{share.low:.2f}, {share.high:.2f}]"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write sheets, or score answers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    write = commands.add_parser("sheets")
    write.add_argument("split")
    write.add_argument("folder", type=Path)
    for name, count in (("edits", 150), ("neighbours", 100), ("seed", 7)):
        write.add_argument(f"--{name}", type=int, default=count)
    commands.add_parser("score").add_argument("folder", type=Path)
    tell = commands.add_parser("verdicts")
    tell.add_argument("folder", type=Path)
    tell.add_argument("out", type=Path)
    tell.add_argument("--reader", required=True)
    decide = commands.add_parser("decide")
    decide.add_argument("split")
    decide.add_argument("out", type=Path)
    decide.add_argument("folders", type=Path, nargs="+")
    options = parser.parse_args(arguments)
    try:
        run(options)
    except UserError as error:
        parser.exit(1, f"Error: {error}\n")


def run(options: argparse.Namespace) -> None:
    """Do what a command line says."""
    if options.command == "score":
        print(score(options.folder))
        return
    if options.command == "verdicts":
        print(write_records(verdicts(options.folder, options.reader), options.out))
        return
    if options.command == "decide":
        print(write_records(decisions(named_split(options.split), options.folders), options.out))
        return
    if options.folder.is_dir() and any(options.folder.iterdir()):
        fix = "name a new folder: answers there would be compared with other items"
        raise UserError("there is something here already", where=str(options.folder), fix=fix)
    draw = {name: getattr(options, name) for name in ("edits", "neighbours", "seed")}
    write_sheets(named_split(options.split), options.folder, **draw)


if __name__ == "__main__":
    main()
