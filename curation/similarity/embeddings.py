"""Sentence embeddings for near-duplicates that share a meaning rather than words; loaded when asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schemas.core.errors import MissingPackage, UserError

MODEL = "all-MiniLM-L6-v2"


def encoder_identity(folder: str | None) -> str:
    """What tells an encoder from others: its name, and of a folder the beginning of its weights' SHA-256.

    Args:
        folder: Folder of an encoder; None: all-MiniLM-L6-v2, as installed.

    Raises:
        UserError: no such folder, or no weights in it.
    """
    from curation.files.artifact_cache import remembered_sha256

    if folder is None:
        return MODEL
    place = Path(folder).expanduser()
    weights = sorted([*place.glob("*.safetensors"), *place.glob("pytorch_model*.bin")])
    if not weights:
        raise UserError(
            "there is no encoder in this folder (*.safetensors, pytorch_model*.bin)",
            where=str(folder),
            fix="name the folder of a sentence encoder, or leave it out",
        )
    return f"{place.resolve().name}@{'+'.join(remembered_sha256(path)[:12] for path in weights)}"


class Embedder:
    """all-MiniLM-L6-v2 (Apache-2.0): 384 numbers a text, mean over its tokens, scaled to length 1.

    Args:
        folder: Weights, tokenizer and configuration; the installed model package where left out.
        device: ``cpu``, ``cuda``, ``cuda:1`` ... as torch names them.
        batch: Texts a forward pass.

    Attributes:
        model, tokenizer: The encoder, as transformers has it.

    Raises:
        ModelError: the model package is not installed.
        MissingPackage: torch or transformers is not installed.
    """

    def __init__(self, folder: Path | None = None, *, device: str = "cpu", batch: int = 64) -> None:
        from curation.files.model_packages import minilm_folder, quiet_transformers

        folder = folder or minilm_folder()
        try:
            import torch
            from transformers import AutoModel, AutoTokenizer
        except ModuleNotFoundError as error:
            raise MissingPackage(error.name or "transformers", extra="eval") from None
        if device.startswith("cuda") and not torch.cuda.is_available():
            raise UserError(f"there is no device '{device}' here", allowed="cpu", fix="leave --device out")
        self.batch, self.device = batch, device
        self._torch: Any = torch
        with quiet_transformers():
            self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
            self.model: Any = AutoModel.from_pretrained(folder).to(device).eval()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (texts, 384), float32, in the order of the texts; long texts are cut at 256 tokens."""
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))  # equal lengths together: less padding
        out = np.zeros((len(texts), int(self.model.config.hidden_size)), dtype=np.float32)
        for start in range(0, len(order), self.batch):
            chosen = order[start : start + self.batch]
            some = [texts[i] for i in chosen]
            tokens = self.tokenizer(some, padding=True, truncation=True, max_length=256, return_tensors="pt")
            tokens = tokens.to(self.device)
            with self._torch.inference_mode():
                hidden = self.model(**tokens).last_hidden_state  # (texts, tokens, 384)
                mask = tokens["attention_mask"].unsqueeze(-1).to(hidden.dtype)
                mean = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
                out[chosen] = self._torch.nn.functional.normalize(mean, dim=1).float().cpu().numpy()
        return out
