"""One edit learnt by a side memory, against a copy of the weight trained by the formula, prompt after prompt."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from evaluation.editors.layer_memory.side_training import SideSettings, SideTraining
from evaluation.models.language_model import LM
from evaluation.models.layout import is_transposed
from schemas.core.errors import UserError
from tests.support.editors.edit_requests import PERU
from tests.support.tiny import make

CONTEXTS, OTHER = ("{}", "So it is. {}", "It was in the north that {}"), "Step 1: Pack"
SETTINGS = SideSettings(6, 0.2, 0.3, alpha=0.05, beta=2.0, gamma=1.0, activation="silu")


def plain(lm: LM, part: torch.Tensor, settings: SideSettings) -> torch.Tensor:
    """The paper's loss with whole passes, one prompt at a time; the side memory is a parameter of the map's size."""
    module = lm.projection(1)
    weight = module.weight.detach()
    old = (weight.T if is_transposed(module) else weight).clone()
    new = old.clone().requires_grad_()
    scope: list[torch.Tensor] = []

    def side(_: object, args: tuple[torch.Tensor, ...], out: torch.Tensor) -> torch.Tensor:
        moved = functional.linear(args[0], new, module.bias)
        scope.append((functional.silu(moved) - functional.silu(out)).norm(dim=-1)[0])
        return moved

    for _ in range(settings.steps):
        losses, inside = [], []
        handle = module.register_forward_hook(side)
        for context in CONTEXTS:
            text = lm.encode(context.replace("{}", PERU.fact_prompt), PERU.new_object.text)
            log_probs = lm.model(torch.tensor([text.ids])).logits[0].log_softmax(-1)
            picked = [log_probs[n - 1, text.ids[n]] for n in range(text.first, len(text.ids))]
            losses.append(-torch.stack(picked).mean())
            inside.append(scope[-1][: text.first].mean())
        lm.model(torch.tensor([lm.token_ids(OTHER)]))
        outside = scope[-1].mean()
        handle.remove()
        loss = torch.stack(losses).mean()
        for margins in (
            [outside - d + settings.gamma for d in inside],
            [outside - settings.alpha],
            [settings.beta - d for d in inside],
        ):
            if above := [m for m in margins if m > 0]:
                loss = loss + torch.stack(above).mean()
        (slope,) = torch.autograd.grad(loss, new)
        with torch.no_grad():
            new -= settings.lr * slope * part
            new.copy_(torch.clamp(new, min=old - settings.bound, max=old + settings.bound))
    return (new - old).detach()


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_it_is_the_formula(kind: str) -> None:
    lm = make(kind)
    part = (torch.rand(lm.layout.width, lm.layout.inner, generator=torch.Generator().manual_seed(1)) < 0.5).float()
    digest = lm.weights_digest()
    training = SideTraining(lm, 1, lm.projection(1), PERU, CONTEXTS, OTHER, SETTINGS)
    got, outcome = training.run(None, part)
    want = plain(lm, part, SETTINGS)
    assert (got - want).norm() < 1e-3 * want.norm() and outcome.steps == 6
    assert lm.weights_digest() == digest
    begun, _ = training.run(got, part)
    longer, _ = SideTraining(lm, 1, lm.projection(1), PERU, CONTEXTS, OTHER, SETTINGS._replace(steps=12)).run(
        None, part
    )
    assert torch.allclose(begun, longer, atol=1e-5), "a memory goes on from where it was"


def test_a_loss_that_settled_high_ends_nothing() -> None:
    lm = make("llama")
    part = torch.zeros(lm.layout.width, lm.layout.inner)
    easy = SETTINGS._replace(alpha=5.0, beta=0.0, gamma=0.0, steps=9)
    training = SideTraining(lm, 1, lm.projection(1), PERU, CONTEXTS, OTHER, easy)
    assert training.run(None, part)[1].steps == 9, "settled, but the object is not likely"


def test_a_prompt_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(UserError, match="cannot be read"):
        SideTraining(make("llama"), 1, make("llama").projection(1), PERU, CONTEXTS, "", SETTINGS)
