"""Snapshots of a sequence: the edited weights and what the method carries on, so that nothing is edited twice.

A file is written whole or not at all. Its name has the number of edits and a digest of everything in it; its head says
of which run (model, method, options, split) and of which edits it is. One that is damaged, or of another run or other
edits, is left aside with a sentence, and the one before it is taken.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from curation.files.atomic import atomic_path
from evaluation.editors.base import Editor
from evaluation.regimes.edit_chain import ChainState, EditChain
from evaluation.regimes.state_values import NotStorable, decode, encode
from schemas.cases import AnyCase
from schemas.core.errors import UserError

log = logging.getLogger(__name__)

FOLDER = "snapshots"
FORMAT = "sequence snapshot 1"
_NAME = re.compile(r"after-(\d{6,})-([0-9a-f]{16})\.safetensors")


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
        folder: Of the method's part of a run; None: none are kept.
        run: Id of the run.
        digests: Digests of no edit, one edit, two ...
        lengths: Numbers of edits at which one is kept for good.
        every: One is kept after so many edits, too, the newest of these; 0: none is kept at all.
    """

    def __init__(
        self, folder: Path | None, run: str, digests: Sequence[str], *, lengths: Collection[int], every: int
    ) -> None:
        self._folder = None if folder is None else folder / FOLDER
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
        if self._folder is None or not self._every or step.error is not None:
            return
        if step.after not in self._lengths and step.after % self._every:
            return
        tensors: dict[str, Tensor] = {}
        try:
            state = chain.state()
            edits = encode(tuple(state.edits), tensors)
        except NotStorable as problem:
            log.info("no snapshots of this sequence: %s; a stopped one makes its edits again", problem)
            self._every = 0
            return
        content = {"edits": edits, "stack": encode(state.stack, tensors), "step": encode(step, tensors)}
        head = {"run": self._run, "digest": self._digests[step.after], "failed": sorted(self._failed.items())}
        text = json.dumps({**head, **content}, ensure_ascii=False)
        name = f"after-{step.after:06}-{_digest(text, tensors)}.safetensors"
        try:
            with atomic_path(self._folder / name, "the snapshot") as partial:
                save_file(tensors, partial, metadata={"format": FORMAT, "state": text})
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
        there = [] if self._folder is None or not self._folder.is_dir() else sorted(self._folder.iterdir())
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
                state, step, failed = self._read(path, after, device)
                if step.error is not None:  # tried again, not taken up as failed
                    continue
                requests = [case.request for n, case in enumerate(cases[:after], 1) if n not in failed]
                if len(requests) != len(state.edits):
                    raise ValueError("it holds another number of edits than it says")
                chain.load(state, editor, requests)
            except (OSError, SafetensorError, UserError, ValueError, KeyError, TypeError) as problem:
                log.warning("the snapshot %s is left aside: %s", path, problem)
                continue
            self._failed = failed
            log.info("the sequence goes on after %d edits, from %s", after, path)
            return step
        return None

    def _read(self, path: Path, after: int, device: torch.device) -> tuple[ChainState, SequenceStep, dict[int, str]]:
        """A file's state, newest edit and failures.

        Raises:
            ValueError: it is damaged, or of another run or other edits.
        """
        with safe_open(path, framework="pt") as file:
            head = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
        if head.get("format") != FORMAT:
            raise ValueError("it is of another format")
        match = _NAME.fullmatch(path.name)
        if match is None or _digest(head["state"], tensors) != match[2]:
            raise ValueError("it is damaged: its content is not what its name says")
        data = json.loads(head["state"])
        if data["run"] != self._run:
            raise ValueError("it is of another model, method, options or split")
        if data["digest"] != self._digests[after]:
            raise ValueError("it is of other edits")
        stack, edits, step = (decode(data[name], tensors, device) for name in ("stack", "edits", "step"))
        return ChainState(stack, edits), step, {int(n): str(error) for n, error in data["failed"]}


def _digest(text: str, tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 over a snapshot's text and tensors, 16 digits of it."""
    running = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
    for part in _bytes_of(tensors):
        running.update(part)
    return running.hexdigest()[:16]


def _bytes_of(tensors: Mapping[str, Tensor]) -> Iterator[bytes]:
    for name, tensor in sorted(tensors.items()):
        yield f"\n{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode()
        yield tensor.reshape(-1).view(torch.uint8).numpy().tobytes()
