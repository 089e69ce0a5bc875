"""What a sequence says of every edit and of the model at its lengths, in a journal beside that of the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from curation.files.journal import Journal
from evaluation.edits.delta_stack import ChangeNorm
from evaluation.edits.edit import Edit, own_answers
from evaluation.engines.base import Job
from evaluation.regimes.base import RegimeContext
from evaluation.regimes.general_texts import general_probes
from schemas.core.config import validate
from schemas.core.records import Frozen
from schemas.probes import ScoreProbe

FILE = "sequence.jsonl"
STATE = "/state"


class EditEntry(Frozen):
    """One edit of a sequence.

    Attributes:
        after: Its number, from 1.
        case: Key of its case.
        seconds: What it took on the clock, without asking.
        processor_seconds: The same of the processor, all threads together.
        peak_bytes: The most memory held while it was made: of the process, or of the device.
        error: Why it failed; the sequence then goes on without it.
    """

    after: int
    case: str
    seconds: float
    processor_seconds: float
    peak_bytes: int | None = None
    error: str | None = None


class WeightNorm(Frozen):
    """How far a weight is from what it was: see ``ChangeNorm``."""

    weight: str
    norm: float
    ratio: float
    routed: bool


class TextScore(Frozen):
    """One general text: log-probability of its tokens (nats, a sum), and how many there are."""

    item: str
    logprob: float
    tokens: int


class StateEntry(Frozen):
    """The model at a length.

    Attributes:
        after: Edits in it; 0: the unedited model.
        norms: Of every changed weight.
        texts: General texts under these edits; empty where an edit answers itself.
        held_bytes: Bytes of what the edits hold for later ones; changed weights and their copies are left out.
    """

    after: int
    norms: tuple[WeightNorm, ...] = ()
    texts: tuple[TextScore, ...] = ()
    held_bytes: int = 0


class SequenceEntries:
    """A finished or running sequence's journal, read back.

    Args:
        folder: The method's folder.
        digests: Digests of no edit, one edit, two ...: entries of other sequences are left out.
    """

    def __init__(self, folder: Path, digests: Sequence[str]) -> None:
        self.edits: list[EditEntry] = []
        self.states: dict[int, StateEntry] = {}
        path = folder / FILE
        if not path.exists():
            return
        with Journal(path) as journal:
            for n, digest in enumerate(digests):
                where = f"{path}, edit {n}"
                if n and (entry := journal.get(digest)) is not None:
                    self.edits.append(validate(EditEntry, entry, where=where))
                if (state := journal.get(digest + STATE)) is not None:
                    self.states[n] = validate(StateEntry, state, where=where)


def described_state(
    after: int,
    norms: Sequence[ChangeNorm],
    edits: Sequence[Edit],
    rewrite: Callable[[str], str],
    context: RegimeContext,
) -> StateEntry:
    """What is to be said of the model as it stands.

    Args:
        after: Edits in it.
        norms: Of its changed weights.
        edits: The edits, the newest last.
        rewrite: What they make of prompts.
        context: Asks the general texts.
    """
    probes, texts = list(general_probes()), list[TextScore]()
    if own_answers(edits, probes[:1]) is None and context.cases:
        job = Job("general", context.cases[0], tuple(probes))
        (result,) = context.engine.ask([job], rewrite=rewrite)
        for probe, answer in zip(probes, result.answers, strict=True):
            assert isinstance(probe, ScoreProbe)
            texts += [TextScore(item=probe.item, logprob=t.logprob, tokens=t.tokens) for t in answer.targets[:1]]
    weights = tuple(WeightNorm(**norm._asdict()) for norm in norms)
    held = sum(tensor.numel() * tensor.element_size() for tensor in tensors_in(list(edits)))
    return StateEntry(after=after, norms=weights, texts=tuple(texts), held_bytes=held)


def tensors_in(value: Any) -> Iterator[Tensor]:
    """All tensors in a value: in tuples, lists, mappings and data classes."""
    if isinstance(value, Tensor):
        yield value
    elif is_dataclass(value):
        yield from tensors_in([getattr(value, field.name) for field in fields(value)])
    elif isinstance(value, Mapping):
        yield from tensors_in(list(value.values()))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from tensors_in(part)
