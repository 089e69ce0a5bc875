"""Towns with events and questions that only a comparison of the two can send right; quick encoders."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from evaluation.editors.in_context.retrieval import Vectors
from schemas.cases import EventCase
from tests.support.events import make_event, make_fact_question, make_tendency

_FIRST, _AWAY = ("Al", "Bre", "Cor", "Dor", "El", "Fa", "Ga", "Ho"), ("Ki", "Lu", "Mo", "Ne", "Or", "Pi", "Qua", "Ri")
TOWNS = [a + b for b in ("ba", "nta", "vo", "no", "va", "li", "so", "ra") for a in _FIRST]
ELSEWHERE = [a + b for b in ("den", "fell", "gart", "holm", "mark", "stad", "ton", "wick") for a in _AWAY]
DIMENSIONS = 64


class HashedVectors(Vectors):
    """Bags of words, each word at a place that its checksum gives; unit length, shape (texts, 64)."""

    def of(self, texts: Sequence[str]) -> Any:
        rows = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().replace("?", " ").replace(".", " ").split():
                row[zlib.crc32(word.encode()) % DIMENSIONS] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def town_cases(towns: Sequence[str] = tuple(TOWNS), *, prefix: str = "e") -> list[EventCase]:
    """One event a town; the same wordings about another town are out of scope."""
    cases = []
    for town in towns:
        key, other = f"{prefix}/{town}", ELSEWHERE[TOWNS.index(town)]
        facts = (
            make_fact_question(f"Who is mayor of {town}?", "Ada", event=key, key=f"{key}/f1"),
            make_fact_question(f"Who is mayor of {other}?", "Bo", event=key, key=f"{key}/f2", scope="out"),
        )
        tendencies = (
            make_tendency(f"How may rents in {town} move?", event=key, key=f"{key}/t1"),
            make_tendency(f"How may rents in {other} move?", "C", event=key, key=f"{key}/t2", scope="out"),
        )
        event = make_event(key, f"{town} has elected Ada as its new mayor.", type="election")
        cases.append(EventCase(key=f"case/{key}", event=event, facts=facts, tendencies=tendencies))
    return cases


def tiny_encoder(folder: Path, texts: Iterable[str]) -> Path:
    """Write an encoder that knows the words of some texts; its weights are drawn from a fixed seed."""
    from transformers import BertConfig, BertModel, BertTokenizer

    known = sorted({word for text in texts for word in re.findall(r"\w+|[^\w\s]", text.lower())})
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *known]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        BertModel(config).save_pretrained(folder)
    return folder
