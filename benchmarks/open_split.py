"""What is known about the open split: the figures of ``results/open-split.md``.

``python -m benchmarks.open_split FOLDER --page results/open-split.md`` puts the split into a store of its version in
FOLDER, lets the checks judge what has no verdict yet (it resumes), and writes the tables between the page's markers.
``--as-it-stands`` runs no check: the tables then say how many items were judged. ``--larger`` also asks the larger
model of ``scedit model fetch`` what it knows, in bfloat16. ``--unedited RUN`` is the run of ``none`` on the split that
log-odds by relation are read from.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.open.cuts import all_own, guidance_table, one_a_case
from benchmarks.support.tables import share, table, write_csv
from curation.case_sources.support import TrainingData
from curation.checks.store_checks import CheckContext, StoreCheck, make_checks, run_check
from curation.loaders import load
from curation.loaders.importer import import_split
from curation.overlap.contamination import TextCollection, open_collection, overlap
from curation.overlap.near_duplicates import near_duplicates, store_items
from curation.shipped import SHIPPED, demonstrations_split, shipped_split
from curation.splits.split_file import Split
from curation.stats.bounded import bounded_interval
from curation.store.store import Store
from evaluation.checks.base import model_label
from evaluation.editors.hypernetwork.mend import Mend
from evaluation.metrics import METRICS
from evaluation.runs.results import Run, load_run
from schemas.answers import Answer
from schemas.cases import Case
from schemas.core.ids import seed
from schemas.facts import Fact
from schemas.runs import CaseResult
from schemas.scripts import ScriptPrompt
from schemas.text.mentions import find
from schemas.verdicts import Verdict

CHECKS = ("token_boundary", "known_before")
MODEL, LARGER = "embedded", "local"
NAMES = {MODEL: "SmolLM2-135M", LARGER: "Qwen2.5-Coder-1.5B"}
MARKS = ("<!-- figures -->", "<!-- end of the figures -->")
MEND = "shipped:mend-smollm2-135m.safetensors"
DUPLICATES = (("question", "rouge1", 0.7), ("prompt", "rouge1", 0.6), ("question", "embedding", 0.9))
LARGER_CASES = 100  # of whose facts the larger model is asked; all would take two hours of one core
CSV = {
    "relation,kind,part": "relations",
    "relation,kind,cases": "log-odds",
    ',"fault at': "token-boundaries",
    '"SmolLM2-135M, one': "cuts",
    "cut in step": "cut-steps",
    "texts,": "near-duplicates",
    "open's facts": "overlap-texts",
    "beside,": "overlap-subjects",
    "method,": "methods",
    "pair,difference in S-ES": "pairs-s-es",
    "pair,difference in S-NS": "pairs-s-ns",
}
"""Files of the page's tables, by how they begin."""
HIGH = 8.0  # bits by which a prompt with a hidden subject raises the old object


def fill_store(path: Path, split: Split) -> None:
    """The split in a store of its own, once."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        import_split(split, path, origin=split.name)


def run_checks(store: Store, split: Split, tell: Callable[[str], object], *, larger: bool = False) -> None:
    """Let the checks judge what they have not judged yet.

    The larger model is asked in bfloat16, and for what it knows of the edited facts of some cases only.
    """
    around = CheckContext(store)
    checks: list[tuple[StoreCheck, set[str] | None]] = [(check, None) for check in make_checks(CHECKS, models=[MODEL])]
    one_each = one_a_case(split)
    for name, prompts in (("cut_guidance", one_each), ("telling_word", all_own(split)), ("predictability", one_each)):
        checks += [(check, {p.id for p in prompts}) for check in make_checks([name], models=[MODEL])]
    if larger:
        edited = {case.fact.id for case in drawn_cases(split)}
        options = {"known_before": {"dtype": "bfloat16"}}
        for check in make_checks(CHECKS, models=[LARGER], options=options):
            checks.append((check, edited if check.name == "known_before" else None))

    def progress(n: int, of: int) -> None:
        tell(f"\r{n} of {of}")

    for one, among in checks:
        done = run_check(store, one, around=around, among=among, on_progress=progress)
        tell(f"\r{one.by}: {done.due} judged now\n")


def drawn_cases(split: Split) -> list[Case]:
    """Cases of whose facts the larger model is asked, drawn by their keys."""
    return sorted(split.cases, key=lambda case: seed(case.key, "larger"))[:LARGER_CASES]


def verdicts_by_check(store: Store, *, model: str = MODEL) -> dict[str, dict[str, Verdict]]:
    """A model's verdicts by check and by the content id of the item."""
    by_check: dict[str, dict[str, Verdict]] = defaultdict(dict)
    for verdict in store.verdicts():
        if verdict.model == model_label(model):
            by_check[verdict.by.split("@")[0]][verdict.item_id] = verdict
    return by_check


