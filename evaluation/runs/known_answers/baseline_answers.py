"""Answers of the unedited model, kept across runs: they depend on the model and the probe, on nothing else."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from curation.files.journal import Journal
from curation.files.model_packages import cache_dir
from evaluation.runs.config import RunConfig
from evaluation.runs.plan import COMPONENTS
from schemas.answers import Answer
from schemas.core.errors import UserError
from schemas.core.ids import slug
from schemas.probes import Probe

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

log = logging.getLogger(__name__)


class BaselineAnswers:
    """A file of answers by probe, for one model revision and precision.

    Args:
        folder: Where such files stand. ``revision``, ``dtype``: of the model. ``attention``: how it computes attention,
            where that is not as usual (``LM.other_attention``).

    Example:
        >>> import tempfile
        >>> kept = BaselineAnswers(Path(tempfile.mkdtemp()), revision="r1", dtype="float32")
        >>> from schemas.probes import ScoreProbe
        >>> probe = ScoreProbe(purpose="fact", item="f", prompt="Peru is", targets=("big",))
        >>> kept.find([probe]) is None
        True
        >>> kept.keep([Answer(probe=probe.id)])
        >>> [answer.probe == probe.id for answer in kept.find([probe])]
        [True]
    """

    def __init__(self, folder: Path, *, revision: str, dtype: str, attention: str = "") -> None:
        scorer, other = COMPONENTS["scorer"], f"-{attention}" if attention else ""
        self.path = folder / f"answers-{slug(revision)}-{dtype}{other}-scorer{scorer}.jsonl"
        self._known: dict[str, Answer] | None = None

    @classmethod
    def of_run(cls, config: RunConfig, lm: LM) -> BaselineAnswers:
        """The file for a run's model and precision, in the program's cache folder."""
        folder = cache_dir() / "answers"
        return cls(folder, revision=lm.revision, dtype=config.dtype, attention=lm.other_attention)

    def find(self, probes: Sequence[Probe]) -> list[Answer] | None:
        """Answers to all probes, or None where one is not known."""
        answers = self.known(probes)
        return answers if probes and len(answers) == len(probes) else None

    def known(self, probes: Sequence[Probe]) -> list[Answer]:
        """Answers to those probes that have one."""
        known = self._load()
        return [known[p.id] for p in probes if p.id in known]

    def keep(self, answers: Iterable[Answer]) -> None:
        """Add answers that have no error; where another process is writing, they are simply not kept."""
        known = self._load()
        new = {a.probe: a for a in answers if a.error is None and a.probe not in known}
        if not new:
            return
        try:
            with Journal(self.path, write=True) as journal:
                for key, answer in new.items():
                    journal.append(key, answer.model_dump(mode="json"))
        except UserError as error:
            log.info("answers of the unedited model are not kept: %s", error)
        known.update(new)

    def _load(self) -> dict[str, Answer]:
        if self._known is None:
            self._known = {}
            if self.path.exists():
                try:
                    with Journal(self.path) as journal:
                        self._known = {key: Answer.model_validate(value) for key, value in journal.items()}
                except (UserError, ValueError) as error:
                    log.warning("%s is not readable, the unedited model is asked again: %s", self.path, error)
        return self._known
