"""Benchmarks of checks: one set of options, a folder that stays where it is named and goes where it is not."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

options = pytest.importorskip("benchmarks.support.check_options", reason="benchmarks are not shipped")


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("check")
    options.add_check_options(parser)
    return parser.parse_args(["predictability", *words])


def test_the_check_is_set_up_as_the_options_say(tmp_path: Path) -> None:
    namespace = parsed("--model", "some-model", "--set", "predictability.rivals=3", "--folder", str(tmp_path / "mine"))
    with options.chosen_check(namespace) as (check, folder):
        assert (check.model, check.params.rivals) == ("some-model", 3) and folder == tmp_path / "mine"


def test_a_folder_that_was_not_named_goes_with_the_block_even_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), options.chosen_check(parsed()) as (_, folder):
        (folder / "x").write_text("x")
        raise ZeroDivisionError
    assert not folder.exists()
