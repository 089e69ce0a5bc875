"""Whether a judge is of the family of those whose texts it rates: models rate their own family higher."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from schemas.core.config import Options, read_toml, validate


class _Families(Options):
    families: dict[str, tuple[str, ...]]


@lru_cache(maxsize=1)
def _table() -> _Families:
    path = Path(str(files("evaluation.judge").joinpath("model_families.toml")))
    return validate(_Families, read_toml(path), where=str(path))


def family_of(model: str) -> str | None:
    """Who makes a model, by the longest known beginning of its name; None where no beginning is known.

    Example:
        >>> family_of("openai/gpt-4o-2024-11-20"), family_of("EleutherAI/gpt-j-6B"), family_of("our-own-7b")
        ('OpenAI', 'EleutherAI', None)
    """
    name = model.rsplit("/", 1)[-1].strip().casefold()
    fits = [(len(b), who) for who, beginnings in _table().families.items() for b in beginnings if name.startswith(b)]
    return max(fits)[1] if fits else None


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
    own, out = family_of(judge), []
    if own is None:
        return [f"whose model {judge} is, is not known: whether it rates its own family cannot be told"]
    for what, models in (("scripts", writers), ("answers to questions", authors)):
        same = [m for m in sorted(set(models)) if family_of(m) == own]
        if same:
            told = f"{judge} judges {what} of {', '.join(same)}, both of {own}"
            out.append(f"{told}: judges favour their own family, ask another one too")
    return out
