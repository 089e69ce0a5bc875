"""The options of benchmarks that run one check of a store on labelled items."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from curation.checks.store_checks import make_checks
from schemas.core.config import override


def add_check_options(parser: argparse.ArgumentParser) -> None:
    """``--model``, ``--set`` and ``--folder``."""
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--set", action="append", default=[], metavar="CHECK.NAME=VALUE")
    parser.add_argument("--folder", type=Path, help="Keep store and journal here, to go on or to look at.")


@contextmanager
def chosen_check(options: argparse.Namespace) -> Iterator[tuple[Any, Path]]:
    """The check that the options name, set up, and the folder to work in: theirs, or one that goes with the block."""
    (check,) = make_checks([options.check], models=options.model, options=override({}, options.set))
    if options.folder is not None:
        yield check, options.folder
        return
    with tempfile.TemporaryDirectory() as folder:
        yield check, Path(folder)
