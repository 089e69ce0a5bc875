# Types of the public names, which __init__.py imports when they are first used (tests/schemas/core/test_lazy.py).
from evaluation.editors import EDITORS as EDITORS
from evaluation.editors.base import Editor as Editor
from evaluation.editors.presets import make_editor as make_editor
from evaluation.edits.edit import Edit as Edit
from evaluation.edits.edit import NoEdit as NoEdit
from evaluation.edits.edit import PromptEdit as PromptEdit
from evaluation.edits.edit import WeightEdit as WeightEdit
from evaluation.edits.weight_deltas import DenseDelta as DenseDelta
from evaluation.edits.weight_deltas import LowRankDelta as LowRankDelta
from evaluation.metrics import METRICS as METRICS
from evaluation.metrics.base import Metric as Metric
from evaluation.metrics.base import Preference as Preference
from evaluation.metrics.base import Summary as Summary
from evaluation.metrics.token_level import script as script_probe
from evaluation.models.language_model import LM as LM
from evaluation.report.write import write_report as write_report
from evaluation.runs.config import RunConfig as RunConfig
from evaluation.runs.config import load_config as load_config
from evaluation.runs.one_case import log_probs as log_probs
from evaluation.runs.one_case import score_case as score_case
from evaluation.runs.results import load_run as load_run
from evaluation.runs.runner import execute as run
from evaluation.saved_edits.formats import load_deltas as load_deltas
from evaluation.saved_edits.save import save_edit as save_edit

__all__ = [
    "EDITORS",
    "LM",
    "METRICS",
    "DenseDelta",
    "Edit",
    "Editor",
    "LowRankDelta",
    "Metric",
    "NoEdit",
    "Preference",
    "PromptEdit",
    "RunConfig",
    "Summary",
    "WeightEdit",
    "load_config",
    "load_deltas",
    "load_run",
    "log_probs",
    "make_editor",
    "run",
    "save_edit",
    "score_case",
    "script_probe",
    "write_report",
]
