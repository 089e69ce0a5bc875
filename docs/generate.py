"""What the documentation takes from the code.

The pages of commands, records, the Python door and the notebooks are made when the documentation is built (a hook of
mkdocs). As a program it writes the example files into the pages that show them; ``--check`` only compares.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import click
import nbformat
from mkdocs.structure.pages import Page

import scedit
import scedit.commands
from curation.store.store import KINDS
from scedit.command_table import walk

_PAGES = Path(__file__).parent / "extend"
_EXAMPLES = Path(__file__).parent.parent / "examples" / "plugin"


def _help(command: click.Command, name: str) -> str:
    ctx = click.Context(command, info_name=name, max_content_width=100, terminal_width=100)
    return command.get_help(ctx)


def commands() -> str:
    """Every command's help."""
    parts = ["```\n" + _help(scedit.commands.cli, "scedit") + "\n```\n"]
    for words, command in walk(scedit.commands.cli).items():
        level = "#" * min(4, 2 + words.count(" "))
        parts.append(f"{level} scedit {words}\n\n```\n{_help(command, f'scedit {words}')}\n```\n")
    return "\n".join(parts)


def records() -> str:
    """Every record's fields."""
    parts = []
    for kind, cls in KINDS.items():
        doc = (cls.__doc__ or "").strip().split("\n\n")[0].replace("\n    ", " ")
        parts.append(f"## {kind}\n\n`{cls.__module__}.{cls.__name__}`: {doc}\n")
        rows = ["| field | type | needed |", "| --- | --- | --- |"]
        for name, field in cls.model_fields.items():
            rows.append(f"| `{name}` | {_type(field.annotation)} | {'yes' if field.is_required() else ''} |")
        parts.append("\n".join(rows) + "\n")
    return "\n".join(parts)


def _type(annotation: object) -> str:
    text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    text = re.sub(r"\b(?:typing|schemas\.\w+|pydantic\.\w+)\.", "", text)
    text = re.sub(r"Annotated\[([\w \[\]|,.]+?), (?:AfterValidator|StringConstraints|FieldInfo)\(.*?\)+\]", r"\1", text)
    return f"`{text.replace('|', 'or')}`"


def with_examples(page: Path) -> str:
    """A page whose code blocks with a title hold the files of ``examples/plugin`` that the titles name."""

    def block(example: re.Match[str]) -> str:
        code = (_EXAMPLES / example["name"]).read_text(encoding="utf-8")
        return f"{example['fence']}\n{code}```\n"

    fence = r'^(?P<fence>```\w+ title="(?P<name>[^"]+)")\n.*?^```\n'
    return re.sub(fence, block, page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def python() -> str:
    """Everything that ``import scedit`` gives, with its members."""
    parts = []
    for name in sorted(scedit.__all__, key=lambda n: inspect.isclass(getattr(scedit, n))):  # functions first
        thing = getattr(scedit, name)
        parts.append(f"## scedit.{name}\n\n{_described(name, thing)}")
        if inspect.isclass(thing) and thing.__module__.startswith("scedit."):
            members = [(n, m) for n, m in vars(thing).items() if not n.startswith("_")]
            parts += [f"### {name}.{n}\n\n{_described(n, m)}" for n, m in members]
    return "\n".join(parts)


def _described(name: str, thing: object) -> str:
    """Docstring, and the signature of what is called."""
    called = inspect.isroutine(thing)
    head = str(inspect.signature(thing)) if called else ""  # type: ignore[arg-type]
    head = re.sub(r"(: |-> )'([^']*)'", r"\1\2", head)  # types, which are texts
    return f"```\n{name + head}\n\n{inspect.getdoc(thing)}\n```\n"


def notebook(path: Path) -> str:
    """A notebook as a page: its texts and its code."""
    cells = nbformat.read(path, as_version=4).cells
    return "\n\n".join(c.source if c.cell_type == "markdown" else f"```python\n{c.source}\n```" for c in cells)


def on_page_markdown(markdown: str, *, page: Page, **_: object) -> str:
    """The hook: what is made stands below what is written on the page; a notebook stands in its place."""
    book = Path(page.file.abs_src_path or "").with_suffix(".ipynb")
    if book.is_file():
        return f"{notebook(book)}\n\nThis page as a notebook: [{book.name}]({book.name})."
    makers = {"reference/commands.md": commands, "reference/records.md": records, "reference/python.md": python}
    made = makers.get(page.file.src_uri)
    return markdown if made is None else f"{markdown}\n{made()}"


def main(*, check: bool) -> int:
    """Write or compare; returns the exit status."""
    stale = []
    for path in sorted(_PAGES.glob("*.md")):
        text = with_examples(path)
        if check and path.read_text(encoding="utf-8") != text:
            stale.append(str(path))
        elif not check:
            path.write_text(text, encoding="utf-8")
    if stale:
        click.echo(
            f"Error: {', '.join(stale)} does not show the examples as they are; run: python docs/generate.py", err=True
        )
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main(check="--check" in sys.argv))
