"""Cached answers: what the unedited model said in any run, and what a run on another version of the split said.

An answer depends on the method as it was set up, on the edit and on the probe, so it is taken over where all three are
equal. The unedited model makes no edit: its answers are stored by probe in a file for each model and precision.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from curation.files.atomic import write_json
from curation.files.journal import Journal
from curation.files.model_packages import cache_dir
from evaluation.inference.answering import Scorer
from evaluation.runs.plan import COMPONENTS
from evaluation.runs.results import OTHER_OUT, EditorFolder, EditorRun, Run
from schemas.answers import Answer
from schemas.cases import AnyCase
from schemas.core.errors import UserError
from schemas.core.ids import slug
from schemas.probes import Probe
from schemas.runs import CaseResult, RunManifest

log = logging.getLogger(__name__)

NOTE_FILE = "taken_over.json"
"""In a method's folder: which run its first answers are from."""
_IDENTITY = ("editor", "editor_version", "params", "model_revision", "dtype", "regime", "components")


class CachedAnswers:
    """Answers by method, edit and probe.

    Args:
        file: Answers of the unedited model; None: they are not cached.
        earlier: A run on another version of the split (``answers_from``).
    """

    def __init__(self, file: Path | None = None, earlier: Run | None = None) -> None:
        self.file = file
        self._run = earlier
        self._cases = {} if self._run is None else {c.key: c for c in self._run.split.all_cases}
        self._unedited: dict[str, Answer] | None = None

    @staticmethod
    def file_of(scorer: Scorer, dtype: str, folder: Path | None = None) -> Path:
        """The file of a model's answers, in the program's cache folder if none is given."""
        other = f"-{scorer.other_attention}" if scorer.other_attention else ""
        name = f"answers-{slug(scorer.revision)}-{dtype}{other}-scorer{COMPONENTS['scorer']}.jsonl"
        return (folder or cache_dir() / "answers") / name

    def check(self, manifests: Iterable[RunManifest]) -> None:
        """Raise an error if the earlier run has none of these methods as they are now.

        Raises:
            UserError: model, precision, parameters or support differ for every method.
        """
        if self._run is not None and not any(self._same_method(manifest) for manifest in manifests):
            raise UserError(
                f"no method of that run ({', '.join(e.label for e in self._run.editors)}) was set up as here",
                where=f"answers_from = {self._run.folder}",
                allowed="the same model revision, dtype, parameters and support",
                fix="leave answers_from out, or compare the manifest.json of both runs",
            )

    def find(
        self, manifest: RunManifest, case: AnyCase, probes: Sequence[Probe], *, unedited: bool
    ) -> CaseResult | None:
        """Cached answers to some of the probes, in their order; None if there are none.

        Args:
            manifest: The method as it is now.
            case: Its edit must be that of the cached answers.
            probes: What is queried.
            unedited: Whether no edit is made.
        """
        earlier = self._earlier_result(manifest, case)
        known = {} if earlier is None else {a.probe: a for a in earlier.answers if a.error is None}
        if unedited:
            known = {**self._load(), **known}
        answers = tuple(known[probe.id] for probe in probes if probe.id in known)
        if not answers:
            return None
        result = CaseResult(run=manifest.key, case=case.key) if earlier is None else earlier
        return result.model_copy(update={"run": manifest.key, "answers": answers})

    def add(self, answers: Iterable[Answer]) -> None:
        """Store answers of the unedited model that have no error; nothing where another process is writing the file."""
        known = self._load()
        new = {a.probe: a for a in answers if a.error is None and a.probe not in known}
        if self.file is None or not new:
            return
        try:
            with Journal(self.file, write=True) as journal:
                for key, answer in new.items():
                    journal.append(key, answer.model_dump(mode="json"))
        except UserError as error:
            log.info("answers of the unedited model are not cached: %s", error)
        known.update(new)

    def note(self, folder: EditorFolder, manifest: RunManifest, taken: Collection[CaseResult]) -> None:
        """Write beside a method's journal which run its first answers are from, and how many they are."""
        source = self._same_method(manifest)
        if self._run is None or source is None or not taken or (folder.path / NOTE_FILE).exists():
            return
        about = self._run.about
        note: dict[str, Any] = {
            "run": source.manifest.key,
            "split": f"{about['split']}@{about['split_version']}",
            "split_digest": about["split_digest"],
            "cases": len(taken),
            "answers": sum(len(result.answers) for result in taken),
        }
        write_json(folder.path / NOTE_FILE, note, fix=OTHER_OUT)

    def _earlier_result(self, manifest: RunManifest, case: AnyCase) -> CaseResult | None:
        """The result of the same method after the same edit in the earlier run."""
        source, before = self._same_method(manifest), self._cases.get(case.key)
        if source is None or before is None or before.request != case.request:
            return None
        result = source.results.get(case.key)
        return None if result is None or result.error is not None else result

    def _same_method(self, manifest: RunManifest) -> EditorRun | None:
        def identity(one: RunManifest) -> list[Any]:
            return [getattr(one, name) for name in _IDENTITY]

        editors = () if self._run is None else self._run.editors
        return next((e for e in editors if identity(e.manifest) == identity(manifest)), None)

    def _load(self) -> dict[str, Answer]:
        if self._unedited is None:
            self._unedited = {}
            if self.file is not None and self.file.exists():
                try:
                    with Journal(self.file) as journal:
                        self._unedited = {key: Answer.model_validate(value) for key, value in journal.items()}
                except (UserError, ValueError) as error:
                    log.warning("%s is not readable, the unedited model is queried again: %s", self.file, error)
        return self._unedited
