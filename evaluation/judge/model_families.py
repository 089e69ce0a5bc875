"""Whether a judge is of the family of those whose texts it rates: models rate their own family higher."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from schemas.core.config import Options, read_toml, validate

LONG = 4  # letters of a beginning that also counts inside a name


class _Families(Options):
    families: dict[str, tuple[str, ...]]


@lru_cache(maxsize=1)
def _table() -> _Families:
    path = Path(str(files("evaluation.judge").joinpath("model_families.toml")))
    return validate(_Families, read_toml(path), where=str(path))


def families_of(model: str) -> set[str]:
    """Who made a model and those that it is derived from: known beginnings of its name, and of parts of its name.

    Parts that say where a derived model comes from ("DeepSeek-R1-Distill-Qwen-7B", "Hermes-3-Llama-3.1-8B") count, and
    so do names of well-known derived models (Vicuna is of LLaMA).

    Example:
        >>> sorted(families_of("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B")), sorted(families_of("EleutherAI/gpt-j-6B"))
        (['DeepSeek', 'Qwen'], ['EleutherAI'])
    """
    name = model.rsplit("/", 1)[-1].strip().casefold().removeprefix("ft:")  # fine-tuned at OpenAI
    parts = [(name, 1), *((name[place.end() :], LONG) for place in re.finditer(r"[-_.+: ](?=[a-z])", name))]
    beginnings = [(b, who) for who, some in _table().families.items() for b in some]
    families = set()
    for part, fewest in parts:
        fits = [(len(b), who) for b, who in beginnings if len(b) >= fewest and part.startswith(b)]
        families |= {max(fits)[1]} if fits else set()
    return families


def family_conflicts(judge: str, *, writers: Iterable[str], authors: Iterable[str] = ()) -> list[str]:
    """Sentences about what a judge has in common with those who wrote what it rates; empty where nothing.

    Args:
        judge: The judge's model.
        writers: Models that wrote the scripts.
        authors: Models that wrote the questions.

    Example:
        >>> family_conflicts("gpt-4o", writers=["gpt2-xl", "claude-3"])
        ['gpt-4o judges scripts of gpt2-xl, both of OpenAI: judges favour their own family, ask another one too']
    """
    families, out = families_of(judge), []
    if not families:
        return [f"The family of {judge} is not known, so it may be rating scripts of its own family"]
    for what, models in (("scripts", writers), ("answers to questions", authors)):
        relatives = [m for m in sorted(set(models)) if families_of(m) & families]
        if relatives:
            shared_families = sorted(set().union(*(families_of(m) & families for m in relatives)))
            sentence = f"{judge} judges {what} of {', '.join(relatives)}, both of {' and '.join(shared_families)}"
            out.append(f"{sentence}: judges favour their own family, ask another one too")
    return out
