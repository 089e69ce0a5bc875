"""Snapshots of a sequence: the edited weights and what the method carries on, so that nothing is edited twice.

A file is written whole or not at all. Its name has the number of edits and a digest of everything in it; it says of
which run (model, method, options, split) and of which edits it is. One that is damaged, or of another run or other
edits, is left aside with a sentence, and the one before it is taken.
"""

from __future__ import annotations

import hashlib
import io
import logging
import pickle
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch

from curation.files.artifact_cache import sha256
from curation.files.atomic import write_bytes
from evaluation.editors.base import Editor
from evaluation.regimes.edit_chain import EditChain, NotStorable
from schemas.cases import AnyCase
from schemas.core.errors import UserError

log = logging.getLogger(__name__)

FOLDER = "snapshots"
_NAME = re.compile(r"after-(\d{6,})-([0-9a-f]{16})\.pt")


class SequenceStep(NamedTuple):
    """The newest edit of a sequence: its number, what is noted of it, why it failed, its seconds and peak memory."""

    after: int
    notes: Mapping[str, Any]
    error: str | None
    seconds: float
    peak_bytes: int | None


class Snapshots:
    """Those of one sequence.

    Args:
        folder: Of the method's part of a run.
        run: Id of the run.
        digests: Digests of no edit, one edit, two ...
        lengths: Numbers of edits at which one is kept for good.
        every: One is kept after so many edits, too, the newest of these; 0: none is kept at all.
    """

    def __init__(self, folder: Path, run: str, digests: Sequence[str], *, lengths: Collection[int], every: int) -> None:
        self._folder = folder / FOLDER
        self._run, self._digests, self._lengths, self._every = run, digests, lengths, every
        self._failed: dict[int, str] = {}

    def note_failure(self, after: int, error: str) -> None:
        """Told of an edit that failed: it is none of the chain's, and stays so when the sequence goes on."""
        self._failed[after] = error

    def keep(self, chain: EditChain, step: SequenceStep) -> None:
        """Write one, where this number of edits is one to be kept; older ones that need not stay are deleted.

        None is written where the newest edit failed: it is tried again when the sequence goes on. A full disk does not
        end the run: it is said, and the sequence goes on without.
        """
        if not self._every or step.error is not None:
            return
        if step.after not in self._lengths and step.after % self._every:
            return
        snapshot = {"run": self._run, "digest": self._digests[step.after], "failed": self._failed, "step": step}
        content = io.BytesIO()
        try:
            torch.save({**snapshot, "state": chain.state()}, content)
        except (NotStorable, pickle.PicklingError, AttributeError, TypeError) as problem:
            log.info("no snapshots of this sequence: %s; a stopped one makes its edits again", problem)
            self._every = 0
            return
        name = f"after-{step.after:06}-{hashlib.sha256(content.getbuffer()).hexdigest()[:16]}.pt"
        try:
            write_bytes(self._folder / name, content.getbuffer(), "the snapshot")
        except UserError as error:
            log.warning("no snapshot after %d edits: %s", step.after, error)
            return
        self._delete_older(name, step.after)

    def _delete_older(self, newest: str, after: int) -> None:
        """Delete what need not stay: those between lengths, and another file of the same number of edits."""
        for number, path in self._files():
            if path.name != newest and (number == after or (number < after and number not in self._lengths)):
                path.unlink(missing_ok=True)

    def _files(self) -> list[tuple[int, Path]]:
        """Snapshots on the disk with their numbers of edits, the longest first."""
        there = sorted(self._folder.iterdir()) if self._folder.is_dir() else []
        named = [(match, path) for path in there if (match := _NAME.fullmatch(path.name))]
        return sorted(((int(match[1]), path) for match, path in named), reverse=True)

    def resume(
        self, chain: EditChain, editor: Editor, cases: Sequence[AnyCase], device: torch.device, *, most: int
    ) -> SequenceStep | None:
        """Put the newest valid state of at most so many edits on the model; None where there is none.

        Args:
            chain: Without edits.
            editor: The method, ready to edit.
            cases: Those of the sequence, in order.
            device: Where tensors go that were not on the CPU.
            most: Edits that the first case to be asked wants in the model.
        """
        for after, path in self._files() if self._every else ():
            if after > most or after >= len(self._digests):
                continue
            try:
                snapshot = self._read(path, after, device)
                step: SequenceStep = snapshot["step"]
                state, failed = snapshot["state"], snapshot["failed"]
                if step.error is not None:  # tried again, not taken up as failed
                    continue
                requests = [case.request for n, case in enumerate(cases[:after], 1) if n not in failed]
                if len(requests) != len(state.edits):
                    raise ValueError("it holds another number of edits than it says")
                chain.load(state, editor, requests)
            except (OSError, RuntimeError, pickle.UnpicklingError, UserError, ValueError) as problem:
                log.warning("the snapshot %s is left aside: %s", path, problem)
                continue
            self._failed = failed
            log.info("the sequence goes on after %d edits, from %s", after, path)
            return step
        return None

    def _read(self, path: Path, after: int, device: torch.device) -> dict[str, Any]:
        """What a file holds.

        Raises:
            ValueError: it is damaged, or of another run or other edits.
        """
        match = _NAME.fullmatch(path.name)
        if match is None or sha256(path)[:16] != match[2]:
            raise ValueError("it is damaged: its content is not what its name says")
        with torch.serialization.safe_globals(_value_classes(path)):
            snapshot: dict[str, Any] = torch.load(path, map_location={"cuda:0": str(device)}, weights_only=True)
        if snapshot["run"] != self._run:
            raise ValueError("it is of another model, method, options or split")
        if snapshot["digest"] != self._digests[after]:
            raise ValueError("it is of other edits")
        return snapshot


def _value_classes(path: Path) -> list[Any]:
    """Data classes and named tuples in a file whose modules are loaded already (the method that goes on has done that).

    A file with any other class is not read: nothing of it can be run.
    """
    found = []
    for name in torch.serialization.get_unsafe_globals_in_checkpoint(path):
        module, _, kind = name.rpartition(".")
        value_class = getattr(sys.modules.get(module), kind, None)
        if is_dataclass(value_class) or hasattr(value_class, "_fields"):
            found.append(value_class)
    return found
