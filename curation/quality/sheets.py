"""Sheets of a quality sample out to people and back: JSONL or CSV, and a strict reading of what they filled in."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from curation.files.atomic import atomic_path
from curation.loaders.reading import Problem, rows
from curation.quality.sample import CRITERIA, Sample, sample_named
from curation.store.store import Store
from schemas.core.clock import now
from schemas.core.errors import DataError, UserError
from schemas.core.ids import slug
from schemas.lineage import Lineage
from schemas.raters import ADJUDICATED, Rater
from schemas.text.counting import counted
from schemas.text.escaping import escape_line
from schemas.text.spreadsheet_cells import safe_cell
from schemas.verdicts import Verdict, verdict_key

TASK = "quality@1"
VERSIONS = ("1", "2", "3")
"""Of the forms whose answers count: sheets have the first; since the second the rating app shows scripts as written."""
_GUIDES = ("question", "example")
"""In the column ``n`` of rows that explain the sheet."""
_YES, _NO = {"yes", "y", "true", "1"}, {"no", "n", "false", "0"}


def write_sheet(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write a person's sheet; the ending says how (.csv, else JSONL).

    The first two rows say what each column asks and which values it takes, and show a filled example; reading skips
    them. A file that is there is never overwritten; the same blank sheet may be written again.

    Raises:
        UserError: the file exists (it may hold answers), or cannot be written.
    """
    rows = [*_guide_rows(rows[0]), *rows]
    out = io.StringIO()
    if path.suffix == ".csv":
        writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: safe_cell(v) for k, v in row.items()} for row in rows)
    else:
        out.write("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows))
    data = out.getvalue().encode("utf-8-sig" if path.suffix == ".csv" else "utf-8")
    if path.exists():
        if path.is_file() and path.read_bytes() == data:
            return
        raise UserError("the sheet is there already and may hold answers", where=str(path), fix="name another folder")
    with atomic_path(path, "the sheet") as partial:
        partial.write_bytes(data)


def _guide_rows(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The question and the allowed values of every column to fill in, and an example; the other columns are empty."""
    asks, example = dict.fromkeys(row, "") | {"n": _GUIDES[0]}, dict.fromkeys(row, "") | {"n": _GUIDES[1]}
    for criterion in CRITERIA:
        asks |= {criterion.name: f"{criterion.asks} (yes or no)", f"{criterion.name}_reason": "If no: why?"}
        example |= {criterion.name: "yes"}
    last = CRITERIA[-1].name
    example |= {last: "no", f"{last}_reason": "The text names the object two steps before the cut."}
    return [asks, example]


class SheetImport(NamedTuple):
    """What came back: verdicts, rows that were given again (the last one holds), items nobody answered.

    Attributes:
        person: Who filled it in.
        verdicts: For each item the person's verdict ``quality@1`` (keep, or drop with the reasons), and one measured
            answer for each criterion (``quality_question@1`` ..., 1 for yes).
        repeated: Item ids with an earlier row that was replaced.
        missing: Ids of sampled items without an answer.
    """

    person: str
    verdicts: tuple[Verdict, ...]
    repeated: tuple[str, ...]
    missing: tuple[str, ...]


def read_sheet(path: Path, sample: Sample, *, partial: bool = False) -> SheetImport:
    """Read one person's filled sheet.

    Strict: every row belongs to this sample and person, every criterion is answered yes or no, each no has a reason,
    every item is there. Whole rows may be empty or missing only with ``partial``.

    Raises:
        UserError: there is no such file.
        DataError: the first fault with its line, and how many more there are.
    """
    known = {d.item_id for d in sample.items}
    faults: list[str] = []
    answers: dict[str, Mapping[str, str]] = {}
    repeated: dict[str, None] = {}
    people: dict[str, None] = {}
    for line, row in _rows(path):
        item = row.get("item", "")
        if row.get("sample") != sample.name or item not in known:
            faults.append(f"line {line}: '{item}' is no item of the sample {sample.name}")
            continue
        people[row.get("person", "")] = None
        if sample.people and row.get("person", "") not in sample.people:
            faults.append(f"line {line}: '{row.get('person', '')}' was not asked ({', '.join(sample.people)})")
            continue
        if not any(row.get(c.name) for c in CRITERIA):
            continue
        if wrong := _fault(row):
            faults.append(f"line {line}: {wrong}")
        elif item in answers:
            repeated[item] = None
        answers[item] = row
    if len(people) > 1 or (people and not slug_ok(next(iter(people)))):
        faults.append(f"one sheet is of one person with a name without spaces, found: {', '.join(map(repr, people))}")
    missing = tuple(sorted(known - set(answers)))
    if missing and not partial:
        faults.append(f"{len(missing)} of {counted(len(known), 'item')} have no answer")
    if faults:
        more = f" (and {counted(len(faults) - 1, 'more fault')})" if len(faults) > 1 else ""
        fix = "mend the sheet; nothing was imported"
        if faults[0].endswith("have no answer"):
            fix = "fill them in, or import what is there with --partial; nothing was imported"
        raise DataError(f"{faults[0]}{more}", where=str(path), fix=fix)
    person = next(iter(people), "")
    verdicts = [v for item, row in sorted(answers.items()) for v in _verdicts(item, person, row)]
    return SheetImport(person, tuple(verdicts), tuple(repeated), missing)


def slug_ok(person: str) -> bool:
    """Whether a name can stand in a verdict.

    Example:
        >>> slug_ok("ann3"), slug_ok("Ann Lee"), slug_ok("")
        (True, False, False)
    """
    return bool(person) and not any(c.isspace() or c == "/" for c in person)


def check_people(people: Sequence[str]) -> None:
    """Refuse names that cannot stand in verdicts, or that would share a sheet.

    Raises:
        UserError: a name with a space, slash or control character, or two that are alike.
    """
    for person in people:
        if not slug_ok(person) or person != safe_cell(person):
            allowed = "a name without spaces, slashes and control characters that begins with a letter or digit"
            raise UserError(f"'{escape_line(person)}' cannot be a person's name here", allowed=allowed)
    if len({slug(p) for p in people}) < len(people):
        raise UserError("two people have the same name", where=", ".join(people), fix="give each a name of their own")


def sample_of(path: Path) -> str:
    """The name of the sample that a sheet belongs to, by its first row."""
    _, first = next(iter(_rows(path)), ("", {}))
    if not first.get("sample"):
        raise DataError("this is no sheet of a sample", where=str(path), fix="write one: scedit split sample draw")
    return first["sample"]


def sheet_path(folder: Path, person: str, form: str) -> Path:
    """Where a person's sheet lies."""
    return folder / f"{slug(person)}.{form}"


def import_sheets(store: Store, paths: Sequence[Path], *, partial: bool = False) -> list[SheetImport]:
    """Read filled sheets of samples the store knows, and keep their verdicts: all sheets or none.

    Raises:
        UserError, DataError: as ``read_sheet``.
    """
    made_at = now()
    filled = [read_sheet(p, sample_named(store, sample_of(p)), partial=partial) for p in paths]
    lineage = [
        Lineage(item_id=v.id, stage="import", made_at=made_at, parents=(v.item_id,), detail={"from": path.name})
        for path, f in zip(paths, filled, strict=True)
        for v in f.verdicts
    ]
    store.put([v for f in filled for v in f.verdicts], lineage)
    return filled


def _rows(path: Path) -> list[tuple[str, dict[str, str]]]:
    """The rows to fill in, each with its line."""
    filled = []
    for row in rows(path):
        if isinstance(row, Problem):
            raise DataError(row.what, where=row.where)
        cells = {name: "" if value is None else str(value).strip() for name, value in row.data.items()}
        if cells.get("n") not in _GUIDES:
            filled.append((row.where.rpartition(" ")[2], cells))
    return filled


def _fault(row: Mapping[str, str]) -> str:
    for criterion in CRITERIA:
        answer = row.get(criterion.name, "").lower()
        if answer not in _YES | _NO:
            fault = f"'{answer}' is no answer to" if answer else "no answer to"
            return f"{fault} '{criterion.name}' (yes or no)"
        if answer in _NO and not row.get(f"{criterion.name}_reason"):
            return f"the no to '{criterion.name}' has no reason"
    return ""


def _verdicts(item: str, person: str, row: Mapping[str, str]) -> list[Verdict]:
    out, against = [], []
    for criterion in CRITERIA:
        yes, reason = row[criterion.name].lower() in _YES, row.get(f"{criterion.name}_reason", "")
        by = Rater.person(person).by(TASK.replace("@", f"_{criterion.name}@"))
        key = verdict_key(item_id=item, by=by)
        value = float(yes)
        out.append(Verdict(key=key, item_id=item, by=by, label=None, reason=reason, value=value, unit="yes"))
        against += [] if yes else [f"{criterion.name}: {reason}"]
    by = Rater.person(person).by(TASK)
    label, reason = ("drop", "; ".join(against)) if against else ("keep", "")
    whole = Verdict.model_validate(
        {"key": verdict_key(item_id=item, by=by), "item_id": item, "by": by, "label": label, "reason": reason}
    )
    return [whole, *out]


ASPECTS = ("all", *(c.name for c in CRITERIA))


class SampleAnswers(NamedTuple):
    """Answers of people on a sample: aspect -> item id -> person -> whether they say yes.

    ``decided`` holds a lead's decisions: aspect -> item id -> yes. In the acceptance a decision replaces the answers of
    people; it is left out of the agreement.
    """

    of: Mapping[str, Mapping[str, Mapping[str, bool]]]
    decided: Mapping[str, Mapping[str, bool]] = MappingProxyType({})

    @property
    def people(self) -> tuple[str, ...]:
        """Everybody who answered."""
        return tuple(sorted({p for items in self.of.values() for by in items.values() for p in by}))


class QualityReport(NamedTuple):
    """A sample and what came back.

    Attributes:
        missing: Person -> sampled items without an answer; people who were asked and did not answer are there too.
        acceptance: Aspect -> share of yes, a mean over items (each the mean over its people) weighted by 1/probability.
        by_person: Person -> the same for their own overall verdicts.
        unanimous: Share of items that everybody accepts, weighted.
        decided: Items that a lead decided.
        agreement: Aspect -> agreement statistics (``curation.stats.agreement.Agreement``).
    """

    sample: Sample
    missing: dict[str, int]
    acceptance: dict[str, Any]
    by_person: dict[str, Any]
    unanimous: Any
    agreement: dict[str, Any]
    decided: int = 0

    @property
    def complete(self) -> bool:
        """Whether everybody who was asked answered everything."""
        return bool(self.missing) and not any(self.missing.values())


def answers(store: Store, sample: Sample) -> SampleAnswers:
    """The current answers on a sample's items; of one person's under several forms those of the newest."""
    task = TASK.partition("@")[0]
    names = {task: "all"} | {f"{task}_{c.name}": c.name for c in CRITERIA}
    leads = {name.replace(task, f"{task}_{ADJUDICATED}", 1): aspect for name, aspect in names.items()}
    of: dict[str, dict[str, dict[str, bool]]] = {a: defaultdict(dict) for a in ASPECTS}
    decided: dict[str, dict[str, bool]] = {a: {} for a in ASPECTS}
    for verdict in sorted(store.verdicts([d.item_id for d in sample.items]), key=lambda v: v.by.rpartition("@")[2]):
        rater, (name, _, version) = verdict.judged_by, verdict.by.rpartition("/")[2].partition("@")
        if rater is None or name not in {**names, **leads} or version not in VERSIONS:
            continue
        yes = verdict.value == 1 if verdict.label is None else verdict.label == "keep"
        if name in leads:
            decided[leads[name]][verdict.item_id] = yes
            continue
        of[names[name]][verdict.item_id][rater.name] = yes
    return SampleAnswers(of, decided)


def report(store: Store, sample: Sample, *, resamples: int = 1000) -> QualityReport:
    """Acceptance and agreement of a sample.

    Intervals resample cases (strata and the finite split are not used, which makes them wide rather than narrow). Where
    every answer is the same, a bootstrap has no width and the exact interval over cases stands in.
    """
    from curation.stats.agreement import agreement
    from curation.stats.bootstrap import Resampling
    from curation.stats.rating_table import rating_table

    sheet_answers, resampling = answers(store, sample), Resampling(resamples)
    people = tuple(dict.fromkeys([*sample.people, *sheet_answers.people]))
    missing = {p: sum(p not in sheet_answers.of["all"].get(d.item_id, {}) for d in sample.items) for p in people}
    decided = {a: {item: float(yes) for item, yes in sheet_answers.decided[a].items()} for a in ASPECTS}
    acceptance = {
        a: _acceptance(sample, {**_shares(sheet_answers.of[a]), **decided[a]}, resampling, a) for a in ASPECTS
    }
    by_person = {
        p: _acceptance(sample, _shares(sheet_answers.of["all"], only=p), resampling, f"all, by {p}")
        for p in sheet_answers.people
    }
    everybody = {item: float(all(by.values())) for item, by in sheet_answers.of["all"].items()}
    unanimous = _acceptance(sample, everybody, resampling, "accepted by everybody")
    cases = {d.item_id: d.case for d in sample.items}
    agree = {}
    for aspect in ASPECTS:
        rows = [
            (item, who, "yes" if yes else "no")
            for item, by in sorted(sheet_answers.of[aspect].items())
            for who, yes in by.items()
        ]
        table = rating_table(rows, cases=cases, scale=("no", "yes"))
        agree[aspect] = agreement(table, level="nominal", resampling=resampling)
    return QualityReport(sample, missing, acceptance, by_person, unanimous, agree, len(decided["all"]))


def _shares(items: Mapping[str, Mapping[str, bool]], *, only: str | None = None) -> dict[str, float]:
    """For each item the share of its people who say yes."""
    chosen = {item: [yes for who, yes in by.items() if only in (None, who)] for item, by in items.items()}
    return {item: sum(votes) / len(votes) for item, votes in chosen.items() if votes}


def _acceptance(sample: Sample, shares: Mapping[str, float], resampling: Any, name: str) -> Any:
    """Weighted mean of shares (Hajek's ratio estimate) with an interval over cases."""
    import numpy as np

    from curation.stats.bootstrap import bootstrap_sums, ends
    from curation.stats.estimates import Estimate, number_groups, sums_by, undefined
    from curation.stats.intervals import binomial_interval

    judged = [d for d in sample.items if d.item_id in shares]
    if not judged:
        return undefined(name, "nobody has answered")
    groups = number_groups([d.case for d in judged])
    weight = np.array([1 / d.probability for d in judged])
    value = np.array([shares[d.item_id] for d in judged])
    sums = sums_by(groups.of, np.column_stack([weight * value, weight]), len(groups.names))
    mean, cases = float((weight * value).sum() / weight.sum()), len(groups.names)
    if value.min() == value.max() and mean in (0.0, 1.0):
        exact = binomial_interval(round(mean * cases), cases)
        return exact._replace(name=name, n=len(judged), note="all answers are equal: exact interval over cases")
    draws = bootstrap_sums(sums, lambda s: np.asarray(s[:, 0] / s[:, 1]), resampling)
    low, high, note = ends(draws, resampling, cases=cases)
    method = resampling.describe("case bootstrap of the weighted mean") if low is not None else ""
    return Estimate(name, mean, low, high, len(judged), cases, method, note=note)


def text(report: QualityReport) -> str:
    """The report as lines."""
    s = report.sample
    lines = [f"sample {s.name} of {s.split}: {len(s.items)} of {counted(s.population, s.unit)}"]
    for person, lost in report.missing.items():
        lines.append(f"  {person}: {len(s.items) - lost} answered, {lost} missing")
    if report.decided:
        lines.append(f"  {counted(report.decided, 'item')} decided by a lead: the decision counts for the item")
    lines.append("Acceptance (weighted to the split, 95 %)")
    lines += [f"  {name}: {e.text()}" for name, e in report.acceptance.items()]
    lines.append(f"  accepted by everybody: {report.unanimous.text()}")
    lines += [f"  all, by {name}: {e.text()}" for name, e in report.by_person.items()]
    lines.append("Agreement between people (unweighted)")
    for name, a in report.agreement.items():
        lines.append(f"  {name}: AC1 {a.ac1.text()}, alpha {a.alpha.text()}, exact {a.exact.text()}")
        lines.append(f"  {' ' * len(name)}  prevalence of yes {a.prevalence['yes'].text()}")
    return "\n".join(lines)


def summary(report: QualityReport) -> dict[str, Any]:
    """What a split's header keeps of a report: plain JSON values."""
    s = report.sample
    return {
        "sample": s.name,
        "unit": s.unit,
        "items": len(s.items),
        "population": s.population,
        "people": list(report.missing),
        "missing": report.missing,
        **({"decided_by_lead": report.decided} if report.decided else {}),
        "acceptance": {name: _plain_estimate(e) for name, e in report.acceptance.items()},
        "accepted_by_everybody": _plain_estimate(report.unanimous),
        "agreement": {
            name: {"ac1": _plain_estimate(a.ac1), "alpha": _plain_estimate(a.alpha), "exact": _plain_estimate(a.exact),
                   "prevalence_yes": _plain_estimate(a.prevalence["yes"])}
            for name, a in report.agreement.items()
        },
    }  # fmt: skip


def _plain_estimate(estimate: Any) -> dict[str, Any]:
    return {k: v for k, v in estimate._asdict().items() if v not in (None, "")}
