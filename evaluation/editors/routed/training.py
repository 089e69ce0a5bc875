"""Training of scope scorers on events with questions: which of several events does a question belong to, if any."""

from __future__ import annotations

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from typing_extensions import override

from evaluation.editors.in_context.retrieval import Vectors
from evaluation.editors.routed.cross import CrossScorer
from evaluation.editors.routed.head import ScopeHead, stack_questions
from evaluation.editors.routed.pairs import EventMemory, Pairs
from schemas.cases import EventCase
from schemas.core.errors import UserError
from schemas.core.ids import seed
from schemas.events.questions import FactQuestion, TendencyQuestion

WORD_RATE = 20  # words are met seldom: their weights move so many times as fast
MISSED = -1  # the event of a held-out question that is not in its shortlist
FEWEST = 4  # events that anything can be learnt from

Question = FactQuestion | TendencyQuestion


class RoutingAccuracy(NamedTuple):
    """Share of held-out questions that were sent where they belong; None where there are no such questions."""

    facts: float | None
    tendencies: float | None

    @property
    def mean(self) -> float:
        """Mean over the kinds that there are."""
        known = [value for value in self if value is not None]
        return sum(known) / len(known) if known else 0.0


class ScorerStep(NamedTuple):
    """Progress: epochs done, of how many, mean loss in nats, held-out accuracy, seconds spent, seconds left."""

    done: int
    of: int
    loss: float
    held_out: RoutingAccuracy
    seconds: float
    left: float


class TrainedScorer(NamedTuple):
    """The scorer with the best held-out accuracy, that accuracy, its epoch, seconds in all."""

    network: Any
    held_out: RoutingAccuracy
    step: int
    seconds: float


class Example(NamedTuple):
    """A question with the events that it is compared with.

    Attributes:
        question: Its text.
        pairs: The events, as the head reads them.
        goal: 1 + the index of its own event among them; 0 if it belongs to none; ``MISSED`` if that is not there.
        kind: 0 for a factual question, 1 for a tendency.
    """

    question: str
    pairs: Pairs
    goal: int
    kind: int


class ScorerTrainer(ABC):
    """Trains one scorer. What it draws depends on the seed and the keys of events and questions alone.

    Args:
        cases: Events with questions; some events are held out to choose the best epoch.
        vectors: The frozen encoder that finds the events nearest to a question.
        settings: Options of training, as in ``evaluation.editors.routed.serac``.

    Raises:
        UserError: too few events, or no question in scope.
    """

    draws: ClassVar[tuple[str, ...]]
    """Names that the order of an epoch is drawn from, with the seed and the epoch."""
    network: nn.Module

    def __init__(self, cases: Sequence[EventCase], vectors: Vectors, settings: Any) -> None:
        self.settings = settings
        if len(cases) < FEWEST:
            raise UserError(
                f"{len(cases)} events are too few to learn from", where="serac", allowed=f"{FEWEST} or more"
            )
        held = held_out_keys(cases, settings)
        cases = sorted(cases, key=lambda case: (case.key in held, case.key))  # those to learn from first
        vectors.of([text for case in cases for text in (case.event.text, *(q.text for q in questions_of(case)))])
        self._texts, learnt = [case.event.text for case in cases], len(cases) - len(held)
        apart = settings.names_apart
        memory, self._memory = (EventMemory(self._texts[:n], vectors, names_apart=apart) for n in (learnt, len(cases)))
        self._train = [x for n, case in enumerate(cases[:learnt]) for x in self._examples(n, case, memory, train=True)]
        beside = list(enumerate(cases))[learnt:]
        self._held = [x for n, case in beside for x in self._examples(n, case, self._memory, train=False)]
        if not any(example.goal for example in self._train):
            raise UserError("no question is in scope of its event: there is nothing to learn", where="serac")

    @abstractmethod
    def units(self, example: Example) -> list[Any]:
        """What of an example is drawn for a batch by itself."""

    @abstractmethod
    def loss(self, units: Sequence[Any]) -> Tensor:
        """Mean loss of a batch of units."""

    @abstractmethod
    def choices(self, examples: Sequence[Example]) -> list[int]:
        """For each question 1 + the index of the likeliest event, or 0 if its probability is below one half."""

    def parameters(self) -> list[dict[str, Any]]:
        """Groups of parameters for the optimiser."""
        return [{"params": list(self.network.parameters())}]

    def run(self, on_step: Callable[[ScorerStep], None] | None = None, minutes: float | None = None) -> TrainedScorer:
        """Train, and return the scorer of the epoch with the best held-out accuracy.

        Args:
            on_step: Called after every epoch.
            minutes: End after so many, within an epoch too; at least one batch is learnt.
        """
        p, begun = self.settings, time.perf_counter()
        ends = float("inf") if minutes is None else begun + 60 * minutes
        optimiser = torch.optim.AdamW(self.parameters(), lr=p.lr, weight_decay=p.weight_decay)
        units = [unit for example in self._train for unit in self.units(example)]
        best: tuple[RoutingAccuracy, int, dict[str, Tensor]] | None = None
        for epoch in range(1, p.epochs + 1):
            if best is not None and time.perf_counter() > ends:
                break
            loss, accuracy = self._epoch(epoch - 1, units, optimiser, ends), self._accuracy()
            if best is None or accuracy.mean > best[0].mean:
                weights = {name: value.detach().clone() for name, value in self.network.state_dict().items()}
                best = (accuracy, epoch, weights)
            spent = time.perf_counter() - begun
            if on_step is not None:
                on_step(ScorerStep(epoch, p.epochs, loss, accuracy, spent, spent / epoch * (p.epochs - epoch)))
        assert best is not None
        self.network.load_state_dict(best[2])
        self.network.eval().requires_grad_(False)
        return TrainedScorer(self.network, best[0], best[1], time.perf_counter() - begun)

    def _examples(self, number: int, case: EventCase, memory: EventMemory, *, train: bool) -> list[Example]:
        """The questions of a case with near events and, in training, with its own and some drawn ones."""
        p, out = self.settings, []
        asked: tuple[Sequence[Question], ...] = (case.facts, case.tendencies)
        for kind, questions in enumerate(asked):
            for question in questions:
                draw = random.Random(seed(str(p.seed), case.key, question.key, "negatives"))
                far = [draw.randrange(len(memory.rows)) for _ in range(p.far)]
                size, also = (p.near, [number, *far]) if train else (p.shortlist, [])
                pairs = memory.pairs(question.text, size=size, also=also)
                events, goal = pairs.events.tolist(), 0
                if question.scope == "in":
                    goal = events.index(number) + 1 if number in events else MISSED
                out.append(Example(question.text, pairs, goal, kind))
        return out

    def _epoch(self, epoch: int, units: Sequence[Any], optimiser: torch.optim.Optimizer, ends: float) -> float:
        """One pass over the units in an order of its own; the mean loss."""
        total, seen = 0.0, 0
        draw = seed(str(self.settings.seed), *self.draws, str(epoch))
        order = torch.randperm(len(units), generator=torch.Generator().manual_seed(draw)).tolist()
        self.network.train()
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.manual_seed(draw)
            for start in range(0, len(order), self.settings.batch):
                if seen and time.perf_counter() > ends:
                    break
                batch = [units[i] for i in order[start : start + self.settings.batch]]
                loss = self.loss(batch)
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                total, seen = total + float(loss.detach()) * len(batch), seen + len(batch)
        return total / seen

    @torch.no_grad()
    def _accuracy(self) -> RoutingAccuracy:
        """Accuracy on the questions that were held out."""
        self.network.eval()
        right: list[list[bool]] = [[], []]
        for start in range(0, len(self._held), self.settings.batch):
            examples = self._held[start : start + self.settings.batch]
            for example, choice in zip(examples, self.choices(examples), strict=True):
                right[example.kind].append(example.goal == choice)
        return RoutingAccuracy(*(sum(row) / len(row) if row else None for row in right))