def relations_table(split: Split, known: dict[str, dict[str, Verdict]], dev: set[str]) -> str:
    """Cases by relation and part, and how many of their facts each of the unedited models knows."""
    rows = []
    for (kind, label), cases in by_relation(split).items():
        part = "dev" if cases[0].key in dev else "test"
        facts = [case.fact for case in cases]
        rows.append([label, kind, part, len(cases), *(x for one in known.values() for x in known_cells(facts, one))])
    for kind in ("counterfactual", "temporal"):
        of_kind = [case.fact for case in split.cases if case.fact.change == kind]
        cells = [x for one in known.values() for x in known_cells(of_kind, one)]
        rows.append([f"**all {kind}**", "", "", len(of_kind), *cells])
    heads = [h for model in known for h in (f"{model}: fact prompt", "any of three prompts")]
    return table(["relation", "kind", "part", "cases", *heads], rows)


def by_relation(split: Split) -> dict[tuple[str, str], list[Case]]:
    """Cases by kind and label of their relation, in that order."""
    groups: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for case in split.cases:
        groups[case.fact.change, case.fact.relation.label or ""].append(case)
    return dict(sorted(groups.items()))


def log_odds_table(run: Run) -> str:
    """How much the unedited model prefers the old object to the new one, by relation; intervals over cases."""
    rows = []
    for (kind, label), cases in by_relation(run.split).items():
        rows.append([label, kind, len(cases), *log_odds_cells(cases, run.baseline.results)])
    rows.append(["**all**", "", len(run.split.cases), *log_odds_cells(run.split.cases, run.baseline.results)])
    return table(
        ["relation", "kind", "cases", "fact prompts", "script prompts", "old object preferred in scripts"], rows
    )


def log_odds_cells(cases: Sequence[Case], results: Mapping[str, CaseResult]) -> tuple[str, str, str]:
    """Mean log-odds of the old object against the new one, under fact and script prompts, and a share of prompts."""
    means: list[list[float]] = []
    script_odds: list[float] = []
    for metric in (METRICS.get("es")(), METRICS.get("s_es")()):
        means.append([])
        for case in cases:
            answers = {answer.probe: answer for answer in results[case.key].answers}
            odds = [old_against_new(answers[probe.id]) for probe in metric.probes(case)]
            means[-1].append(sum(odds) / len(odds))
            script_odds += odds if metric.name == "s_es" else []
    return _mean_cell(means[0]), _mean_cell(means[1]), share(sum(x > 0 for x in script_odds), len(script_odds))


def old_against_new(answer: Answer) -> float:
    """Log-odds in nats a token; the first target is the new object, the second the old one."""
    new, old = answer.targets[:2]
    return old.value("mean") - new.value("mean")


def _mean_cell(values: Sequence[float]) -> str:
    interval = bounded_interval(values, None)
    assert interval.mean is not None
    ends = "" if interval.low is None else f" [{interval.low:+.2f}, {interval.high:+.2f}]"
    return f"{interval.mean:+.2f}{ends}"


def known_to_larger(split: Split, known: dict[str, Verdict]) -> str:
    """What the larger model knows, in a sentence."""
    of_kind = {
        kind: [case.fact for case in drawn_cases(split) if case.fact.change == kind]
        for kind in ("counterfactual", "temporal")
    }
    said = [
        f"{kind} {under_prompt} under the fact prompt, {under_any} under any of three"
        for kind, facts in of_kind.items()
        for under_prompt, under_any in [known_cells(facts, known)]
    ]
    return f"{NAMES[LARGER]} (bfloat16), of {LARGER_CASES} cases drawn by their keys: {'; '.join(said)}."


