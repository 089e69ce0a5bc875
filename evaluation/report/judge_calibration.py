"""Judges of a store calibrated to the people who rated a random sample: what people would say of all scripts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from evaluation.judge.inputs import judge_inputs, question_authors, rated_scripts
from evaluation.judge.model_families import family_conflicts
from evaluation.judge.reliability.calibration import ESTIMAND, Calibration, CalibrationRequest, calibrate_judge
from schemas.core.errors import UserError
from schemas.raters import Rater


class JudgeCalibration(NamedTuple):
    """One judge: its calibration, or why there is none; and what it has in common with those it judges."""

    judge: str
    calibration: Calibration | None
    why: str
    flags: tuple[str, ...]
    estimand: str = ESTIMAND


def calibrations(stores: Sequence[Path]) -> list[JudgeCalibration]:
    """Every judge with ratings in the stores.

    Raises:
        StoreError: a store cannot be read.
    """
    from curation.store.store import Store

    out = []
    for path in stores:
        with Store.open(path) as store:
            try:
                asks = judge_inputs(store)
            except UserError as error:  # a script without its question or fact: the report goes on and says so
                out.append(JudgeCalibration(f"judges in {path.name}", None, str(error), ()))
                continue
            ratings = rated_scripts(store, [a.item for a in asks])
            authors = question_authors(store)
        writers = {a.writer for a in asks}
        for judge in sorted({g.source for g in ratings if g.rater.is_judge}):
            told = tuple(family_conflicts(Rater.judge(judge).name, writers=writers, authors=authors))
            try:
                out.append(
                    JudgeCalibration(judge, calibrate_judge(ratings, asks, CalibrationRequest(judge=judge)), "", told)
                )
            except UserError as error:
                out.append(JudgeCalibration(judge, None, str(error), told))
    return out