class HeadTrainer(ScorerTrainer):
    """Trains the small network: cross-entropy over a question's events and none.

    Args:
        device: Where it computes. ``dtype``: in which precision.
    """

    draws = ("serac",)

    def __init__(
        self,
        cases: Sequence[EventCase],
        vectors: Vectors,
        settings: Any,
        *,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__(cases, vectors, settings)
        self._rows = torch.from_numpy(self._memory.rows).to(device, dtype)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed(str(settings.seed), "serac", "head"))
            network = ScopeHead(self._rows.shape[1], settings.hidden, dropout=settings.dropout)
        self.network: ScopeHead = network.to(device, dtype)

    def parameters(self) -> list[dict[str, Any]]:
        """Weights of words learn faster."""
        rest = [w for name, w in self.network.named_parameters() if not name.startswith("words.")]
        return [{"params": rest}, {"params": [self.network.words.weight], "lr": WORD_RATE * self.settings.lr}]

    @override
    def units(self, example: Example) -> list[Any]:
        return [example]

    @override
    def loss(self, units: Sequence[Example]) -> Tensor:
        goals = torch.tensor([example.goal for example in units], device=self._rows.device)
        return nn.functional.cross_entropy(self._scores(units), goals)

    def choices(self, examples: Sequence[Example]) -> list[int]:
        """The likeliest of none and the events."""
        choices: list[int] = self._scores(examples).argmax(dim=1).tolist()
        return choices

    def _scores(self, examples: Sequence[Example]) -> Tensor:
        """Log-odds of none (0) and of each event, shape (questions, 1 + events)."""
        scores = self.network(stack_questions([example.pairs for example in examples], self._rows))
        return torch.cat([scores.new_zeros(len(examples), 1), scores], dim=1)


class CrossTrainer(ScorerTrainer):
    """Trains the encoder on pairs of question and event, in scope or not: binary cross-entropy, as published.

    Args:
        scorer: The encoder with its linear layer; it is trained in place.
    """

    draws = ("serac", "cross")

    def __init__(self, cases: Sequence[EventCase], vectors: Vectors, settings: Any, scorer: CrossScorer) -> None:
        super().__init__(cases, vectors, settings)
        self.network: CrossScorer = scorer

    def units(self, example: Example) -> list[Any]:
        """Pairs of a question with one event, and whether it is in scope."""
        events = example.pairs.events.tolist()
        return [(example.question, self._texts[event], example.goal == n + 1) for n, event in enumerate(events)]

    @override
    def loss(self, units: Sequence[tuple[str, str, bool]]) -> Tensor:
        questions, events, inside = zip(*units, strict=True)
        scores = self.network(questions, events)
        return nn.functional.binary_cross_entropy_with_logits(scores, torch.tensor(inside).to(scores))

    def choices(self, examples: Sequence[Example]) -> list[int]:
        """The likeliest event, unless its log-odds are below 0."""
        out = []
        for example in examples:
            scores = self.network.scores(example.question, [self._texts[i] for i in example.pairs.events])
            out.append(int(scores.argmax()) + 1 if scores.max() >= 0 else 0)
        return out


def questions_of(case: EventCase) -> list[Question]:
    """All questions of a case, facts first."""
    return [*case.facts, *case.tendencies]


def held_out_keys(cases: Sequence[EventCase], settings: Any) -> set[str]:
    """Keys of the cases that are held out, at least one."""
    order = sorted((case.key for case in cases), key=lambda key: (seed(str(settings.seed), key, "held out"), key))
    return set(order[: max(1, round(settings.held_out * len(order)))])
