"""Context templates: texts put before a prompt, over which ROME averages keys and values (ROME §3.1, Eq. 3 and 4).

They are sampled from the model itself, once, from a seed drawn from its revision, and kept in the cache under it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from curation.files.artifact_cache import Cache
from evaluation.inference.passes import logits_at
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from schemas.core.ids import seed

KIND = "templates"
TOP = 5  # tokens sampled from at each step, as the published code does
VERSION = 1


def fill(template: str, text: str) -> str:
    """The text in the place of the template's final ``{}``.

    Example:
        >>> fill("So it goes. {}", "Paris is")
        'So it goes. Paris is'
    """
    return template[: -len("{}")] + text


def check_templates(templates: Sequence[str]) -> tuple[str, ...]:
    """Templates that end in ``{}``, the first being the bare ``{}`` (the value search starts from the bare prompt).

    Raises:
        UserError: otherwise.
    """
    wrong = [t for t in templates if not t.endswith("{}")]
    if wrong:
        raise UserError(f"a context template ends in {{}}, this one does not: {wrong[0]!r}")
    if not templates or templates[0] != "{}":
        raise UserError("the first context template is the bare '{}'")
    return tuple(templates)


def sample_templates(
    lm: LM, lengths: Sequence[tuple[int, int]], *, cache: Cache, starts: Sequence[str] = ()
) -> tuple[str, ...]:
    """``{}`` and sampled prefixes, each followed by ". {}".

    Args:
        lm: The unedited model.
        lengths: Pairs of (tokens, how many): ((5, 10), (10, 10)) gives ROME's 21 templates.
        cache: Where they are kept.
        starts: Words that the prefixes begin with, in turn; a prefix's tokens come after its word. None: the model
            begins on its own.
    """
    identity = {"model": lm.revision, "dtype": str(lm.dtype), "lengths": [list(p) for p in lengths], "version": VERSION}
    identity |= lm.other_numerics
    identity |= {"starts": list(starts)} if starts else {}
    templates = cache.load_json(KIND, identity)
    if templates is None:
        generator = torch.Generator().manual_seed(seed(lm.revision, "templates", str(lengths)))
        templates = ["{}"]
        for tokens, count in lengths:
            first = [starts[i % len(starts)] for i in range(count)] if starts else [""] * count
            templates += [f"{text}. {{}}" for text in _sample(lm, tokens, first, generator)]
        cache.save_json(KIND, identity, templates)
    return check_templates(templates)


@torch.no_grad()
def _sample(lm: LM, tokens: int, first: Sequence[str], generator: torch.Generator) -> list[str]:
    """Texts of so many tokens after their first words, each token drawn among the likeliest; special tokens masked."""
    tok = lm.tokenizer
    start = next((i for i in (tok.bos_token_id, tok.eos_token_id, tok.pad_token_id) if i is not None), 0)
    rows = [[start, *tok(text, add_special_tokens=False)["input_ids"]] for text in first]
    masked = torch.tensor(sorted(set(tok.all_special_ids)), dtype=torch.long, device=lm.device)
    for _ in range(tokens):
        ids, mask = lm.pad(rows)
        logits = logits_at(lm, ids, mask, range(len(rows)), [len(row) - 1 for row in rows])
        logits[:, masked] = -torch.inf
        best = logits.topk(min(TOP, logits.shape[1] - len(masked)), dim=-1)
        chances = best.values.softmax(-1).cpu()  # drawn on the CPU: the same texts on every device
        drawn = torch.multinomial(chances, 1, generator=generator).to(lm.device)
        for row, token in zip(rows, best.indices.gather(1, drawn)[:, 0].tolist(), strict=True):
            row.append(token)
    texts = tok.batch_decode([row[1:] for row in rows], skip_special_tokens=True)
    return [text.replace("\ufffd", "") for text in texts]  # a character cut in the middle of its bytes
