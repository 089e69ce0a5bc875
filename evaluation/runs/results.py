"""A run on the disk: its folder, its manifests, its journals; and reading them back for tables and reports."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from curation.files.atomic import write_json, write_text
from curation.files.journal import Journal, JournalSum
from curation.files.json_files import read_json
from curation.splits.contradictions import overwritten
from curation.splits.split_file import Split, load_split, write_split
from evaluation.metrics.generation import DocumentChoice, SharedQuestions
from evaluation.regimes.config import RegimeChoice, asked_positions, lengths_reached
from evaluation.runs.validity_variants import COMPONENT
from schemas.answers import Answer
from schemas.cases import AnyCase, Case
from schemas.core.config import to_toml, validate
from schemas.core.errors import DataError, UserError
from schemas.core.ids import slug
from schemas.runs import CaseResult, RunManifest
from schemas.text.counting import counted

FORMAT = 1
RUN_FILE = "run.json"
CONFIG_FILE = "run.toml"
BASELINE_LABEL = "none"
DIGEST = "digest"
OTHER_OUT = "name another --out"
_WRITE_ANEW = "delete it and run the same command again: it writes the file anew, everything else is kept"


class EditorFolder(NamedTuple):
    """One method's part of a run: manifest, environment of every session, journal with one line a finished case."""

    path: Path

    @classmethod
    def of(cls, out: Path, *, label: str, run: str) -> EditorFolder:
        """Where a method's results stand: its label and the beginning of its run id."""
        return cls(out / f"{slug(label)}-{run[:10]}")

    @property
    def journal(self) -> Path:
        """The journal: key of the case -> its result."""
        return self.path / "journal.jsonl"

    def begin(self, manifest: RunManifest, *, config: Mapping[str, Any]) -> None:
        """Write the manifest and the resolved configuration."""
        write_with_digest(self.path / "manifest.json", manifest.payload())
        write_with_digest(self.path / "config.json", config)

    def add_sessions(self, *environments: Mapping[str, Any]) -> None:
        """Add sessions to the environment file."""
        before = read_with_digest(self.sessions)["sessions"] if self.sessions.exists() else []
        write_with_digest(self.sessions, {"sessions": [*before, *environments]})

    @property
    def sessions(self) -> Path:
        """The environment file."""
        return self.path / "environment.json"

    def manifest(self) -> RunManifest:
        """The manifest as written."""
        path = self.path / "manifest.json"
        return validate(RunManifest, read_with_digest(path), where=str(path))

    def results(self) -> dict[str, CaseResult]:
        """Finished cases so far; of a case asked at several numbers of edits the one with most edits in the model.

        The seconds of its edit stand where it was asked right after it, and are taken from there.
        """
        by_case: dict[str, CaseResult] = {}
        own: dict[str, CaseResult] = {}
        for result in self.units().values():
            before = by_case.get(result.case)
            if before is None or (result.after or 0) >= (before.after or 0):
                by_case[result.case] = result
            if result.position is not None and result.position == result.after:
                own[result.case] = result
        return {case: _with_own_edit(result, own.get(case)) for case, result in by_case.items()}

    def journal_sums(self) -> dict[str, JournalSum]:
        """What each of the method's journals is checked against when the run is read back, by file name."""
        sums = {}
        for path in sorted(self.path.glob("*.jsonl")):
            with Journal(path) as journal:
                sums[path.name] = journal.sum
        return sums

    def check_journals(self, expected: Mapping[str, Sequence[Any]]) -> None:
        """Compare the journals with what the finished run recorded of them.

        Raises:
            DataError: a journal is missing, damaged, shorter or longer.
        """
        found = self.journal_sums()
        for name, (lines, digest) in expected.items():
            if found.get(name) != JournalSum(lines, digest):
                there = found[name].lines if name in found else 0
                raise DataError(
                    f"the journal is not that of the finished run: it has {counted(there, 'valid line')}, and the run "
                    f"ended with {lines:,} (digest {digest})",
                    where=str(self.path / name),
                    fix="run the same command again: it does the missing part anew, everything else is kept",
                )

    def units(self) -> dict[str, CaseResult]:
        """Finished units of work so far; readable while the run goes on."""
        if not self.journal.exists():
            return {}
        with Journal(self.journal) as journal:
            return {k: validate(CaseResult, v, where=f"{self.journal}, case {k}") for k, v in journal.items()}


def _with_own_edit(result: CaseResult, own: CaseResult | None) -> CaseResult:
    """A case asked again in a sequence, with the seconds of its edit."""
    if own is None or own.position != result.position or result.position == result.after:
        return result
    return result.model_copy(update={"seconds_edit": own.seconds_edit})


