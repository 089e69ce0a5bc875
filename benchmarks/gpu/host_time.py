"""What the host does for a case when the model's passes cost nothing: tokens, trees, tensors, answers.

Run: python -m benchmarks.gpu.host_time CASES; the result is kept in benchmarks/results/host_time.json

On a GPU the host prepares passes and launches them; what it needs for that bounds how busy the GPU can be. Here the
decoder, its head and the softmax are replaced by ready zeros, and each case has its own 12 script prompts with two
targets and its own rank-one edit. ``each_anew`` tokenises every prompt with every target by itself, as a run of one
method would without a memory; ``first_method`` fills the memory in batches; ``further_method`` finds all of it there.
``tokenizer_alone`` is the tokenizer's own work on each prompt with each target, in one batch and with nothing read of
it; the memory asks for less, since a prompt with several targets is tokenised once.
"""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import torch

if TYPE_CHECKING:
    from evaluation.inference.request import EditedProbes
    from evaluation.models.language_model import LM

CASES, ROUNDS, LAYER = 64, 3, 5


def main(cases: int = CASES) -> dict[str, Any]:
    """Milliseconds a case, of the processor and of the clock, the least of some rounds that take turns."""
    from evaluation.inference.batched_scoring import EditScorer
    from evaluation.inference.batching import TokenBudget
    from evaluation.models.language_model import LM
    from evaluation.models.tokens.encoding_memory import EncodingMemory
    from schemas.probes import ScoreProbe

    lm = LM.load("embedded", device="cpu")
    work = _work(lm, cases)
    scorer = EditScorer(lm, budget=TokenBudget(8192))
    seconds: dict[str, list[tuple[float, float]]] = {"each_anew": [], "first_method": [], "further_method": []}
    with _passes_of_no_cost(lm):
        scorer.score(work[:1])
        for _ in range(ROUNDS):
            lm.encodings = _OneByOne(lm.tokenizer)  # type: ignore[assignment]
            seconds["each_anew"].append(_spent(lambda: scorer.score(work)))
            lm.encodings = EncodingMemory(lm.tokenizer)
            seconds["first_method"].append(_spent(lambda: scorer.score(work)))
            seconds["further_method"].append(_spent(lambda: scorer.score(work)))
    texts = [
        p.prompt + p.separator + t for one in work for p in one.probes if isinstance(p, ScoreProbe) for t in p.targets
    ]
    batch = lm.tokenizer.backend_tokenizer.encode_batch
    seconds["tokenizer_alone"] = [_spent(lambda: batch(texts)) for _ in range(ROUNDS)]
    processor, clock = (
        {name: round(1e3 * min(one[k] for one in values) / cases, 2) for name, values in seconds.items()}
        for k in range(2)
    )
    lengths = [len(lm.tokenizer(probe.prompt)["input_ids"]) for one in work for probe in one.probes]
    return {
        "what": f"{cases} cases of 12 script prompts with two targets, a rank-one edit each; passes cost nothing",
        "prompt_tokens_mean": round(sum(lengths) / len(lengths), 1),
        "threads": torch.get_num_threads(),
        "cpu_ms_a_case": processor,
        "clock_ms_a_case": clock,
        "each_anew_against_further_method": round(processor["each_anew"] / processor["further_method"], 1),
        "notes": f"processor: of all threads, the tokenizer has one a core; least of {ROUNDS} rounds that take turns",
    }


def _spent(call: Any) -> tuple[float, float]:
    """Seconds of the processor and of the clock."""
    begun = time.process_time(), time.perf_counter()
    call()
    return time.process_time() - begun[0], time.perf_counter() - begun[1]


class _OneByOne:
    """The plain way: every prompt with every target by itself, nothing remembered."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def add(self, wanted: Any) -> None:
        for _ in wanted:
            pass

    def encode(self, prompt: str, target: str, *, separator: str = " ") -> Any:
        from evaluation.models.tokens.tokenization import encode_target

        return encode_target(self._tokenizer, prompt, target, separator=separator)


def _passes_of_no_cost(lm: LM) -> Any:
    """The decoder, its head and the softmax give zeros of the right shapes that take no memory."""
    from contextlib import ExitStack

    base, head = lm.module(lm.layout.base), lm.module(lm.layout.head)
    width, vocabulary = lm.layout.width, len(lm.model.get_input_embeddings().weight)
    zero = torch.zeros(())

    def decoder(*, input_ids: torch.Tensor, **_: Any) -> Any:
        return SimpleNamespace(last_hidden_state=zero.expand(*input_ids.shape, width))

    stack = ExitStack()
    stack.enter_context(patch.object(base, "forward", decoder))
    stack.enter_context(patch.object(head, "forward", lambda picked: zero.expand(len(picked), vocabulary)))
    stack.enter_context(patch.object(torch, "log_softmax", lambda logits, dim: logits))
    return stack


def _work(lm: LM, cases: int) -> list[EditedProbes]:
    from benchmarks.support.workload import script_cases
    from evaluation.edits.weight_deltas import LowRankDelta
    from evaluation.inference.request import EditedProbes

    generator, out = torch.Generator().manual_seed(0), []
    for n, case_probes in enumerate(script_cases(lm, cases)):
        left, right = (torch.randn(size, 1, generator=generator) for size in (lm.layout.width, lm.layout.inner))
        delta = LowRankDelta(lm.layout.weight(LAYER), left, right)
        probes = [
            p.model_copy(update={"prompt": f"{n}. {p.prompt}"}) for p in case_probes
        ]  # no case has another's prompts
        out.append(EditedProbes([delta], None, probes))
    return out


if __name__ == "__main__":
    from benchmarks.run import write

    write("host_time", main(*map(int, sys.argv[1:])))