def known_cells(facts: Sequence[Fact], known: dict[str, Verdict]) -> tuple[str, str]:
    """How many facts are known under the fact prompt, and under any plain prompt, once all of them were judged."""
    ranks = [ranks_of(known[fact.id].reason) for fact in facts if fact.id in known and known[fact.id].value is not None]
    if len(ranks) < len(facts):
        return "not judged", "not judged"
    return share(sum(r[0] == 1 for r in ranks), len(ranks)), share(sum(1 in r for r in ranks), len(ranks))


def ranks_of(reason: str) -> list[int]:
    """Ranks out of a verdict of ``known_before``; the first is that of the fact prompt.

    Example:
        >>> ranks_of("the old object ranks 1, 3, 2 of 12 under 3 plain prompts")
        [1, 3, 2]
    """
    return [int(one) for one in reason.split("ranks ")[1].split(" of ")[0].split(", ")]


def cuts_table(split: Split) -> str:
    """In which step scripts are cut."""
    prompt_steps = Counter(p.step for case in split.cases for p in case.prompts)
    beside = Counter(p.step for case in split.cases for n in case.neighbours for p in n.prompts)
    steps = sorted({step for step in (*prompt_steps, *beside) if step is not None})
    rows = [
        ["script prompts", *(f"{prompt_steps[s]} ({prompt_steps[s] / prompt_steps.total():.1%})" for s in steps)],
        ["neighbours' prompts", *(f"{beside[s]} ({beside[s] / beside.total():.1%})" for s in steps)],
    ]
    return table(["cut in step", *map(str, steps)], rows)


def duplicates_table(store: Store) -> str:
    """Texts of the whole split that are near one that stands before them."""
    from curation.similarity.embeddings import Embedder

    rows = []
    for kind, method, threshold in DUPLICATES:
        items = store_items(store, kind)  # type: ignore[arg-type]
        embedder = Embedder() if method == "embedding" else None
        duplicates = near_duplicates(items, method=method, threshold=threshold, embedder=embedder)  # type: ignore[arg-type]
        clusters = sorted(duplicates.clusters(), key=lambda c: -c.greatest)
        nearest = "; ".join(f"*{c.members[0].text}* / *{c.members[1].text}*" for c in clusters[:1])
        rows.append(
            [kind, method, threshold, len(duplicates.items), duplicates.duplicates, nearest.replace("\n", " ")[:160]]
        )
    return table(["texts", "measure", "from", "compared", "near an earlier one", "the nearest pair"], rows)


def overlap_table(split: Split) -> str:
    """What the split shares with everything else that is shipped."""
    collection = TextCollection.from_cases("open", split.cases)
    others = {
        "the demonstrations": TextCollection.from_cases("demonstrations", demonstrations_split().cases),
        "the support facts": open_collection("shipped"),
    }
    rows = []
    for name, other in others.items():
        report = overlap(collection, other)
        rows.append([name, *(f"{level.a} ({level.b})" for level in report.levels)])
    heads = [level.name.replace("_", " ") for level in report.levels]
    return table(["open's facts and texts beside", *heads], rows)


def sharing_table(split: Split) -> str:
    """How many cases share an edited subject, or only a neighbour's, with what methods learn from."""
    trained = Mend.training_data({"checkpoint": MEND})
    assert trained is not None
    facts = list(load("shipped").require())
    names = frozenset(x for f in facts for x in TrainingData.of("", [Case(key="x", fact=f)]).subjects)
    sides = {
        "the demonstrations, neighbours included": TrainingData.of("demonstrations", demonstrations_split().cases),
        "the support facts": TrainingData("facts", "", frozenset(), names),
        "the shipped MEND network's training cases": trained,
    }
    rows = []
    for name, side in sides.items():
        edited = sum(side.shares_fact(case.fact) is not None for case in split.cases)
        any_ = sum(side.shares(case) is not None for case in split.cases)
        rows.append([name, str(edited), str(any_)])
    text = (SHIPPED / "corpus.txt").read_text(encoding="utf-8")
    sharing = [c for c in split.cases if find(text, c.fact.subject)]
    rows.append(["the statistics corpus (the subject is named)", str(len(sharing)), ""])
    return table(["beside", "cases whose edited subject is there", "or a neighbour's"], rows)