class EditorRun(NamedTuple):
    """A method's results, restricted to the run's cases; ``folder`` is where they stand."""

    label: str
    manifest: RunManifest
    results: dict[str, CaseResult]
    environment: dict[str, Any]
    folder: EditorFolder | None = None

    @property
    def variant(self) -> str:
        """The validity variant in which its cases were asked, ``name@version``; empty: as the split says."""
        return self.manifest.components.get(COMPONENT, "")


class Run(NamedTuple):
    """A run folder read back: keys of the chosen cases in their order, editors with the baseline first."""

    folder: Path
    about: dict[str, Any]
    split: Split
    cases: tuple[str, ...]
    editors: tuple[EditorRun, ...]

    @property
    def baseline(self) -> EditorRun:
        """The unedited model."""
        return self.editors[0]

    @property
    def regimes(self) -> tuple[str, ...]:
        """The regimes of its methods: one, or several where runs were merged."""
        return tuple(str(self.about["regime"]).split(", "))


def write_with_digest(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON object with a digest of its content, so that a change is detected."""
    write_json(path, with_digest(content), fix=OTHER_OUT)


def with_digest(content: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object with a digest of its content, in place of one that it has."""
    as_read = json.loads(json.dumps({name: value for name, value in content.items() if name != DIGEST}))
    return {**as_read, DIGEST: _digest(as_read)}


def read_with_digest(path: Path) -> Any:
    """What ``write_with_digest`` wrote. Files of earlier versions have no digest, and are read without that check.

    Raises:
        UserError: there is no such file.
        DataError: it is not JSON, or it was changed.
    """
    content = read_json(path, fix=_WRITE_ANEW)
    digest = content.pop(DIGEST, None) if isinstance(content, dict) else None
    if digest is not None and digest != _digest(content):
        raise DataError("the file was changed: its digest does not match its content", where=str(path), fix=_WRITE_ANEW)
    return content


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:20]


def write_run(out: Path, description: Mapping[str, Any], split: Split) -> None:
    """Write what the run as a whole is: ``run.json``, the frozen split, and the configuration as ``run.toml``."""
    path = out / split_file(split.digest)
    if not path.exists():
        write_split(split, path)
    write_with_digest(out / RUN_FILE, {"format": FORMAT, **description})
    write_text(out / CONFIG_FILE, to_toml(description["config"]), fix=OTHER_OUT)


def check_folder(out: Path, config: Mapping[str, Any], *, split_digest: str, revision: str | None = None) -> None:
    """Raise an error if a folder holds a run of another model, precision or split: its results would be replaced.

    Args:
        out: Folder of the run; nothing is checked where it holds no run.
        config: The run's configuration as ``run.json`` has it.
        split_digest: Digest of the split.
        revision: What tells the model's weights from others; None before it is loaded.

    Raises:
        UserError: names what the folder holds.
    """
    try:
        about = read_with_digest(out / RUN_FILE)
        there = {"model": about["config"]["model"], "dtype": about["config"]["dtype"]}
        there |= {"split digest": about["split_digest"], "model revision": about["model_revision"]}
    except (UserError, LookupError, TypeError):
        return
    here = {"model": config["model"], "dtype": config["dtype"]}
    here |= {"split digest": split_digest, "model revision": revision or there["model revision"]}
    for name, value in here.items():
        if there[name] != value:
            raise UserError(
                f"the folder holds a run with {name} '{there[name]}', and this run has {name} '{value}'",
                where=str(out),
                fix=OTHER_OUT,
            )


def split_file(digest: str) -> str:
    """Name of the split's copy in a run folder."""
    return f"split-{digest[:12]}.jsonl"


def load_run(folder: Path | str) -> Run:
    """Read a run folder, finished or not.

    Raises:
        UserError: not a run folder, a newer format, or nothing finished in it.
    """
    folder = Path(folder)
    if not (folder / RUN_FILE).is_file():
        raise UserError(
            "not the folder of a run (there is no run.json)", where=str(folder), fix="make one: scedit run CONFIG"
        )
    description = read_with_digest(folder / RUN_FILE)
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise DataError("the run's format is not known", where=str(folder / RUN_FILE), allowed=str(FORMAT))
    split = load_split(folder / split_file(description["split_digest"]))
    cases, shared = tuple(description["cases"]), description.get("specificity")
    if unknown := set(cases) - {case.key for case in split.all_cases}:
        raise DataError(
            f"the run names the case '{min(unknown)}', and its split has none of that name",
            where=str(folder / RUN_FILE),
            fix="run the same command again: it writes the file anew, everything else is kept",
        )
    asked = DocumentChoice.model_validate(description.get("config", {}).get("documents") or {})
    questions = None if shared is None else SharedQuestions.from_description(shared, asked)
    begun = [entry for entry in description["runs"] if (folder / entry["folder"] / "manifest.json").is_file()]
    editors = tuple(_editor_run(folder, entry, cases, questions) for entry in begun)
    if not any(e.results for e in editors):
        raise UserError("no case of this run is finished", where=str(folder), fix="resume it: scedit run CONFIG")
    return Run(folder, description, split, cases, editors)


