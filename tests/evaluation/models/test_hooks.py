"""A pass that stops where it is told."""

from __future__ import annotations

from evaluation.inference.passes import logits_at
from evaluation.models.hooks import capture, stopping_after
from tests.support.tiny import make


def test_stop_ends_the_pass_and_a_pass_that_never_reaches_it_ends_too() -> None:
    lm = make("llama")
    ids, mask = lm.pad([[5, 6, 7]])
    with capture(lm.block(2)) as later:
        lm.run_to(lm.block(1), ids, mask)
        assert not hasattr(later, "output")
        with stopping_after(lm.block(0)):
            pass
        logits_at(lm, ids, mask, [0], [2])
        assert later.output.shape == (1, 3, 32)
