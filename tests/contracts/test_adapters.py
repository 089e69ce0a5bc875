"""Every method's edit as an adapter: PEFT reads it as the edit itself, or it is refused with a sentence."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
from torch import Tensor

from evaluation.edits.weight_deltas import LowRankDelta
from evaluation.inference.generation import PromptToContinue, Sampling, generate
from evaluation.models.language_model import LM
from evaluation.saved_edits.peft_adapter import write_adapter
from schemas.core.errors import UserError
from tests.contracts.test_editors import editor, every, requests_of
from tests.support.tiny import make

peft = pytest.importorskip("peft")

EXACT = {"rome", "r_rome", "memit", "emmet", "alphaedit", "anyedit", "lora", "boost", "mend", "mend_doc", "ultraedit"}
"""As the page on saved edits lists them."""

TEXTS = ["The capital of Peru is", "The capital of Norway is", "Peru is a country. Step 1: Fly to"]


@torch.no_grad()
def log_probs(model: torch.nn.Module, lm: LM) -> Tensor:
    """Log-probabilities after every token of the texts, [tokens, vocabulary]."""
    ids, mask = lm.pad([lm.tokenizer(text)["input_ids"] for text in TEXTS])
    out: Tensor = model(input_ids=ids, attention_mask=mask).logits[mask.bool()].float().log_softmax(-1)
    return out


@every
def test_peft_reads_the_edit_or_it_is_refused(method: str, tmp_path: Path) -> None:
    lm = make("llama", max_position_embeddings=512)
    (tmp_path / "method").mkdir()
    edit = editor(method, lm, tmp_path / "method").edit(requests_of(method)[:2])
    low = bool(edit.deltas) and all(isinstance(delta, LowRankDelta) for delta in edit.deltas or ())
    assert low is (method in EXACT)
    if not low:
        with pytest.raises(
            UserError, match="no low-rank adapter can hold|switched on prompt by prompt|changes no weight"
        ):
            write_adapter(lm, edit.deltas or (), tmp_path)
        return
    write_adapter(lm, edit.deltas or (), tmp_path)
    other = peft.PeftModel.from_pretrained(copy.deepcopy(lm.model), str(tmp_path)).eval()
    plain = log_probs(lm.model, lm)
    with edit.on(lm):
        ours = log_probs(lm.model, lm)
    assert (ours - plain).abs().max() > 1e-5, "the edit is felt"
    assert (log_probs(other, lm) - ours).abs().max() < 1e-4
    texts = generate(lm, [PromptToContinue(t, 0) for t in TEXTS], edits=[edit.deltas or ()], sampling=Sampling(8))
    for text, value in zip(TEXTS, texts, strict=True):
        ids = lm.tokenizer(text, return_tensors="pt")["input_ids"]
        options = {"max_new_tokens": 8, "do_sample": False, "eos_token_id": lm.tokenizer.eos_token_id}
        written = other.generate(input_ids=ids, attention_mask=torch.ones_like(ids), pad_token_id=1, **options)
        assert written[0, ids.shape[1] :].tolist()[: len(value.ids)] == list(value.ids)
