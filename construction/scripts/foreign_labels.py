"""Labels of steps in other languages and shapes: "Étape 4 : ", "Paso 4: ", "4단계: ", "4/4 ", "(4)", "⑷"."""

from __future__ import annotations

import re
import unicodedata

_STEP = (
    "step|étape|etape|etapa|etapă|paso|punto|passo|passaggio|pas|schritt|punkt|stap|steg|trinn?|skref|krok|korak|"
    "lépés|vaihe|askel|samm|solis|žingsnis|hapi|fase|adım|adim|aşama|bước|langkah|hakbang|hatua|шаг|крок|этап|стъпка|"
    "чекор|βήμα|خطوة|الخطوة|مرحله|שלב|צעד|चरण|ধাপ|ขั้นตอนที่|ขั้นตอน|步骤|步驟|ステップ|手順|단계"
)
_SIGN = r"(?:n\s?[°ºo.]{1,2}|n[uú]mero|nr\.?|no\.?|№|#)"
_MARK = r"\s*(?:[.:)：．、·]|[–—-](?=\s))+\s*"
_NAMED = re.compile(
    rf"^[(\[]?(?:{_STEP})[\s\u00a0._-]*(?:{_SIGN}\s*)?\d{{1,2}}(?:\s?(?:/|of|out of|sur|de|von|van|av)\s?\d{{1,2}})?"
    rf"\s?[)\]]?{_MARK}(?=\S)",
    re.IGNORECASE,
)
_NUMBER_FIRST = re.compile(
    rf"^(?:第\s?)?\d{{1,2}}(?:[.ªº°]|st|nd|rd|th|ère|ème|er|e)?\s?(?:{_STEP}|步|番目){_MARK}(?=\S)", re.IGNORECASE
)
_OF_ALL = re.compile(
    r"^[(\[]?(?:step\s)?(?P<number>\d{1,2})\s?(?:/|of|out of)\s?(?P<all>\d{1,2})[)\]]?(?:\s*[.:)–—-]+)?\s+(?=[^\W\d_])",
    re.IGNORECASE,
)
_GLUED = re.compile(r"^[(\[](?P<number>\d{1,2})[)\]](?=[^\W\d_])")
_ENCLOSED = re.compile(r"^(?P<number>[⑴-⒇⒈-⒛⓵-⓾]|[０-９]{1,2}(?=\s))\s*(?=\S)")


def without_foreign_label(step: str, place: int, count: int) -> str:
    """The step without its label; a bare number is one only where it is the number of the step.

    Args:
        step: The step without marks.
        place: Its number, from 1.
        count: How many steps there are.

    Example:
        >>> without_foreign_label("Étape 4 : Fly home", 4, 4), without_foreign_label("4/4 Fly home", 4, 4)
        ('Fly home', 'Fly home')
        >>> without_foreign_label("3/4 cups are enough", 1, 4), without_foreign_label("Punto 4 bus stop is near", 1, 4)
        ('3/4 cups are enough', 'Punto 4 bus stop is near')
    """
    for pattern in (_NAMED, _NUMBER_FIRST):
        if (match := pattern.match(step)) is not None:
            return step[match.end() :]
    of_all = _OF_ALL.match(step)
    if of_all is not None and (int(of_all["number"]), int(of_all["all"])) == (place, count) and count > 1:
        return step[of_all.end() :]
    for pattern in (_GLUED, _ENCLOSED):
        match = pattern.match(step)
        if match is not None and _value(match["number"]) == place:
            return step[match.end() :]
    return step


def _value(number: str) -> int:
    """The number that digits or one sign ("⑷") stand for."""
    return int(number) if len(number) > 1 or number.isdecimal() else int(unicodedata.numeric(number))
