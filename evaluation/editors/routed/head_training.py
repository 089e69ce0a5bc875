"""Training of the scope head: of several events, which one does a question belong to, or to none of them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from evaluation.editors.in_context.retrieval import Vectors
from evaluation.editors.routed.head import ScopeHead, stack_questions
from evaluation.editors.routed.pairs import EventMemory, Pairs
from schemas.cases import EventCase
from schemas.core.errors import UserError
from schemas.core.ids import seed
from schemas.events.questions import FactQuestion, TendencyQuestion

KINDS = ("facts", "tendencies")
WORD_RATE = 20  # words are met seldom: their weights move so many times as fast
Question = FactQuestion | TendencyQuestion
MISSED = -1  # place of an event that is not among those looked at
FEWEST = 4  # events that anything can be learnt from


class HeadSettings(NamedTuple):
    """The options of training; see ``evaluation.editors.routed.serac``."""

    hidden: int
    dropout: float
    epochs: int
    lr: float
    weight_decay: float
    batch: int
    near: int
    far: int
    held_out: float
    shortlist: int
    names_apart: bool
    seed: int


class SplitSettings(Protocol):
    """What decides which cases are kept aside."""

    @property
    def held_out(self) -> float:
        """Share of the cases."""
        ...

    @property
    def seed(self) -> int:
        """Of the draw."""
        ...


class RoutingAccuracy(NamedTuple):
    """Share of held-out questions that were sent where they belong; None where there are no such questions."""

    facts: float | None
    tendencies: float | None

    @property
    def mean(self) -> float:
        """Mean over the kinds that there are."""
        known = [value for value in self if value is not None]
        return sum(known) / len(known) if known else 0.0


class HeadStep(NamedTuple):
    """Progress: epochs done, of how many, loss (nats a question), held-out accuracy, seconds spent, seconds left."""

    done: int
    of: int
    loss: float
    held_out: RoutingAccuracy
    seconds: float
    left: float

    @property
    def held_out_is(self) -> str:
        """What ``held_out`` holds, in words."""
        return "held-out accuracy"


class TrainedHead(NamedTuple):
    """The head with the best held-out accuracy, that accuracy, the epoch, seconds in all."""

    network: ScopeHead
    held_out: RoutingAccuracy
    step: int
    seconds: float


class _Lesson(NamedTuple):
    """A question: beside which events, where it belongs (0: none, else the place behind it), and its kind."""

    pairs: Pairs
    goal: int
    kind: int


def train_epochs(
    network: nn.Module,
    epochs: int,
    learn: Callable[[int], float],
    measure: Callable[[], RoutingAccuracy],
    *,
    begun: float,
    ends: float | None,
    on_step: Callable[[HeadStep], None] | None,
) -> tuple[RoutingAccuracy, int]:
    """Train epoch by epoch and leave the network, for good, as it was after the best one.

    Args:
        network: What is trained.
        epochs: At most.
        learn: Trains the epoch of this number, from 0, and gives its mean loss.
        measure: Accuracy on the questions held out, after an epoch.
        begun: When the training began, as ``time.perf_counter`` says.
        ends: No further epoch begins after it; the first always does. None: all are trained.
        on_step: Called after every epoch.

    Returns:
        The best accuracy, and the number of its epoch, from 1.
    """
    best: tuple[RoutingAccuracy, int, dict[str, Tensor]] | None = None
    for epoch in range(epochs):
        if best is not None and ends is not None and time.perf_counter() > ends:
            break
        loss, accuracy = learn(epoch), measure()
        if best is None or accuracy.mean > best[0].mean:
            weights = {name: value.detach().clone() for name, value in network.state_dict().items()}
            best = (accuracy, epoch + 1, weights)
        spent = time.perf_counter() - begun
        if on_step is not None:
            left = spent / (epoch + 1) * (epochs - epoch - 1)
            on_step(HeadStep(epoch + 1, epochs, loss, accuracy, spent, left))
    assert best is not None
    network.load_state_dict(best[2])
    network.eval().requires_grad_(False)
    return best[0], best[1]


class HeadTrainer:
    """Trains one head. What it draws depends on the seed and the keys of events and questions alone.

    Args:
        cases: Events with questions; some events are kept aside.
        vectors: The encoder, frozen.
        settings: The options.
        device: Where the head computes.
        dtype: In which precision.

    Raises:
        UserError: too few events, or no question in scope.
    """

    def __init__(
        self,
        cases: Sequence[EventCase],
        vectors: Vectors,
        settings: HeadSettings,
        *,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.settings = settings
        if len(cases) < FEWEST:
            raise UserError(
                f"{len(cases)} events are too few to learn from", where="serac", allowed=f"{FEWEST} or more"
            )
        held = held_out_keys(cases, settings)
        cases = sorted(cases, key=lambda case: (case.key in held, case.key))  # those to learn from stand first
        learnt = [case for case in cases if case.key not in held]
        vectors.of([text for case in cases for text in (case.event.text, *(q.text for q in questions_of(case)))])
        memory, whole = (
            EventMemory([c.event.text for c in some], vectors, names_apart=settings.names_apart)
            for some in (learnt, cases)
        )
        self._rows = torch.from_numpy(whole.rows).to(device, dtype)
        self._train = [x for n, case in enumerate(learnt) for x in self._lessons(n, case, memory, train=True)]
        beside = [(n, case) for n, case in enumerate(cases) if case.key in held]
        self._held = [x for n, case in beside for x in self._lessons(n, case, whole, train=False)]
        if not any(lesson.goal for lesson in self._train):
            raise UserError("no question is in scope of its event: there is nothing to learn", where="serac")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed(str(settings.seed), "serac", "head"))
            self.network = ScopeHead(whole.rows.shape[1], settings.hidden, dropout=settings.dropout).to(device, dtype)

    def run(self, on_step: Callable[[HeadStep], None] | None = None, minutes: float | None = None) -> TrainedHead:
        """Train to the end, or until the minutes are over.

        Args:
            on_step: Called after every epoch.
            minutes: End after so many; one epoch is waited for.
        """
        p, begun = self.settings, time.perf_counter()
        rest = [w for name, w in self.network.named_parameters() if not name.startswith("words.")]
        worded: dict[str, Any] = {"params": [self.network.words.weight], "lr": WORD_RATE * p.lr}
        optimiser = torch.optim.AdamW([{"params": rest}, worded], lr=p.lr, weight_decay=p.weight_decay)
        accuracy, epoch = train_epochs(
            self.network,
            p.epochs,
            lambda epoch: self._epoch(epoch, optimiser),
            self._measure,
            begun=begun,
            ends=begun + 60 * minutes if minutes else None,
            on_step=on_step,
        )
        return TrainedHead(self.network, accuracy, epoch, time.perf_counter() - begun)

    def _lessons(self, number: int, case: EventCase, memory: EventMemory, *, train: bool) -> list[_Lesson]:
        """The questions of one case: beside near events and, in training, its own and some drawn ones."""
        p, out = self.settings, []
        asked: tuple[Sequence[Question], ...] = (case.facts, case.tendencies)
        for kind, questions in enumerate(asked):
            for question in questions:
                draw = random.Random(seed(str(p.seed), case.key, question.key, "negatives"))
                far = [draw.randrange(len(memory.rows)) for _ in range(p.far)]
                size, also = (p.near, [number, *far]) if train else (p.shortlist, [])
                pairs = memory.pairs(question.text, size=size, also=also)
                places = pairs.events.tolist()
                inside = question.scope == "in"
                missed = inside and number not in places  # held out, and its event is not even looked at
                out.append(_Lesson(pairs, MISSED if missed else places.index(number) + 1 if inside else 0, kind))
        return out

    def _epoch(self, epoch: int, optimiser: torch.optim.Optimizer) -> float:
        """One pass over the questions in an order of its own; the mean loss."""
        p, total = self.settings, 0.0
        draw = seed(str(p.seed), "serac", str(epoch))
        order = torch.randperm(len(self._train), generator=torch.Generator().manual_seed(draw)).tolist()
        self.network.train()
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.manual_seed(draw)
            for start in range(0, len(order), p.batch):
                lessons = [self._train[i] for i in order[start : start + p.batch]]
                goals = torch.tensor([lesson.goal for lesson in lessons], device=self._rows.device)
                loss = nn.functional.cross_entropy(self._scores(lessons), goals)
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                total += float(loss.detach()) * len(lessons)
        return total / len(order)

    def _scores(self, lessons: Sequence[_Lesson]) -> Tensor:
        """Log-odds of none (0) and of each event, shape (questions, 1 + events)."""
        pairs = stack_questions([lesson.pairs for lesson in lessons], self._rows)
        scores = self.network(pairs)
        return torch.cat([scores.new_zeros(len(lessons), 1), scores], dim=1)

    @torch.no_grad()
    def _measure(self) -> RoutingAccuracy:
        """Held-out accuracy: an event passes where it is likelier than none, a probability of one half."""
        self.network.eval()
        right: list[list[bool]] = [[], []]
        for start in range(0, len(self._held), self.settings.batch):
            lessons = self._held[start : start + self.settings.batch]
            for lesson, place in zip(lessons, self._scores(lessons).argmax(dim=1).tolist(), strict=True):
                right[lesson.kind].append(lesson.goal == place)
        return RoutingAccuracy(*(sum(row) / len(row) if row else None for row in right))


def questions_of(case: EventCase) -> list[Question]:
    """All questions of a case, facts first."""
    return [*case.facts, *case.tendencies]


def held_out_keys(cases: Sequence[EventCase], settings: SplitSettings) -> set[str]:
    """Keys of the cases that are kept aside, at least one."""
    order = sorted((case.key for case in cases), key=lambda key: (seed(str(settings.seed), key, "held out"), key))
    return set(order[: max(1, round(settings.held_out * len(order)))])
