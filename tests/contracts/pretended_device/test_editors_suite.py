"""The project's own tests of methods that change weights, with their models on a pretended card."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts.pretended_device.test_evaluation_suite import check


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["editors/fine_tuning", "editors/locate_edit"])
def test_all_of_a_folder(folder: str, tmp_path: Path) -> None:
    check([folder], tmp_path / "refusals.json", minimum=1)
