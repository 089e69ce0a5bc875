"""Labels of steps in other languages and shapes."""

from __future__ import annotations

import pytest

from construction.scripts.cleaning import clean_steps
from construction.scripts.foreign_labels import without_foreign_label

LABELS = ["Étape 4 : ", "Etape 4: ", "ÉTAPE 4 – ", "Étape n° 4 : ", "4ème étape : ", "Paso 4: ", "Paso 4.- ",
          "Paso n.º 4: ", "Schritt 4: ", "4. Schritt: ", "Passo 4 - ", "Stap 4. ", "Krok 4: ", "Шаг 4: ", "Etapa 4: ",
          "Adım 4: ", "步骤4：", "ステップ4：", "第4步：", "4단계: ", "الخطوة 4: ", "**Paso 4:** ", "4/4 ", "4/4: ",
          "[4/4] ", "(4/4) ", "4 / 4 ", "Step 4/4 ", "Step 4 of 4 ", "(4)", "(4) ", "⑷ ", "⓸ ",
          "④ ", "４ "]  # fmt: skip


@pytest.mark.parametrize("label", LABELS)
def test_a_label_of_another_language_or_shape_goes_since_the_fifth_rules(label: str) -> None:
    steps = ["Pack a bag", "Rest well", "Wait there", f"{label}Fly to Rome"]
    assert clean_steps(steps)[3] == "Fly to Rome"


@pytest.mark.parametrize(
    "step",
    [
        "3/4 cups are enough",
        "4/5 of the class agree",
        "4 of 9 trains stop there",
        "Pas 4 is a club",
        "Punto 4 stops there",
        "Fase out the lamp",
        "(5)Fly to Rome",
        "(about) Fly to Rome",
        "2 friends help",
        "４0 people wait",
        "Step 4 of the stairs is loose",
    ],
)
def test_what_is_no_label_stays(step: str) -> None:
    assert without_foreign_label(step, 4, 4) == step


def test_a_name_that_looks_like_a_label_stays_whole() -> None:
    steps = ["Pack", "Paso 2: The Band plays"]
    assert clean_steps(steps, names=["Paso 2: The Band"])[1] == steps[1]
