from __future__ import annotations

import torch

from evaluation.editors.locate_edit.parts import (
    keys,
)
from evaluation.models.language_model import LM
from tests.support.editors.edit_requests import CONTEXTS, NORWAY


def test_keys_are_means_over_contexts(tiny: LM) -> None:
    one = [keys.read(tiny, 1, [keys.subject_position(tiny, NORWAY, c)]).keys[0] for c in CONTEXTS]
    assert torch.allclose(keys.mean_keys(tiny, 1, [NORWAY], CONTEXTS)[0], torch.stack(one).mean(0), atol=1e-5)
