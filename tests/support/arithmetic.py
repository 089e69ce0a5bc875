"""Small cases, and a model and methods made of arithmetic, for tests of what runs, scores and shows them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from curation.splits.split_file import Split, make_split
from evaluation.editors.base import Editor
from evaluation.edits.edit import Edit
from evaluation.runs.config import RunConfig
from evaluation.runs.results import EditorFolder, read_with_digest, write_with_digest
from schemas.answers import Answer, GeneratedText, NextTokens, TargetScore
from schemas.cases import Case, CaseNeighbour
from schemas.core.config import Options
from schemas.core.ids import slug
from schemas.facts import Fact, Neighbour
from schemas.probes import GenerateProbe, ScoreProbe
from schemas.scripts import ScriptPrompt
from tests.support.evaluation.runner_of import runner_of
from tests.support.facts import make_fact


def make_prompt(key: str, fact: str, text: str, *targets: str, separator: str = " ") -> ScriptPrompt:
    return ScriptPrompt(
        key=key, fact=fact, text=text, offset=len(text) + len(separator), separator=separator, targets=targets
    )


def make_neighbour(edit: str, subject: str, object_text: str, kind: str, prompts: int = 1) -> CaseNeighbour:
    key = f"fact/{slug(subject)}"
    fact = make_fact(subject, object_text, None, key=key)
    return CaseNeighbour(
        link=Neighbour.model_validate({"key": f"link/{edit}/{slug(subject)}", "edit": edit, "fact": key, "how": kind}),
        fact=fact,
        prompts=tuple(
            make_prompt(f"{key}/p{n}", key, f"How to see {subject} ({n})?\nStep 1: Go to", object_text)
            for n in range(prompts)
        ),
    )


def make_case(subject: str, *, change: str = "counterfactual", old: str = "Lima", new: str = "Oslo") -> Case:
    """A case with two paraphrases, two script prompts and one neighbour of the kind that the change brings."""
    key = f"fact/{slug(subject)}"
    strategy = "same_object" if change == "counterfactual" else "near_subject"
    fact = make_fact(
        subject,
        old,
        new,
        key=key,
        change=change,
        paraphrases=(f"The capital city of {subject} is", f"{subject} is led from"),
    )
    return Case(
        key=f"case/{slug(subject)}",
        fact=fact,
        prompts=tuple(
            make_prompt(f"{key}/p{n}", key, f"How to reach {subject} ({n})?\nStep 1: Fly to", old, new) for n in (1, 2)
        ),
        neighbours=(make_neighbour(key, f"{subject}ville", old if strategy == "same_object" else "Rome", strategy),),
    )


def make_cases(counterfactual: int = 4, temporal: int = 2) -> Split:
    cases = [make_case(f"Land{n:02d}") for n in range(counterfactual)]
    cases += [make_case(f"Club{n:02d}", change="temporal") for n in range(temporal)]
    return make_split("tiny", cases)


def noise(*parts: str) -> float:
    """A number from 0 to 1 that only the parts decide."""
    return int(hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8], 16) / 2**32


@dataclass
class ArithmeticLM:
    """Log-probabilities from a hash of prompt and target; an edit adds to those of its object."""

    name: str = "arithmetic"
    revision: str = "1"
    other_attention: str = ""
    device: str = "cpu"
    weights: None = None
    has_chat: bool = True
    lift: dict[str, float] = field(default_factory=dict)
    calls: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def editable(self) -> ArithmeticLM:
        return self

    def score(
        self, probes: Sequence[ScoreProbe], *, rewrite: Callable[[str], str] | None = None, batch_tokens: int = 4096
    ) -> list[Answer]:
        self.calls.append(tuple(p.id for p in probes))
        return [self._answer(p, rewrite(p.prompt) if rewrite else p.prompt) for p in probes]

    def write(self, probes: Sequence[GenerateProbe], *, rewrite: Callable[[str], str] | None = None) -> list[Answer]:
        self.calls.append(tuple(p.id for p in probes))
        return [self._text(p, rewrite(p.prompt) if rewrite else p.prompt) for p in probes]

    def _text(self, probe: GenerateProbe, prompt: str) -> Answer:
        """A script in the format that names the object which is lifted, Lima where none is."""
        place = max(self.lift, key=lambda k: self.lift[k], default="Lima")
        text = f"Step 1: Pack warm clothes\nStep 2: Fly to {place} at {noise(prompt, str(probe.seed)):.6f}"
        return Answer(probe=probe.id, written=GeneratedText(text=text, tokens=20, ended="eos"))

    def _answer(self, probe: ScoreProbe, prompt: str) -> Answer:
        scores = []
        for text in probe.targets:
            value = (
                -2
                - 3 * noise(prompt, text, *(["chat"] if probe.chat else []))
                + self.lift.get(text, 0.0) * noise("lift", prompt)
            )
            greedy = noise("greedy", prompt, text) > 0.5 if probe.greedy else None
            matched = (2 if greedy else round(noise("matched", prompt, text))) if probe.matches else None
            scores.append(TargetScore(text=text, logprob=value * 2, tokens=2, greedy=greedy, matched=matched))
        return Answer(probe=probe.id, targets=tuple(scores), next_tokens=self._next(prompt) if probe.top else None)

    def _next(self, prompt: str) -> NextTokens:
        """Twelve tokens that hold nine tenths of the mass; a lift moves it among them."""
        lift = sum(self.lift.values()) * noise("next", prompt)
        weights = {n: 1 + noise(prompt, str(n)) + (lift if n == 11 else 0.0) ** 2 for n in range(12)}
        ranked = sorted(weights, key=lambda n: -weights[n])
        values = tuple(math.log(0.9 * weights[n] / sum(weights.values())) for n in ranked)
        return NextTokens(ids=tuple(ranked), logprobs=values)


@dataclass(frozen=True)
class ArithmeticEdit(Edit):
    lift: dict[str, float]
    prefix: str = ""
    notes: dict[str, Any] = field(default_factory=dict)
    deltas: None = None

    def rewrite(self, prompt: str) -> str:
        return self.prefix + prompt

    @contextmanager
    def on(self, lm: ArithmeticLM) -> Iterator[ArithmeticLM]:
        before = lm.lift
        lm.lift = self.lift
        try:
            yield lm
        finally:
            lm.lift = before


class Strength(Options):
    """Options of the arithmetic methods."""

    strength: float = 5.0
    fail: tuple[str, ...] = ()


class ArithmeticEditor(Editor):
    """Raises the new object by ``strength``, lowers Rome; fails on the subjects in ``fail``."""

    version = 1
    components: dict[str, str] = {}  # noqa: RUF012 - a test sets another

    def __init__(self, name: str, params: dict[str, Any]) -> None:
        self.name, self.params = name, Strength.model_validate(params)
        self.prepared = 0

    def prepare(self, support: Sequence[Case]) -> None:
        self.prepared += 1

    def edit(self, requests: Sequence[Fact]) -> ArithmeticEdit:
        fact = requests[0]
        if fact.subject.text in self.params.fail:
            raise RuntimeError(f"cannot edit {fact.subject.text}")
        assert fact.new is not None
        if self.name == "none":
            return ArithmeticEdit({})
        wild = fact.subject.text.endswith("0")
        notes = {"norm_ratio": 0.5 if wild else 0.01, "value_norm": 470.0 if wild else 9.0, "blow_up": wild}
        return ArithmeticEdit({fact.new.text: self.params.strength, "Rome": -1.0}, notes=notes)

    def edit_each(self, requests: Sequence[Fact]) -> list[ArithmeticEdit]:
        return [self.edit([request]) for request in requests]

    def edit_after(self, requests: Sequence[Fact], earlier: Sequence[ArithmeticEdit]) -> ArithmeticEdit:
        return self.edit(requests)


def make_config(out: Path, **changes: Any) -> RunConfig:
    data: dict[str, Any] = {"split": "mini", "editors": ["none", "push"], "out": str(out), "metrics": "teacher-forced"}
    return RunConfig.model_validate({**data, **changes})


def go(
    out: Path, *, split: Split | None = None, lm: ArithmeticLM | None = None, events: list | None = None, **more: Any
):
    """Run the arithmetic model and methods; returns outcomes by label, and the model."""
    retry = more.pop("retry_failed", False)
    model = lm or ArithmeticLM()
    runner = runner_of(
        make_config(out, **more),
        split or make_cases(),
        scorer=model,
        make=ArithmeticEditor,
        on_event=None if events is None else events.append,
        retry_failed=retry,
    )
    return {o.label: o for o in runner.run()}, model


def answers(folder: EditorFolder) -> dict[str, Any]:
    """Everything of the results that time does not change."""
    return {k: (r.answers, r.error, r.notes) for k, r in folder.results().items()}


def unfinish(folder: Path) -> None:
    """Make a finished run look like one that was killed."""
    about = read_with_digest(folder / "run.json") | {"finished": None}
    about["runs"] = [{k: v for k, v in entry.items() if k != "journals"} for entry in about["runs"]]
    write_with_digest(folder / "run.json", about)
