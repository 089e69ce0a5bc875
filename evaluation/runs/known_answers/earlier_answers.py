"""Answers of a run on another version of the split: what has not changed since is taken over, the rest is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from curation.files.atomic import write_json
from curation.files.journal import Journal
from curation.files.json_files import read_json
from curation.splits.split_file import Split
from evaluation.runs.config import RunConfig
from evaluation.runs.plan import ORDERS, choose
from evaluation.runs.results import OTHER_OUT, RUN_FILE, EditorFolder, EditorRun, Run, load_run
from schemas.cases import AnyCase
from schemas.core.errors import UserError
from schemas.probes import Probe
from schemas.runs import CaseResult, RunManifest

NOTE_FILE = "taken_over.json"
"""In a method's folder: which run its first answers are from."""
_SETTING = "answers_from"
_SAME = ("editor", "editor_version", "params", "model_revision", "dtype", "regime", "components")


def chosen_cases(config: RunConfig, split: Split) -> tuple[AnyCase, ...]:
    """The cases of a run; with ``answers_from`` those of the earlier run come first, so that a limit keeps them.

    Raises:
        UserError: as ``choose``, or there is no such earlier run.
    """
    first: Sequence[str] = ()
    if config.answers_from is not None and (config.answers_from / RUN_FILE).is_file():
        first = read_json(config.answers_from / RUN_FILE).get("cases", ())
    return choose(split, kinds=config.kinds, limit=config.limit, order=config.regime.order, first=first)


def order_in_words(config: RunConfig) -> str:
    """The order of ``chosen_cases`` as ``run.json`` has it."""
    words = ORDERS[config.regime.order]
    return words if config.answers_from is None else f"the cases of the earlier run first, the others {words}"


class EarlierAnswers(NamedTuple):
    """An earlier run whose answers count where method, model, edit and question are the same.

    Attributes:
        run: The earlier run, on another version of the split or on another split with cases in common.
    """

    run: Run

    @classmethod
    def of(cls, config: RunConfig) -> EarlierAnswers | None:
        """The earlier run that a configuration names; None where it names none.

        Raises:
            UserError: not the folder of a run, or a regime in which edits build on each other.
        """
        if config.answers_from is None:
            return None
        if config.regime.name != "single":
            raise UserError(
                f"no answers are taken over in the regime '{config.regime.name}', where edits build on each other",
                where=_SETTING,
                allowed="regime = 'single'",
                fix=f"leave {_SETTING} out",
            )
        return cls(load_run(config.answers_from))

    def check(self, manifests: Mapping[str, RunManifest]) -> None:
        """Refuse an earlier run that has none of these methods as they are now.

        Raises:
            UserError: model, precision, parameters or support differ for every method.
        """
        if not any(self._twin(manifest) for manifest in manifests.values()):
            raise UserError(
                f"no method of that run ({', '.join(e.label for e in self.run.editors)}) was made as here",
                where=f"{_SETTING} = {self.run.folder}",
                allowed="the same model revision, dtype, parameters and support",
                fix=f"leave {_SETTING} out, or compare the manifest.json of both runs",
            )

    def results(
        self, manifest: RunManifest, cases: Sequence[AnyCase], probes: Mapping[str, Sequence[Probe]]
    ) -> dict[str, CaseResult]:
        """What can be taken over for a method, by case: answers to questions that are asked now, after the same edit.

        Args:
            manifest: The method as it is run now.
            cases: Of this run.
            probes: What is asked of each case, by its key.
        """
        twin = self._twin(manifest)
        if twin is None:
            return {}
        before, taken = {c.key: c for c in self.run.split.all_cases}, {}
        for case in cases:
            result, earlier = twin.results.get(case.key), before.get(case.key)
            if result is None or earlier is None or result.error or earlier.request != case.request:
                continue
            asked = {p.id for p in probes[case.key]}
            answers = tuple(a for a in result.answers if a.probe in asked and a.error is None)
            if answers:
                taken[case.key] = result.model_copy(update={"run": manifest.key, "answers": answers})
        return taken

    def take_over(
        self, new: Mapping[str, CaseResult], manifest: RunManifest, folder: EditorFolder, journal: Journal
    ) -> None:
        """Journal results, and note beside them where a method's first answers are from and how many they are.

        Args:
            new: Some of ``results``.
            manifest: The method as it is run now; its folder has begun.
            folder: The method's folder in this run.
            journal: Its journal.
        """
        twin, about = self._twin(manifest), self.run.about
        note = {
            "run": None if twin is None else twin.manifest.key,
            "split": f"{about['split']}@{about['split_version']}",
            "split_digest": about["split_digest"],
            "cases": len(new),
            "answers": sum(len(result.answers) for result in new.values()),
        }
        if not (folder.path / NOTE_FILE).exists():
            write_json(folder.path / NOTE_FILE, note, fix=OTHER_OUT)
        for key, result in new.items():
            journal.append(key, result.model_dump(mode="json"))

    def _twin(self, manifest: RunManifest) -> EditorRun | None:
        """The same method in the earlier run."""

        def identity(one: RunManifest) -> list[Any]:
            return [getattr(one, name) for name in _SAME]

        return next((e for e in self.run.editors if identity(e.manifest) == identity(manifest)), None)


def refuse_missing(folder: Path | None) -> None:
    """Refuse an earlier run that is not there before a model is loaded.

    Raises:
        UserError: not the folder of a run.
    """
    if folder is not None and not (folder / RUN_FILE).is_file():
        raise UserError(
            "not the folder of a run (there is no run.json)",
            where=f"{_SETTING} = {folder}",
            fix=f"name the folder of the earlier run, or leave {_SETTING} out",
        )