def _editor_run(
    folder: Path, entry: Mapping[str, Any], cases: Iterable[str], questions: SharedQuestions | None
) -> EditorRun:
    place = EditorFolder(folder / entry["folder"])
    place.check_journals(entry.get("journals", {}))
    by_case = place.results()
    results = {k: by_case[k] for k in cases if k in by_case}
    if questions is not None and entry["label"] == BASELINE_LABEL:
        results = with_specificity(results, questions)
    sessions = read_with_digest(place.sessions)["sessions"]
    return EditorRun(entry["label"], place.manifest(), results, sessions[-1], place)


def with_specificity(results: Mapping[str, CaseResult], questions: SharedQuestions) -> dict[str, CaseResult]:
    """Results of the unedited model in which every case has the answers to the specificity questions drawn for it.

    The unedited model is in one state throughout, so its first case asked all of them.
    """
    ids = {probe.id for probe in questions.probes}
    known = {a.probe: a for result in results.values() for a in result.answers if a.probe in ids}
    out = {}
    for case, result in results.items():
        own = tuple(a for a in result.answers if a.probe not in ids)
        drawn = tuple(known[p.id] for p in questions.drawn(case) if p.id in known)
        out[case] = result.model_copy(update={"answers": (*own, *drawn)})
    return out


def cases_by_key(run: Run) -> dict[str, Case]:
    """The cases of a run on facts by key, in its order.

    Raises:
        UserError: the run's edits are of another type.
    """
    by_key = {c.key: c for c in run.split.cases}
    return {k: by_key[k] for k in run.cases}


def all_cases_by_key(run: Run) -> dict[str, AnyCase]:
    """The run's cases by key, of whatever type, in its order."""
    by_key = {c.key: c for c in run.split.all_cases}
    return {k: by_key[k] for k in run.cases}


def answers_by_probe(answers: Iterable[Answer]) -> dict[str, Answer]:
    """Answers by the probe that they answer."""
    return {a.probe: a for a in answers}


def write_back(path: Path, split: Split, results: Iterable[tuple[RunManifest, EditorFolder]]) -> None:
    """Give a run's results, and the split they are of, to a store.

    Raises:
        UserError: the store cannot be written; the results stay in the run folder, and running again feeds them.
    """
    from curation.store.store import Store

    try:
        with Store.open(path, write=True) as store:
            store.put_split(split)
            for manifest, folder in results:
                store.put_results(manifest, folder.results().values())
    except UserError as error:
        raise UserError(
            f"the run is finished, but its results could not be fed back to the store: {error}",
            fix="the same command again feeds them, nothing is computed twice",
        ) from None


def sequence_choice(run: Run) -> RegimeChoice:
    """How the run's sequences were asked; of runs of several regimes, one without a sample."""
    stored = run.about.get("config", {}).get("regime", {})
    name = stored.get("name") if isinstance(stored, dict) else stored
    return RegimeChoice.model_validate(stored if name == "sequential" else "sequential")


def asked_cases(run: Run) -> dict[str, AnyCase]:
    """The cases that every method of a run is asked by its end, by key, in the run's order.

    Of a sequence with a sample those are fewer than its edits. Without one the unedited model is asked all, a method
    those that are edited: see ``unedited_cases``. A case whose edit a later one in its sequence or batch overwrites is
    left out: the later request is the valid one.
    """
    cases = all_cases_by_key(run)
    if all(name.startswith("batch:") for name in run.regimes):
        sizes = tuple(int(name.removeprefix("batch:")) for name in run.regimes)
        batches = RegimeChoice(name="batch", size=sizes).groups(list(cases.values()))
        lost = {batch[place - 1].key for batch in batches for place in overwritten(batch)}
        return {key: case for key, case in cases.items() if key not in lost}
    if run.regimes != ("sequential",):
        return cases
    choice, in_order = sequence_choice(run), list(cases.values())
    asked = set(range(1, len(cases) + 1))
    if choice.sample is not None:
        asked = asked_positions(in_order, choice.sizes, choice.sample)
    asked -= overwritten(in_order[: edits_made(run)]).keys()
    return {key: case for n, (key, case) in enumerate(cases.items(), 1) if n in asked}


def edits_made(run: Run) -> int:
    """How many of the run's cases are edited: all, but of a sequence none after its last length.

    A longer run that is reported together with this one counts.
    """
    if run.regimes != ("sequential",):
        return len(run.cases)
    newest = [result.after or 0 for editor in run.editors[1:] for result in editor.results.values()]
    return max([*lengths_reached(run.cases, sequence_choice(run).sizes), *newest])


def unedited_cases(run: Run) -> frozenset[str]:
    """Keys of the cases after a sequence's last length: no method is ever asked them."""
    return frozenset(list(all_cases_by_key(run))[edits_made(run) :])
