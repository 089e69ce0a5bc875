"""A tiny T5 that has learnt some texts by heart, saved as a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

SIZES = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 1, "num_heads": 2, "dropout_rate": 0.0}


def seq2seq_folder(folder: Path, texts: Mapping[str, str], *, steps: int = 250) -> Path:
    """Train a T5 to answer each text with another, and save it; 0 steps leave it random."""
    plain = Tokenizer(models.BPE())
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<pad>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    plain.train_from_iterator([*texts, *texts.values()] * 3, trainer)
    plain.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, pad_token="<pad>", eos_token="</s>")
    torch.manual_seed(0)
    ends = {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1}
    model = T5ForConditionalGeneration(T5Config(vocab_size=len(tokenizer), **SIZES, **ends)).eval()  # no dropout
    read = tokenizer(list(texts), return_tensors="pt", padding=True)
    goals = tokenizer(list(texts.values()), return_tensors="pt", padding=True)
    labels = goals.input_ids.masked_fill(goals.attention_mask == 0, -100)
    optimiser = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(steps):
        loss = model(input_ids=read.input_ids, attention_mask=read.attention_mask, labels=labels).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
