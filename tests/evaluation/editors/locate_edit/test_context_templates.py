from __future__ import annotations

from pathlib import Path

import pytest
import torch

from curation.files.artifact_cache import Cache
from evaluation.editors.locate_edit import context_templates
from evaluation.models.language_model import LM
from schemas.core.errors import UserError


def test_templates_are_sampled_once_from_a_seed(tiny: LM, cache: Cache, tmp_path: Path) -> None:
    state = torch.random.get_rng_state()
    templates = context_templates.sample_templates(tiny, ((4, 3), (6, 2)), cache=cache)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert len(templates) == 6 and templates[0] == "{}" and all(t.endswith(". {}") for t in templates[1:])
    assert context_templates.sample_templates(tiny, ((4, 3), (6, 2)), cache=Cache(tmp_path / "other")) == templates
    with torch.no_grad():
        tiny.projection(0).weight.mul_(3)
    assert context_templates.sample_templates(tiny, ((4, 3), (6, 2)), cache=cache) == templates  # from the cache
    tiny.revision = "changed"
    assert context_templates.sample_templates(tiny, ((4, 3), (6, 2)), cache=cache) != templates


@pytest.mark.parametrize(
    ("templates", "message"),
    [(("So. {}",), "first context template"), (("{}", "So."), "ends in"), ((), "first context template")],
)
def test_bad_templates(templates: tuple[str, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        context_templates.check_templates(templates)


def test_braces_in_sampled_text_are_text() -> None:
    assert context_templates.fill("a {} {0} b. {}", "x {} y") == "a {} {0} b. x {} y"