def prompts_table(split: Split, by_check: dict[str, dict[str, Verdict]], boundaries: dict[str, Verdict]) -> str:
    """Token boundaries of script prompts and neighbours' prompts by both tokenizers; predictability of one a case."""
    groups: dict[str, list[ScriptPrompt]] = {
        "script prompts": [p for case in split.cases for p in case.prompts],
        "neighbours' prompts": [p for case in split.cases for n in case.neighbours for p in n.prompts],
    }
    rows = []
    for name, prompts in groups.items():
        cuts = [[one[p.id] for p in prompts if p.id in one] for one in (by_check["token_boundary"], boundaries)]
        rows.append([name, *(share(sum(v.label != "keep" for v in cut), len(cut)) for cut in cuts)])
    heads = ["", *(f"fault at the object's token boundary, {name}" for name in NAMES.values())]
    judged = [by_check["predictability"].get(prompt.id) for prompt in one_a_case(split)]
    bits = sorted(v.value for v in judged if v and v.value is not None)
    if len(bits) < len(judged):
        return table(heads, rows)
    many = share(sum(value >= HIGH for value in bits), len(bits))
    return (
        f"{table(heads, rows)}\n\nPredictability of one script prompt a case, {NAMES[MODEL]}: median "
        f"{bits[len(bits) // 2]:.1f} bits; {HIGH:g} bits or more in {many}."
    )


def figures(store: Store, split: Split, unedited: Run | None) -> str:
    """All tables, with their headings."""
    by_check, larger = verdicts_by_check(store), verdicts_by_check(store, model=LARGER)
    known = {NAMES[MODEL]: by_check["known_before"]}
    dev = set(split.header["parts"]["dev"])
    log_odds = "Not measured." if unedited is None else log_odds_table(unedited)
    parts = {
        "Relations, and what is known before the edit": relations_table(split, known, dev)
        + "\n\n"
        + known_to_larger(split, larger["known_before"]),
        f"Log-odds of the old object, {NAMES[MODEL]}": log_odds,
        "Token boundaries and predictability": prompts_table(split, by_check, larger["token_boundary"]),
        "Do the cuts lead to the object?": guidance_table(split, by_check, NAMES[MODEL]),
        "Where scripts are cut": cuts_table(split),
        "Near-duplicates across the whole split": duplicates_table(store),
        "Overlap with what else is shipped": overlap_table(split) + "\n\n" + sharing_table(split),
    }
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in parts.items())


def put_between(page: str, text: str, *, marks: tuple[str, str] = MARKS) -> str:
    """A page with the text between its markers.

    Example:
        >>> put_between("a <!-- figures -->old<!-- end of the figures --> b", "new").split("\\n")[2]
        'new'
    """
    before, _, rest = page.partition(marks[0])
    _, _, after = rest.partition(marks[1])
    return f"{before}{marks[0]}\n\n{text}\n\n{marks[1]}{after}"


def publish(text: str, page: Path | None) -> None:
    """Put the text between a page's markers, or print it where there is no page."""
    if page is None:
        sys.stdout.write(text + "\n")
    else:
        page.write_text(put_between(page.read_text(encoding="utf-8"), text), encoding="utf-8")
        write_csv(page, CSV)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables to a page, or print them."""
    parser = argparse.ArgumentParser(prog="benchmarks.open_split", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the store stands")
    parser.add_argument("--page", type=Path, help="the page that gets the tables; printed where left out")
    parser.add_argument("--as-it-stands", action="store_true", help="run no check")
    parser.add_argument("--larger", action="store_true", help="also ask the larger model what it knows")
    parser.add_argument("--unedited", type=Path, metavar="RUN", help="the run of 'none' on the whole split")
    options = parser.parse_args(arguments)
    split = shipped_split("open")
    path = options.folder / f"open-{split.version}.duckdb"
    fill_store(path, split)
    if not options.as_it_stands:
        with Store.open(path, write=True) as store:
            run_checks(store, split, sys.stderr.write, larger=options.larger)
    with Store.open(path) as store:
        text = figures(store, split, load_run(options.unedited) if options.unedited else None)
    publish(text, options.page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
