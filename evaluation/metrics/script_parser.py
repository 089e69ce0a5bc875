"""What a written script is, read from its text alone: steps, format, refusal, loops, objects named, n-gram entropy.

Pure functions, no model. They describe; nothing here rates a script.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from schemas.facts import Entity
from schemas.scripts import MAX_STEPS, MAX_WORDS
from schemas.text.mentions import find

INSTRUCTION = (
    "Answer the question below with a script. A script is a list of brief events in order, starting at Step 1, with "
    f"{MAX_STEPS} steps at most. Write every step on one line of its own, as one short action of fewer than "
    f'{MAX_WORDS + 1} words, in the form "Step 1: ...". Write the steps only: no explanation, detail, note or advice.'
)
"""The format of ScEdit's Appendix A in our words. Changing it changes the ids of the probes that hold it."""

ENTROPY_WORDS = 50
"""Words of a text that its entropy is taken of: entropy grows with length, so only texts as long are compared."""

_LABEL = re.compile(r"(?:^|(?<=\s))[*_#>\-\s]*step\s*(\d+)\s*[*_]*\s*[:.)\-–][*_]*[ \t]*", re.IGNORECASE)
_NUMBER = re.compile(r"^\s*[*_]*(\d{1,2})[.)][*_]*\s+")
_BULLET = re.compile(r"^\s*[-*•]\s+")
_COUNTED = re.compile(r"(?:^|(?<=\s))(\d{1,2})[.)]\s+")
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_TOKEN = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")
_REFUSAL = re.compile(
    r"\b(?:i(?:['’]m| am) (?:so |very )?(?:sorry|unable|not able)|i (?:cannot|can['’]t|can not|won['’]t|will not)|"
    r"i do(?:n['’]t| not) have (?:access|enough|the ability)|as an ai\b|as a language model)",
    re.IGNORECASE,
)
_OPENING = 200  # characters in which a refusal says so
_ENOUGH = 12  # trigrams of a text before their repetition means anything

Named = Literal["new", "old", "neither"]


class ParsedScript(NamedTuple):
    """A script as read.

    Attributes:
        steps: Their texts without labels, in the order written.
        numbers: The numbers on the labels; empty where steps have no "Step k" label.
        beside: Visible lines that belong to no step.
        inline: Two labels stand on one line.
    """

    steps: tuple[str, ...]
    numbers: tuple[int, ...] = ()
    beside: tuple[str, ...] = ()
    inline: bool = False


