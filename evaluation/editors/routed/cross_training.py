"""Training of the cross scorer: pairs of question and event, in scope or not (binary cross-entropy, as published)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import nn

from evaluation.editors.in_context.retrieval import Vectors
from evaluation.editors.routed.cross import CrossScorer
from evaluation.editors.routed.head_training import (
    FEWEST,
    HeadStep,
    Question,
    RoutingAccuracy,
    held_out_keys,
    questions_of,
    train_epochs,
)
from evaluation.editors.routed.pairs import EventMemory
from schemas.cases import EventCase
from schemas.core.errors import UserError
from schemas.core.ids import seed

PASSING = 0.0  # log-odds from which an event passes: a probability of one half


class CrossSettings(NamedTuple):
    """The options of training; see ``evaluation.editors.routed.serac``."""

    epochs: int
    lr: float
    weight_decay: float
    batch: int
    near: int
    far: int
    held_out: float
    shortlist: int
    seed: int


class TrainedCross(NamedTuple):
    """The scorer with the best held-out accuracy, that accuracy, the epoch, seconds in all."""

    network: CrossScorer
    held_out: RoutingAccuracy
    step: int
    seconds: float


class _Pair(NamedTuple):
    question: str
    event: str
    inside: bool


class _HeldOut(NamedTuple):
    """A question that is kept aside: the events looked at, the number of its own (None: it belongs to none)."""

    question: str
    events: list[int]
    goal: int | None
    kind: int


class CrossTrainer:
    """Trains one scorer. What it draws depends on the seed and the keys of events and questions alone.

    Args:
        cases: Events with questions; some events are kept aside.
        vectors: Finds the events nearest to a question, frozen.
        scorer: The encoder with its linear layer; it is trained in place.
        settings: The options. ``batch``: pairs a step.

    Raises:
        UserError: too few events, or no question in scope.
    """

    def __init__(
        self, cases: Sequence[EventCase], vectors: Vectors, scorer: CrossScorer, settings: CrossSettings
    ) -> None:
        self.settings, self.network = settings, scorer
        if len(cases) < FEWEST:
            raise UserError(
                f"{len(cases)} events are too few to learn from", where="serac", allowed=f"{FEWEST} or more"
            )
        held = held_out_keys(cases, settings)
        cases = sorted(cases, key=lambda case: (case.key in held, case.key))
        learnt = [case for case in cases if case.key not in held]
        self._texts = [case.event.text for case in cases]
        memory = EventMemory(self._texts[: len(learnt)], vectors)
        self._train = [pair for n, case in enumerate(learnt) for pair in self._pairs(n, case, memory)]
        if not any(pair.inside for pair in self._train):
            raise UserError("no question is in scope of its event: there is nothing to learn", where="serac")
        whole = EventMemory(self._texts, vectors)
        beside = [(n, case) for n, case in enumerate(cases) if case.key in held]
        self._held = [x for n, case in beside for x in self._held_out(n, case, whole)]

    def run(self, on_step: Callable[[HeadStep], None] | None = None, minutes: float | None = None) -> TrainedCross:
        """Train to the end, or until the minutes are over.

        Args:
            on_step: Called after every epoch.
            minutes: End after so many, within an epoch too.
        """
        p, begun = self.settings, time.perf_counter()
        ends = None if minutes is None else begun + 60 * minutes
        optimiser = torch.optim.AdamW(self.network.parameters(), lr=p.lr, weight_decay=p.weight_decay)
        accuracy, epoch = train_epochs(
            self.network,
            p.epochs,
            lambda epoch: self._epoch(epoch, optimiser, ends),
            self._measure,
            begun=begun,
            ends=ends,
            on_step=on_step,
        )
        return TrainedCross(self.network, accuracy, epoch, time.perf_counter() - begun)

    def _pairs(self, number: int, case: EventCase, memory: EventMemory) -> list[_Pair]:
        """Every question of a case beside its own event, near ones and drawn ones."""
        p, out = self.settings, []
        for question in questions_of(case):
            draw = random.Random(seed(str(p.seed), case.key, question.key, "negatives"))
            far = [draw.randrange(len(memory.rows)) for _ in range(p.far)]
            near = memory.nearest(question.text, size=p.near)
            for event in dict.fromkeys([number, *far, *near]):
                out.append(_Pair(question.text, self._texts[event], question.scope == "in" and event == number))
        return out

    def _held_out(self, number: int, case: EventCase, memory: EventMemory) -> list[_HeldOut]:
        """The questions of a case that is kept aside, each beside the events that are looked at."""
        asked: tuple[Sequence[Question], ...] = (case.facts, case.tendencies)
        return [
            _HeldOut(
                question.text,
                memory.nearest(question.text, size=self.settings.shortlist),
                number if question.scope == "in" else None,
                kind,
            )
            for kind, questions in enumerate(asked)
            for question in questions
        ]

    def _epoch(self, epoch: int, optimiser: torch.optim.Optimizer, ends: float | None) -> float:
        """One pass over the pairs in an order of its own; the mean loss."""
        p, total, seen = self.settings, 0.0, 0
        draw = seed(str(p.seed), "serac", "cross", str(epoch))
        order = torch.randperm(len(self._train), generator=torch.Generator().manual_seed(draw)).tolist()
        self.network.train()
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.manual_seed(draw)
            for start in range(0, len(order), p.batch):
                if seen and ends is not None and time.perf_counter() > ends:
                    break
                pairs = [self._train[i] for i in order[start : start + p.batch]]
                scores = self.network([x.question for x in pairs], [x.event for x in pairs])
                goals = torch.tensor([float(x.inside) for x in pairs]).to(scores)
                loss = nn.functional.binary_cross_entropy_with_logits(scores, goals)
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                total, seen = total + float(loss.detach()) * len(pairs), seen + len(pairs)
        return total / seen

    def _measure(self) -> RoutingAccuracy:
        """Held-out accuracy: an event passes where its probability is one half or more."""
        self.network.eval()
        right: list[list[bool]] = [[], []]
        for one in self._held:
            scores = self.network.scores(one.question, [self._texts[i] for i in one.events])
            place = int(scores.argmax())
            right[one.kind].append((one.events[place] if scores[place] >= PASSING else None) == one.goal)
        return RoutingAccuracy(*(sum(row) / len(row) if row else None for row in right))
