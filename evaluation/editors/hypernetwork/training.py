"""Training of the networks of MEND and its kin: follow the edit, leave the rest; resumed after a kill."""

from __future__ import annotations

import io
import logging
import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from curation.files.atomic import write_bytes
from evaluation.editors.hypernetwork.gradients import (
    ALL,
    LowerLayerStates,
    apply_changes,
    gradients,
    map_shapes,
)
from evaluation.editors.hypernetwork.network import EditNetworks, GradientPairs, WeightChange
from evaluation.editors.hypernetwork.training_cases import TrainingCase
from evaluation.editors.target_texts import TargetBatch, TargetText
from evaluation.models.language_model import LM
from schemas.core.errors import DataError, UserError
from schemas.core.ids import canonical_json, seed

log = logging.getLogger(__name__)

ROWS = 64  # rows of one pass over training edits
Texts = list[tuple[int, TargetText]]
"""Texts, each with the place of its edit in the step."""


class TrainingTask(NamedTuple):
    """What a network is trained on.

    Attributes:
        maps: Names of the modules of the edited linear maps, those of the lowest layer first.
        cases: What to learn.
        shared: Whether texts that must stay serve all cases by turns; else each case has its own alone.
        rows: Rows of one pass over training edits.
        joint: Whether the edits of a step make one change together; else each makes its own.
        answers: Whether only tokens after which a goal is predicted count in the edits' gradients.
        clip: Largest norm of a step's gradient.
    """

    maps: Sequence[str]
    cases: Sequence[TrainingCase]
    shared: bool = True
    rows: int = ROWS
    joint: bool = False
    answers: bool = False
    clip: float | None = None


class Losses(NamedTuple):
    """Mean NLL (nats a token) of what must follow the edits, and mean divergence (nats a token) of what must stay."""

    follow: float
    stay: float


class TrainingStep(NamedTuple):
    """Progress: steps done, of how many, losses on training and on held-out cases (None between reports), seconds."""

    done: int
    of: int
    now: Losses
    held_out: Losses | None
    seconds: float
    left: float


class TrainingResult(NamedTuple):
    """The network with the least held-out loss, that loss, the step it was found at, seconds of training in all."""

    network: EditNetworks
    held_out: Losses
    step: int
    seconds: float