def parse(text: str) -> ParsedScript:
    r"""Steps of a written script: lines labelled "Step k", else numbered ones, else lines with bullets (two or more).

    Numbered steps may stand on one line where they are counted from 1. A label alone on its line takes the next line as
    its step.

    Example:
        >>> parse("Sure!\nStep 1: Buy a ticket\nStep 2: Go")
        ParsedScript(steps=('Buy a ticket', 'Go'), numbers=(1, 2), beside=('Sure!',), inline=False)
        >>> parse("1. Buy a ticket\n2. Go").steps
        ('Buy a ticket', 'Go')
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if any(_LABEL.match(line) for line in lines):
        return _parse_labelled(lines)
    for pattern in (_NUMBER, _BULLET):
        marked = [line for line in lines if pattern.match(line)]
        if len(marked) > 1:
            steps = tuple(_strip_marks(pattern.sub("", line, count=1)) for line in marked)
            return ParsedScript(tuple(s for s in steps if s), beside=tuple(x for x in lines if x not in marked))
    return _parse_counted(lines) or ParsedScript((), beside=tuple(lines))


def _parse_counted(lines: Sequence[str]) -> ParsedScript | None:
    """Steps "1. ... 2. ..." of a line that counts them from 1 on; None where there is no such line."""
    for at, line in enumerate(lines):
        marks = list(_COUNTED.finditer(line))
        if len(marks) > 1 and [int(m.group(1)) for m in marks] == list(range(1, len(marks) + 1)):
            ends = [m.start() for m in marks[1:]] + [len(line)]
            steps = [_strip_marks(line[m.end() : end]) for m, end in zip(marks, ends, strict=True)]
            head = [line[: marks[0].start()].strip()] if marks[0].start() else []
            return ParsedScript(tuple(s for s in steps if s), (), (*lines[:at], *head, *lines[at + 1 :]), inline=True)
    return None


def _parse_labelled(lines: Sequence[str]) -> ParsedScript:
    steps: list[str] = []
    numbers: list[int] = []
    beside: list[str] = []
    inline = waiting = False
    for line in lines:
        labels = list(_LABEL.finditer(line))
        if not labels or labels[0].start() > 0:
            if waiting:
                steps[-1], waiting = _strip_marks(line), False
            else:
                beside.append(line)
            continue
        inline = inline or len(labels) > 1
        ends = [m.start() for m in labels[1:]] + [len(line)]
        for label, end in zip(labels, ends, strict=True):
            steps.append(_strip_marks(line[label.end() : end]))
            numbers.append(int(label.group(1)))
        waiting = not steps[-1]
    numbered_steps = [(s, n) for s, n in zip(steps, numbers, strict=True) if s]
    return ParsedScript(tuple(s for s, _ in numbered_steps), tuple(n for _, n in numbered_steps), tuple(beside), inline)


def _strip_marks(step: str) -> str:
    """A step without the marks of bold or lists around it."""
    return step.strip().strip("*_").strip()


def broken_rules(text: str, *, ended: str = "eos") -> tuple[str, ...]:
    r"""The rules of Appendix A that a written script breaks, by name; empty for a script in the format.

    ``no_steps``, ``labels`` (every step "Step k:", counted from 1), ``too_many`` (over nine), ``too_long`` (a step of
    eight words or more), ``one_line`` (two steps on a line), ``other_text`` (anything but steps), ``cut_off`` (no end
    before the most tokens), ``stopped`` (ended by a stop text of the configuration, not by the model).

    Example:
        >>> broken_rules("Step 1: Buy a ticket\nStep 2: Go")
        ()
        >>> broken_rules("Sure!\n1. Buy a ticket for the very first train there\n2. Go")
        ('labels', 'too_long', 'other_text')
    """
    script = parse(text)
    if not script.steps:
        return ("no_steps",)
    violations = {
        "labels": script.numbers != tuple(range(1, len(script.steps) + 1)),
        "too_many": len(script.steps) > MAX_STEPS,
        "too_long": any(len(s.split()) > MAX_WORDS for s in script.steps),
        "one_line": script.inline,
        "other_text": bool(script.beside),
        "cut_off": ended == "length",
        "stopped": ended == "stop",
    }
    return tuple(name for name, broken in violations.items() if broken)


def declines(text: str) -> bool:
    """Whether the text declines to answer: it has no steps and says so at its beginning (English wordings only).

    Example:
        >>> declines("I'm sorry, but I can't help with that."), declines("Step 1: Say I'm sorry")
        (True, False)
    """
    return not parse(text).steps and _REFUSAL.search(text[:_OPENING]) is not None


def has_repetition(text: str) -> bool:
    r"""Whether a text repeats itself.

    A word occurs four times in a row, a longer phrase three times, or half of the steps, or of at least twelve
    trigrams, are repeated. Labels do not count, so that "Step 5: Click. Step 6: Click. Step 7: Click." is repetition.

    Example:
        >>> has_repetition("Fly to Rome Rome Rome Rome"), has_repetition("Step 1: Fly\nStep 2: See Rome")
        (True, False)
    """
    script = parse(text)
    plain = "\n".join(script.steps) if script.steps else text
    words = [w.casefold() for w in _WORD.findall(_LABEL.sub(" ", plain))]
    if any(_repeats(words, period) >= (4 if period == 1 else 3) for period in range(1, len(words) // 3 + 1)):
        return True
    trigrams = list(zip(words, words[1:], words[2:], strict=False))
    if len(trigrams) >= _ENOUGH and 2 * len(set(trigrams)) <= len(trigrams):
        return True
    steps = [" ".join(s.casefold().split()) for s in script.steps]
    return len(steps) >= 4 and 2 * len(set(steps)) <= len(steps)


def _repeats(words: Sequence[str], period: int) -> int:
    """How often any ``period`` words follow themselves at most."""
    best = run = 0
    for n in range(len(words) - period):
        run = run + 1 if words[n] == words[n + period] else 0
        best = max(best, run)
    return best // period + 1


class MentionedObjects(NamedTuple):
    """Which of two objects a text names: the first one, all of them, and the last one."""

    first: Named
    all: frozenset[str]
    last: Named

    @property
    def mixed(self) -> bool:
        """Both are named."""
        return len(self.all) == 2


def names(text: str, new: Entity, old: Entity) -> MentionedObjects:
    """Which object a text names first and last, and which at all (``schemas.text.mentions``: other names count).

    Example:
        >>> from schemas.facts import Object
        >>> found = names("Fly from Paris to Rome", Object(text="Rome"), Object(text="Paris"))
        >>> found.first, sorted(found.all), found.last
        ('old', ['new', 'old'], 'new')
    """
    spans = {"new": find(text, new, beside=[old]), "old": find(text, old, beside=[new])}
    first = _earlier({name: some[0].start for name, some in spans.items() if some})
    last = _earlier({name: -some[-1].start for name, some in spans.items() if some})
    return MentionedObjects(first, frozenset(name for name, some in spans.items() if some), last)


def _earlier(places: Mapping[str, int]) -> Named:
    """The object at the lower place; a name that both have says neither."""
    if not places or (len(places) == 2 and places["new"] == places["old"]):
        return "neither"
    return "new" if min(places, key=lambda name: places[name]) == "new" else "old"


def words(text: str) -> list[str]:
    """Words and signs of a text, the units of its entropy.

    Example:
        >>> words("Don't go, stay!")
        ["Don't", 'go', ',', 'stay', '!']
    """
    return _TOKEN.findall(text)


def n_gram_entropy(text: str, *, max_words: int | None = ENTROPY_WORDS) -> float | None:
    """Weighted entropy of bigrams and trigrams in bits: the mean of 2/3·H2 and 4/3·H3, as the published code (ROME).

    Args:
        text: The text; words and signs are its units (the published code takes NLTK's).
        max_words: Take so many words, so that texts compare; None takes all.

    Returns:
        Bits; None for a text shorter than ``max_words``, or of fewer than three words.

    Example:
        >>> bits = 2 / 3 * 1.0 + 4 / 3 * n_gram_bits(list("abababa"), 3)
        >>> n_gram_entropy("a b a b a b a", max_words=None) == bits / 2
        True
        >>> n_gram_entropy("too short") is None
        True
    """
    units = words(text)
    if len(units) < (max_words or 3):
        return None
    units = units[:max_words]
    return (2 / 3 * n_gram_bits(units, 2) + 4 / 3 * n_gram_bits(units, 3)) / 2


def n_gram_bits(units: Sequence[str], n: int) -> float:
    """Entropy of the n-grams of a text, base 2.

    Example:
        >>> n_gram_bits(["a", "b", "a", "b", "a"], 2)
        1.0
    """
    counts = Counter(zip(*(units[k:] for k in range(n)), strict=False))
    total = sum(counts.values())
    return -math.fsum(c / total * math.log2(c / total) for c in counts.values())
