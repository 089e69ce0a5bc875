"""Data that we ship, written by us (CC0): facts, splits, a corpus, labelled leaks and scripts, tables of names."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from curation.splits.split_file import Split, load_split, open_split, read_split
from schemas.core.config import read_toml
from schemas.core.errors import UserError

_HERE = Path(__file__).parent

SPLITS = ("mini", "open", "open:dev", "open:test", "events", "documents", "hops")
"""Names of the frozen splits that come with the program."""
SHIPPED_NAMES = "mini, open, open:dev, open:test, events, documents, hops"


def facts_path() -> Path:
    """The facts file: counterfactual and temporal facts with aliases, paraphrases and Wikidata property ids."""
    return _HERE / "facts.jsonl"


def config_path(path: Path) -> Path:
    """The file that a command means: the one of that name, or ours for ``configs/...`` where there is none.

    So ``configs/mini.toml`` and ``configs/rules/scedit.toml``, as the documentation writes them, work in any folder.
    """
    if path.parts[:1] != ("configs",) or ".." in path.parts or path.exists():
        return path
    ours = _HERE / path
    return ours if ours.is_file() else path


def read_config(path: Path) -> dict[str, Any]:
    """A TOML configuration of the user's, or ours of that name, as a dictionary.

    Raises:
        UserError: there is none, or it cannot be read.
        DataError: it is no TOML.
    """
    return read_toml(config_path(path))


def corpus_path() -> Path:
    """The statistics corpus, paragraphs divided by blank lines; its manifest stands beside it (``corpus.json``)."""
    return _HERE / "corpus.txt"


def leaks_path() -> Path:
    """Script prompts labelled ``leak`` or ``none``; ``benchmarks.checks.leak_benchmark`` scores checks on them."""
    return _HERE / "leaks.jsonl"


def labelled_scripts_path() -> Path:
    """Questions and scripts with the right cut or verdict; ``benchmarks.checks.script_benchmark`` counts on them."""
    return _HERE / "scripts" / "labelled_scripts.jsonl"


def later_scripts_path() -> Path:
    """Labelled scripts that were written after the rules they measure, in two halves of their own."""
    return _HERE / "scripts" / "later_scripts.jsonl"


def fresh_scripts_path() -> Path:
    """Labelled scripts that were written when the fifth rules stood, in two halves of their own."""
    return _HERE / "scripts" / "fresh_scripts.jsonl"


def tuning_scripts_path() -> Path:
    """Further labelled scripts, all for setting rules: wrong cuts of many kinds, and good ones that look like them."""
    return _HERE / "scripts" / "tuning_scripts.jsonl"


def common_words_path() -> Path:
    """English words that a name may be spelt like ("square", "turkey"), one a line."""
    return _HERE / "names" / "common_words.txt"


def name_forms_path() -> Path:
    """Names that stand for each other and words derived from them ("Italy", "Italian"), one family a line."""
    return _HERE / "names" / "forms.txt"


def further_forms_path() -> Path:
    """More names and derived words in the shape of ``name_forms_path``, since the sixth rules."""
    return _HERE / "names" / "further_forms.txt"


def everyday_words_path() -> Path:
    """More English words that a name may be spelt like ("valve", "hull"), since the sixth rules."""
    return _HERE / "names" / "everyday_words.txt"


def nouns_after_path() -> Path:
    """Nouns that may stand right after an object ("a Bilbao train"), by what the objects are, one kind a line."""
    return _HERE / "names" / "nouns_after.txt"


def words_before_path() -> Path:
    """Words that may stand right before an object ("fly to"), by what the objects are, one kind a line."""
    return _HERE / "names" / "words_before.txt"


def step_words_path() -> Path:
    """Words of steps that lead to an object ("travel", "visa"), by what the objects are, one kind a line."""
    return _HERE / "names" / "step_words.txt"


def set_phrases_path() -> Path:
    """Phrases that hold a name and do not speak of it ("french fries"), one a line."""
    return _HERE / "names" / "set_phrases.txt"


def other_uses_path() -> Path:
    """Words that are an object at one place and something else at another ("pay in won", "who won"), one a line."""
    return _HERE / "names" / "other_uses.txt"


def demonstrations_path() -> Path:
    """The frozen split ``demonstrations``: what methods in context show the model; shares no subject with ``mini``."""
    return _HERE / "demonstrations" / "demonstrations.jsonl"


def mini_path() -> Path:
    """The frozen split ``mini``."""
    return _HERE / "mini" / "mini.jsonl"


def events_path() -> Path:
    """The frozen split ``events``: hand-written events with factual and tendency questions."""
    return _HERE / "events" / "events.jsonl"


def documents_path() -> Path:
    """The frozen split ``documents``: hand-written documents with probes of three levels; its SHA-256 stands beside."""
    return _HERE / "documents" / "documents.jsonl"


def hops_path() -> Path:
    """The frozen split ``hops``: hand-written edits whose scripts need one step further; its SHA-256 stands beside."""
    return _HERE / "hops" / "hops.jsonl"


@lru_cache(maxsize=1)
def hops_split() -> Split:
    """The hand-written split ``hops``: forty edits of one fact, each with a question and a script of one hop.

    Raises:
        DataError: the shipped file was changed.
    """
    from curation.shipped.open_cases import verified_text

    return read_split(enumerate(verified_text(hops_path()).split("\n"), 1), hops_path())


@lru_cache(maxsize=1)
def documents_split() -> Split:
    """The hand-written split ``documents``: twelve documents about invented things, twelve that change known ones.

    Raises:
        DataError: the shipped file was changed.
    """
    from curation.shipped.open_cases import verified_text

    return read_split(enumerate(verified_text(documents_path()).split("\n"), 1), documents_path())


@lru_cache(maxsize=1)
def events_split() -> Split:
    """The hand-written split ``events``: sixteen events of eight templates and eight tendency events."""
    return load_split(events_path())


@lru_cache(maxsize=1)
def mini_split() -> Split:
    """The hand-written split ``mini``: counterfactual and temporal cases with four script questions each."""
    return load_split(mini_path())


def shipped_split(name: str) -> Split:
    """The split that comes with the program under a name of ``SPLITS``.

    Raises:
        UserError: there is none of that name.
        DataError: the shipped file was changed.

    Example:
        >>> shipped_split("open:dev").name, len(shipped_split("open").cases)
        ('open-dev', 404)
    """
    from curation.shipped.open_cases import open_part, open_release

    if name not in SPLITS:
        raise UserError(f"no split '{name}' comes with the program", allowed=SHIPPED_NAMES)
    written = {"mini": mini_split, "events": events_split, "documents": documents_split, "hops": hops_split}
    if name in written:
        return written[name]()
    part = name.partition(":")[2]
    return open_part(part) if part else open_release()


def named_split(name: str) -> Split:
    """The split that a command line names: a shipped one, or a frozen split file, whose cases stay on the disk.

    Raises:
        UserError, DataError: as ``curation.splits.split_file.open_split``.

    Example:
        >>> named_split("mini").name
        'mini'
    """
    return shipped_split(name) if name in SPLITS else open_split(name)


@lru_cache(maxsize=1)
def demonstrations_split() -> Split:
    """Twelve hand-written cases with two scripts each, for demonstrations and as a part of ``support = "shipped"``."""
    return load_split(demonstrations_path())