class Trainer:
    """Trains one network. All that it draws depends on the seed and the step, so a resumed training is the same one.

    Args:
        lm: The model, unedited; its weights never change.
        task: What to learn; ``settings.held_out`` of its cases are kept aside to choose the best step.
        settings: The options of training, as in ``evaluation.editors.hypernetwork.mend``, with layers.
        state: File that keeps the training on its way.
        identity: All that the training depends on; a state of another identity is refused.
        on_step: Called at every report.
        minutes: End after so many of training, those before a resumption counted, with the best of the reports so far;
            one report is waited for.
    """

    def __init__(
        self,
        lm: LM,
        task: TrainingTask,
        settings: Any,
        *,
        state: Path,
        identity: dict[str, Any],
        on_step: Callable[[TrainingStep], None] | None = None,
        minutes: float | None = None,
    ) -> None:
        self.lm, self.settings, self._state, self._minutes = lm, settings, state, minutes
        self._identity, self._on_step = canonical_json(identity), on_step or (lambda step: None)
        self._task, cases = task, task.cases
        held = max(1, min(settings.held_out, len(cases) // 4))
        order = torch.randperm(len(cases), generator=torch.Generator().manual_seed(settings.seed)).tolist()
        self.held, self.train = [cases[i] for i in order[:held]], [cases[i] for i in order[held:]]
        self._below = LowerLayerStates(lm, min(settings.layers))
        self._pool = [one for case in self.train for one in case.locality] or [x for one in cases for x in one.locality]
        self.network = EditNetworks(
            map_shapes(lm, task.maps),
            rank=settings.rank,
            step=settings.step_size,
            seed=seed(str(settings.seed), "mend", "network"),
            joint=task.joint,
        )

    def run(self) -> TrainingResult:
        """Train to the end, from where an earlier call was stopped."""
        p = self.settings
        begun = time.perf_counter()
        pairs = self._pairs(self.train)
        for at in range(len(self._task.maps)):
            self.network.fit(at, [one[at] for one in pairs])
        held = self._pairs(self.held)
        network = self.network.to(self.lm.device)
        named = list(network.named_parameters())
        rest = [w for name, w in named if not name.endswith("log_step")]
        sizes = [w for name, w in named if name.endswith("log_step")]
        groups: list[dict[str, Any]] = [{"params": rest}, {"params": sizes, "lr": p.step_lr}]
        optimiser = torch.optim.Adam(groups, lr=p.lr)
        done, best, spent = self._resume(optimiser)
        for step in range(done, p.steps):
            if best is not None and self._minutes and spent + time.perf_counter() - begun > 60 * self._minutes:
                break
            losses = self._step(step, pairs, optimiser)
            if (step + 1) % p.report_every and step + 1 != p.steps:
                continue
            held_losses = self._measure(held)
            if best is None or _total_loss(held_losses, p) < _total_loss(best[0], p):
                best = (held_losses, step + 1, {k: v.detach().clone() for k, v in network.state_dict().items()})
            seconds = spent + time.perf_counter() - begun
            self._save(optimiser, step + 1, best, seconds)
            pace = (time.perf_counter() - begun) / (step + 1 - done)
            self._on_step(TrainingStep(step + 1, p.steps, losses, held_losses, seconds, pace * (p.steps - step - 1)))
        assert best is not None
        network.load_state_dict(best[2])
        return TrainingResult(network, best[0], best[1], spent + time.perf_counter() - begun)

    def _pairs(self, cases: Sequence[TrainingCase]) -> list[list[GradientPairs]]:
        """Vectors u and δ of every case's edit by map: constants of the training, one row each."""
        out: list[list[GradientPairs]] = []
        maps, rows = self._task.maps, self._task.rows
        for start in range(0, len(cases), rows):
            chunk = [one.edit for one in cases[start : start + rows]]
            by_map = gradients(maps, self._below.batch(chunk), answers=self._task.answers)
            for i in range(len(chunk)):
                out.append([GradientPairs(*(x[i : i + 1].cpu() for x in by_map[name])) for name in maps])
        return out

    def _changes(self, pairs: Sequence[Sequence[GradientPairs]]) -> dict[str, WeightChange]:
        """The change of every map, one a row of an edit; one alone where edits are made together."""
        make = self.network.together if self._task.joint else self.network
        changes = {}
        for at, name in enumerate(self._task.maps):
            longest = max(one[at].real.shape[1] for one in pairs)
            stacked = [torch.cat(parts) for parts in zip(*(_rows(one[at], longest) for one in pairs), strict=True)]
            changes[name] = make(at, GradientPairs(*(x.to(self.lm.device) for x in stacked)))
        return changes

    def _step(self, step: int, pairs: list[list[GradientPairs]], optimiser: torch.optim.Optimizer) -> Losses:
        p = self.settings
        draw = self._draw(step)
        chosen = torch.randperm(len(self.train), generator=draw)[: p.edits].tolist()
        follow, stay = self._texts(chosen, draw)
        with torch.enable_grad():
            a, b = self._losses(self._changes([pairs[i] for i in chosen]), follow, stay)
            optimiser.zero_grad()
            (p.edit_weight * a + b).backward()  # type: ignore[no-untyped-call]
        self._update(optimiser)
        return Losses(float(a.detach()), float(b.detach()))

    def _draw(self, step: int) -> torch.Generator:
        return torch.Generator().manual_seed(seed(str(self.settings.seed), "mend", str(step)))

    def _update(self, optimiser: torch.optim.Optimizer) -> None:
        if self._task.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self._task.clip)
        optimiser.step()

    def _texts(self, chosen: Sequence[int], draw: torch.Generator) -> tuple[Texts, Texts]:
        """Texts that must follow the edits of training cases, and texts that must stay, each with its edit's place."""
        p = self.settings

        def pick(n: int) -> int:
            return int(torch.randint(n, (1,), generator=draw))

        follow: Texts = []
        stay: Texts = []
        for e, i in enumerate(chosen):
            case = self.train[i]
            texts = case.paraphrases
            paraphrases = texts if p.equal == "all" else [texts[pick(len(texts))] for _ in range(p.equal)]
            follow += [(e, one) for one in paraphrases]
            for n in range(p.kept):  # its own neighbours and, where they serve all, those of others by turns
                own_neighbours = case.locality and (n % 2 == 0 or not self._task.shared)
                prompts = case.locality if own_neighbours else self._pool
                stay.append((e, prompts[pick(len(prompts))]))
        return follow, stay

    def _losses(
        self,
        changes: Mapping[str, WeightChange],
        follow: Texts,
        stay: Texts,
        earlier: Mapping[str, WeightChange] | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Mean NLL of what must follow, and divergence of what must stay from what it was under earlier changes."""
        lm = self.lm
        same, of_same = self._batch(follow)
        rest, of_rest = self._batch(stay)
        with torch.no_grad(), apply_changes(lm, earlier or {}, ALL):
            before = rest.log_probs()
        with apply_changes(lm, changes, of_rest):
            after = rest.log_probs()
        divergence = rest.means((before.exp() * (before - after)).sum(-1))
        with apply_changes(lm, changes, of_same):
            learnt = same.nll()
        return learnt.mean(), divergence.mean()

    def _batch(self, rows: Texts) -> tuple[TargetBatch, Tensor]:
        edit_of = ALL if self._task.joint else torch.tensor([e for e, _ in rows])
        return self._below.batch([one for _, one in rows]), edit_of

    @torch.no_grad()
    def _measure(self, pairs: list[list[GradientPairs]]) -> Losses:
        """Losses on all that the held-out cases hold (their neighbours, or the first of the training's)."""
        sums, count = [0.0, 0.0], 0
        for start in range(0, len(self.held), self.settings.edits):
            part = self.held[start : start + self.settings.edits]
            follow = [(e, one) for e, case in enumerate(part) for one in case.paraphrases]
            stay = [(e, one) for e, case in enumerate(part) for one in (case.locality or self._pool)[:3]]
            chunk_losses = self._losses(self._changes(pairs[start : start + len(part)]), follow, stay)
            sums = [s + float(x) * len(part) for s, x in zip(sums, chunk_losses, strict=True)]
            count += len(part)
        return Losses(sums[0] / count, sums[1] / count)

    # --- the state on disc --------------------------------------------------------------------------------------------

    def _save(self, optimiser: torch.optim.Optimizer, step: int, best: Any, seconds: float) -> None:
        state = {
            "identity": self._identity,
            "network": self.network.state_dict(),
            "optimiser": optimiser.state_dict(),
            "step": step,
            "best": [tuple(best[0]), *best[1:]],
            "seconds": seconds,
        }
        content = io.BytesIO()
        torch.save(state, content)
        write_bytes(self._state, content.getvalue())

    def _resume(self, optimiser: torch.optim.Optimizer) -> tuple[int, Any, float]:
        """Steps done, the best so far, seconds spent."""
        if not self._state.exists():
            return 0, None, 0.0
        try:
            state = torch.load(self._state, map_location="cpu", weights_only=True)
        except (OSError, RuntimeError, ValueError, EOFError, pickle.UnpicklingError):
            raise DataError(
                "the unfinished training cannot be read: the file is cut off or damaged",
                where=str(self._state),
                fix="remove it: the training begins anew",
            ) from None
        if state.get("identity") != self._identity:
            raise UserError(
                "an unfinished training with other settings, data or another model is kept here",
                where=str(self._state),
                fix="remove it, or name another --out",
            )
        self.network.load_state_dict(state["network"])
        optimiser.load_state_dict(state["optimiser"])
        log.info("going on with the training at step %d", state["step"])
        losses, best_step, best = state["best"]
        return state["step"], (Losses(*losses), best_step, best), state["seconds"]


def _total_loss(losses: Losses, p: Any) -> float:
    return float(p.edit_weight) * losses.follow + losses.stay


def _rows(pairs: GradientPairs, longest: int) -> GradientPairs:
    """Pairs padded or cut to so many tokens; only padding is cut."""
    pad = longest - pairs.real.shape[1]
    f = torch.nn.functional.pad
    return GradientPairs(f(pairs.u, (0, 0, 0, pad)), f(pairs.delta, (0, 0, 0, pad)), f(pairs.real, (0, pad)))
