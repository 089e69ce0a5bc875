"""Answers by text beside answers by log-probability: what a probe gives the model, and who writes.

``answer`` asks probes of a model as it stands, texts one after the other: the slow path. ``write_each`` writes for many
edits in shared batches, every row under its own edit; its texts are those of the slow path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from typing_extensions import override

from schemas.answers import Answer, GeneratedText
from schemas.core.errors import UserError
from schemas.probes import GenerateProbe, Probe, ScoreProbe, instructed
from schemas.text.thoughts import opening_mark, split_thought

if TYPE_CHECKING:
    from evaluation.inference.batching import TokenBudget
    from evaluation.inference.generation import Continuation, Sampling
    from evaluation.inference.passes import EditedProbes
    from evaluation.models.language_model import LM

Rewrite = Callable[[str], str] | None


class ModelInput(NamedTuple):
    """What the model is given for a probe, and whether a chat template made it (it then holds all special tokens)."""

    text: str
    chat: bool


def model_input(lm: LM, probe: GenerateProbe, rewrite: Rewrite = None) -> ModelInput:
    """The text that a probe's answer continues.

    Args:
        lm: The model; its tokenizer says whether there is a chat template.
        probe: What is asked.
        rewrite: Changes the prompt, not the instruction before it (an edit that lives in the prompt).

    Raises:
        UserError: a chat template is demanded of a model that has none.
    """
    text = instructed(probe, rewrite) + probe.separator
    if probe.chat == "always" and not lm.has_chat:
        raise no_template(lm.name)
    if lm.has_chat and probe.chat != "never":
        return ModelInput(lm.chat(text, thinking=False if probe.thought is None else probe.thought.enable), True)
    return ModelInput(f"{text}\n{probe.start}" if probe.start else text, False)


def no_template(model: str) -> UserError:
    """The error where texts are to be asked for in a chat template that a model does not have."""
    fix = 'set generation.chat = "never" (or "auto"), and leave generation.thought.everywhere out'
    return UserError("the model's tokenizer has no chat template", where=model, fix=fix)


def scored_probes(probes: Sequence[Probe]) -> list[ScoreProbe]:
    """The probes that are answered by log-probabilities."""
    return [p for p in probes if isinstance(p, ScoreProbe)]


def written_probes(probes: Sequence[Probe]) -> list[GenerateProbe]:
    """The probes that are answered by a text."""
    return [p for p in probes if isinstance(p, GenerateProbe)]


def merge_answers(probes: Sequence[Probe], *some: Sequence[Answer]) -> list[Answer]:
    """Answers of several kinds in the order of their probes."""
    known = {a.probe: a for answers in some for a in answers}
    return [known[p.id] for p in probes]


class Scorer(Protocol):
    """A language model as engines, regimes, runs and checks ask it: it scores and writes.

    Attributes:
        name: Of the model.
        revision: What tells its weights from others; part of a run's identity.
        other_attention: How it computes attention, where that is not as usual; else empty.
        device: Where it computes: memory is measured there.
        has_chat: Whether probes can be asked in a chat template of the model's.
        editable: What edits are applied to: it is handed to ``Edit.on``.
        weights: The module whose weights edits change; None where there is none (edits are stacked then).
    """

    name: str
    revision: str
    other_attention: str
    device: str
    has_chat: bool
    editable: Any
    weights: Any

    def score(self, probes: Sequence[ScoreProbe], *, rewrite: Rewrite = None, batch_tokens: int = 4096) -> list[Answer]:
        """Log-probabilities of targets, in the order of the probes."""
        ...

    def write(self, probes: Sequence[GenerateProbe], *, rewrite: Rewrite = None) -> list[Answer]:
        """Texts, in the order of the probes."""
        ...


class ModelScorer(Scorer):
    """A language model of this process.

    Args:
        lm: The model, asked as it stands at the moment: inside ``edit.on(lm)`` it is the edited one.
    """

    def __init__(self, lm: LM) -> None:
        self.lm = self.editable = lm
        self.name, self.revision, self.other_attention = lm.name, lm.revision, lm.other_attention
        self.device, self.has_chat, self.weights = str(lm.device), lm.has_chat, lm.model

    @override
    def score(self, probes: Sequence[ScoreProbe], *, rewrite: Rewrite = None, batch_tokens: int = 4096) -> list[Answer]:
        from evaluation.inference.scoring import score

        return score(self.lm, probes, rewrite=rewrite, batch_tokens=batch_tokens)

    @override
    def write(self, probes: Sequence[GenerateProbe], *, rewrite: Rewrite = None) -> list[Answer]:
        return write(self.lm, probes, rewrite=rewrite)


def answer(scorer: Scorer, probes: Sequence[Probe], *, rewrite: Rewrite, batch_tokens: int = 4096) -> list[Answer]:
    """All probes asked of the model as it stands, in their order; the reference.

    Args:
        scorer: Scores and, where a probe asks for a text, writes.
        probes: What to ask.
        rewrite: The edit's way with prompts.
        batch_tokens: Most tokens of one forward pass when scoring.
    """
    by_score, by_text = scored_probes(probes), written_probes(probes)
    scores = scorer.score(by_score, rewrite=rewrite, batch_tokens=batch_tokens) if by_score or not by_text else []
    if not by_text:
        return list(scores)
    return merge_answers(probes, scores, scorer.write(by_text, rewrite=rewrite))


def write(lm: LM, probes: Sequence[GenerateProbe], *, rewrite: Rewrite = None) -> list[Answer]:
    """The texts that probes ask for, one after the other, in the order given; equal probes are written once.

    A prompt that leaves no room for an answer has an ``error``.

    Args:
        lm: The model as it stands.
        probes: What to ask.
        rewrite: Changes every prompt first (an edit that lives in the prompt), not the instruction before it.

    Raises:
        UserError: a probe demands a chat template that the model has not.
    """
    from evaluation.inference.passes import EditedProbes

    by_id: dict[str, Answer] = {}
    for probe in probes:
        if probe.id not in by_id:
            ((by_id[probe.id],),) = write_each(lm, [EditedProbes((), rewrite, [probe])])
    return [by_id[p.id] for p in probes]


class _TextRow(NamedTuple):
    edit: int
    probe: GenerateProbe
    input: ModelInput


def write_each(lm: LM, edited: Sequence[EditedProbes], *, budget: TokenBudget | None = None) -> list[list[Answer]]:
    """The texts under every edit, in the order of its probes that ask for one; weights are not touched.

    Args:
        lm: The model.
        edited: Edits with what is asked under each; probes answered by log-probabilities are passed over.
        budget: Most tokens held at once; made for the device where it is not given.
    """
    from evaluation.inference.generation import PromptToContinue, generate

    by_id: list[dict[str, Answer]] = [{} for _ in edited]
    groups: dict[tuple[Sampling, bool], list[_TextRow]] = {}
    text_rows = [
        _TextRow(n, probe, model_input(lm, probe, one.rewrite))
        for n, one in enumerate(edited)
        for probe in {p.id: p for p in written_probes(one.probes)}.values()
    ]
    for row in text_rows:
        if (error := _unwritable(lm, row.input)) is not None:
            by_id[row.edit][row.probe.id] = Answer(probe=row.probe.id, error=error)
        else:
            groups.setdefault((_sampling(row.probe), row.input.chat), []).append(row)
    edits = [one.deltas for one in edited]
    for (sampling, chat), rows in groups.items():
        prompts = [
            PromptToContinue(
                r.input.text, r.edit if edits[r.edit] else -1, r.probe.seed, opened=_opened(r.probe, r.input)
            )
            for r in rows
        ]
        texts = generate(lm, prompts, edits=edits, sampling=sampling, budget=budget, special=not chat)
        for row, got in zip(rows, texts, strict=True):
            by_id[row.edit][row.probe.id] = _answer(row.probe, got, row.input)
    return [[by_id[n][p.id] for p in written_probes(one.probes)] for n, one in enumerate(edited)]


def _sampling(probe: GenerateProbe) -> Sampling:
    from evaluation.inference.generation import Sampling

    return Sampling(probe.most, probe.temperature, probe.top_p, probe.stop, probe.thought)


def _opened(probe: GenerateProbe, ready: ModelInput) -> str:
    """The opening mark of a thought that the model's input ends with."""
    return "" if probe.thought is None else opening_mark(ready.text, probe.thought.marks)


def _unwritable(lm: LM, ready: ModelInput) -> str | None:
    """Why nothing can be written after a text; None where something can."""
    ids = lm.token_ids(ready.text, special=not ready.chat)
    if not ids:
        return "there is nothing to continue"
    if lm.limit and len(ids) >= lm.limit:
        return f"the prompt has {len(ids)} tokens and leaves no room in the {lm.limit} that the model reads"
    return None


def _answer(probe: GenerateProbe, got: Continuation, ready: ModelInput) -> Answer:
    if got.broken:
        return Answer(probe=probe.id, error="the model's logits are not numbers")
    start = "" if ready.chat else probe.start
    text, thought, unfinished = got.text, None, False
    if opened := _opened(probe, ready):  # the text begins with it, and so may the start end
        start = start.rstrip().removesuffix(opened)
    if probe.thought is not None:
        split = split_thought(start + text, probe.thought.marks)
        start, text, thought, unfinished = "", split.answer, split.thought, split.unfinished
    written = GeneratedText(
        text=start + text,
        tokens=len(got.ids),
        ended=got.ended,
        chat=ready.chat,
        thought=thought,
        unfinished=unfinished,
    )
    return Answer(probe=probe.id, written=written)
