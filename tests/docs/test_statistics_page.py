"""The page on statistics: its examples run, and what it names exists."""

import doctest
import importlib
import re

from tests.support import ROOT

PAGE = ROOT / "docs" / "statistics.md"


def test_examples_run():
    text = PAGE.read_text(encoding="utf-8").replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {}, "statistics.md", str(PAGE), 0)
    assert len(test.examples) >= 15
    assert doctest.DocTestRunner().run(test).failed == 0


def test_named_functions_exist():
    modules = "agreement|bootstrap|correlation|intervals|paired"
    names = set(re.findall(rf"`({modules})\.(\w+)", PAGE.read_text(encoding="utf-8")))
    assert len(names) >= 20
    for module, name in names:
        assert hasattr(importlib.import_module(f"curation.stats.{module}"), name), f"{module}.{name}"
