"""Steps as an author wrote them, without list labels and markup: neither belongs to a step or to a prompt."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from construction.scripts.foreign_labels import without_foreign_label
from construction.scripts.further_labels import (
    is_fraction,
    without_further_label,
    without_further_marks,
    without_lone_number,
)
from construction.scripts.rare_labels import HIDDEN, plain_label
from schemas.scripts import strip_label

_PAIRED = re.compile(r"(?<![\w\\])(\*{1,3}|_{1,3}|`{1,3}|~~|==)(?=\S)(.+?)(?<=\S)\1(?!\w)")
_OPEN = re.compile(r"(?:\*{2,3}|`)(?=\w)|(?<=\w)(?:\*{2,3}|`)(?!\w)|(?<!\S)\*(?=\w)")
_LINK = re.compile(r"!?\[([^\[\]]+)\](?:\s?\([^()]*[/.#][^()]*\)|\([^()\s]*\)|\[[^\[\]]*\])")
_NOTE = re.compile(r"(?<=\w)\[\d{1,2}\]")
_TAG = re.compile(
    r"</?(?:a|b|i|u|s|p|em|strong|mark|code|span|font|small|big|del|ins|kbd|var|cite|sup|sub|li|ul|ol|h[1-6]|br|hr|"
    r"div|center|q|tt)(?:\s+[\w:-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>]+))*\s*/?>",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:[a-zA-Z]{2,8}|#\d{2,5}|#x[0-9a-fA-F]{2,5});")
_TEX = re.compile(r"\\(?:textbf|textit|emph|underline|texttt)\{([^{}]*)\}")
_ESCAPED = re.compile(r"\\([*_`~\[\]#])")
_HEADING = re.compile(r"^#{1,6}\s+")
_BULLET = re.compile(
    r"^(?:(?:[-*+•·▪◦‣⁃●○■□►▶➤➔→⇒»✓✔☐☑–—]|[-=]>|>)\s+|\[[ xX✓✔]?\]\s+|[①-⑳❶-❿➀-➓]\s*|(?:\d\ufe0f?\u20e3)+\s*)+"
)
_COUNT = r"(?:\s?(?:/|of|out of)\s?\d{1,2})?"
_WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_ROMAN = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"]
_STEP = re.compile(
    rf"^[(\[]?(?:step|task|phase|stage)\s*(?:(?:number|no\.?|#)\s*)?(?:\d{{1,2}}|{'|'.join(_WORDS)}){_COUNT}"
    r"(?:\s?[)\]])?\s*(?:[:.)–—-]+\s*|(?<=[)\]])\s*)|^(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|"
    r"last|lastly|finally|next|then)(?:\s+step)?\s*:\s+",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    rf"^(?:\((?P<a>\d{{1,2}})\)|\[(?P<b>\d{{1,2}})\]|#(?P<c>\d{{1,2}})[.:)]?|(?P<d>\d{{1,2}})(?:[.:)]|\s[–—-](?=\s))|"
    rf"(?P<e>\d{{1,2}})\s?/\s?\d{{1,2}}[.:)]?)\s+(?=\S)|^(?P<f>\d{{1,2}})[.)](?=[^\W\d_]{{2}})|"
    rf"^\(?(?P<g>{'|'.join(_ROMAN)}|[a-i])(?:\)|[.:](?=\s))\s*(?=\S)",
    re.IGNORECASE,
)
_DASH = re.compile(r"^[–—:-]\s+")


def clean_steps(steps: Sequence[str], *, names: Iterable[str] = ()) -> tuple[str, ...]:
    """Steps without "4. ", "1) ", "- ", "**Step 1:** ", and without markdown marks around words.

    A number at the front is a label where it counts the steps, or where several steps have one; not where it begins one
    of the given names ("1. FC Köln").

    Args:
        steps: The steps, each on one line.
        names: Names of the object, which stay whole.

    Example:
        >>> clean_steps(["**Step 1:** Pack", "2) Fly to **Rome**", "- See [it](https://example.org)"])
        ('Pack', 'Fly to Rome', 'See it')
        >>> clean_steps(["4 boxes are enough", "Write 1984"])
        ('4 boxes are enough', 'Write 1984')
    """
    folded_names = tuple(name.casefold() for name in names)
    bare_steps = [_bare(step, folded_names) for step in steps]
    whole = {n for n, step in enumerate(bare_steps, 1) if is_fraction(step)}
    bare_steps = [
        step if n in whole or step.casefold().startswith(folded_names) else without_foreign_label(step, n, len(steps))
        for n, step in enumerate(bare_steps, 1)
    ]
    plain = [step if n in whole else _DASH.sub("", _strip_label(step)) for n, step in enumerate(bare_steps, 1)]
    listed = sum(_label(step) is not None for n, step in enumerate(plain, 1) if n not in whole) > 1
    clean = [
        step if n in whole else _without_label(step, n, folded_names, listed=listed) for n, step in enumerate(plain, 1)
    ]
    return tuple(step if step.casefold().startswith(folded_names) else without_lone_number(step) for step in clean)


def _bare(step: str, names: tuple[str, ...]) -> str:
    """The step without marks and hidden characters, a rare label as a common one."""
    shown = HIDDEN.sub("", step)
    bare = _without_marks(without_further_marks(shown))
    if bare.casefold().startswith(names) or is_fraction(bare):
        return bare
    return plain_label(without_further_label(bare))


def _strip_label(step: str) -> str:
    """The step without "Step 1:", "Step one -", "Step 1 of 4:", "First:"."""
    return strip_label(_STEP.sub("", step, count=1))


def _without_marks(step: str) -> str:
    """The step without headings, bullets, links, tags, entities and marks of emphasis or code."""
    step, tags = _TAG.subn("", step.strip())
    step = re.sub(" {2,}", " ", step) if tags else step
    step = _ENTITY.sub(lambda m: html.unescape(m.group()), step).strip()
    step = _TEX.sub(r"\1", _ESCAPED.sub(r"\1", step))
    step = _BULLET.sub("", _HEADING.sub("", step))
    step = _NOTE.sub("", _LINK.sub(r"\1", step))
    for _ in range(3):  # marks within marks
        step, changed = _PAIRED.subn(r"\2", step)
        if not changed:
            break
    return _BULLET.sub("", _OPEN.sub("", step)).strip()


def _label(step: str) -> re.Match[str] | None:
    return _NUMBER.match(step)


def _counts(match: re.Match[str], place: int) -> bool:
    """Whether a label is the number of its step: "2", "b", "ii"; "1/2" alone may be half of something."""
    if match.group("e") is not None:
        return False
    label = next(text for text in match.groups() if text is not None).casefold()
    return label in (str(place), "abcdefghi"[place - 1 : place], dict(enumerate(_ROMAN, 1)).get(place))


def _without_label(step: str, place: int, names: tuple[str, ...], *, listed: bool) -> str:
    match = _label(step)
    if match is None or any(step.casefold().startswith(name) for name in names if _NUMBER.match(name)):
        return step
    return _strip_label(step[match.end() :]) if listed or _counts(match, place) else step
