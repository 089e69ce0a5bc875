"""A small file of templates with its facts, for tests of events: two clubs' leagues, players who move."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from construction.events.templates import FactTable, TemplateFile, read_templates
from schemas.facts import Fact
from tests.support.facts import make_fact, write_facts

TRANSFER: dict[str, Any] = {
    "name": "transfer",
    "type": "transfer-player",
    "text": "{A} has left {C} and plays for {B} from now on.",
    "places": {"A": {"type": "player", "role": "Player"}, "B": "club"},
    "derived": {"C": "A.P54"},
    "impacted": [
        {"role": "A", "relation": "P54", "object": "B"},
        {"role": "A", "relation": "P118", "object": "B.P118"},
        {"role": "A", "relation": "P1618", "object": "unknown"},
        {"role": "A", "relation": "P551", "object": "B.P159", "definite": False},
    ],
    "untouched": [{"role": "A", "relation": "P27"}, {"role": "B", "relation": "P118"}],
    "feasible": [
        {"rule": "absent", "role": "A", "relation": "P570"},
        {"rule": "differ", "role": "A", "relation": "P54", "other": "B"},
        {"rule": "same", "role": "A", "relation": "P641", "other": "B"},
    ],
}
WORDINGS = {
    "P54": ["Which club does {subject} play for?", "Whose shirt does {subject} wear?"],
    "P118": ["Which league does {subject} play in?"],
    "P1618": ["Which number does {subject} wear?"],
    "P551": ["Where does {subject} live?"],
    "P27": ["Which country is {subject} a citizen of?"],
}
PLAYERS = {"Ana Roe": 900.0, "Ben Sy": 10.0, "Cleo Tam": 10.0}
CLUBS = {"Alba": 300.0, "Brenta": 100.0, "Corvo": 100.0}
TRIPLETS = (
    *(("Ana Roe", "P54", "Alba"), ("Ben Sy", "P54", "Brenta"), ("Cleo Tam", "P54", "Corvo")),
    *((player, "P27", "Peru") for player in PLAYERS),
    *((name, "P641", "football") for name in (*PLAYERS, *CLUBS)),
    *(("Alba", "P118", "First League"), ("Brenta", "P118", "Second League"), ("Corvo", "P118", "Third League")),
)


def facts(*more: tuple[str, str, str], without: tuple[str, str] | None = None) -> list[Fact]:
    """The facts, and further ones."""
    triplets = [t for t in TRIPLETS if t[:2] != without]
    return [
        make_fact(s, o, None, key=f"f/{n}", relation=r, prompt="{} has")
        for n, (s, r, o) in enumerate((*triplets, *more))
    ]


def table(*more: tuple[str, str, str], without: tuple[str, str] | None = None) -> FactTable:
    """Their table."""
    return FactTable(facts(*more, without=without))


def data(**changes: Any) -> dict[str, Any]:
    """The file's contents, with parts of its template replaced."""
    return {
        "source": {"name": "tests", "licence": "CC0-1.0"},
        "template": [{**TRANSFER, **changes}],
        "relation": [{"id": name, "questions": wording} for name, wording in WORDINGS.items()],
        "entity": [
            {"type": type, "name": name, "frequency": n}
            for type, text in (("player", PLAYERS), ("club", CLUBS))
            for name, n in text.items()
        ],
    }


def templates(**changes: Any) -> TemplateFile:
    """The file, read."""
    return TemplateFile.model_validate(data(**changes))


def write(path: Path, contents: dict[str, Any]) -> Path:
    """The file as TOML."""

    def value(v: Any) -> str:
        if isinstance(v, dict):
            return "{" + ", ".join(f'"{k}" = {value(x)}' for k, x in v.items()) + "}"
        if isinstance(v, list | tuple):
            return "[" + ", ".join(map(value, v)) + "]"
        if isinstance(v, bool):
            return str(v).lower()
        if isinstance(v, str):
            return "'" + v + "'"
        return repr(v)

    path.write_text("\n".join(f"{name} = {value(v)}" for name, v in contents.items()), encoding="utf-8")
    return path


def read(path: Path, contents: dict[str, Any], *more: tuple[str, str, str]) -> TemplateFile:
    """The file as TOML, and read back as the command does."""
    return read_templates(write(path, contents), table(*more))


def sources(folder: Path) -> dict[str, Any]:
    """The file of templates and that of facts, as a job names them."""
    return {"templates": write(folder / "t.toml", data()), "facts": (str(write_facts(folder / "f.jsonl", facts())),)}
