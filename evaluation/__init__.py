"""What edits do: models, editors, metrics, the runner, the report."""

from schemas.core.lazy import lazy_names

_PUBLIC = {
    "DenseDelta": "evaluation.edits.weight_deltas:DenseDelta",
    "EDITORS": "evaluation.editors:EDITORS",
    "Edit": "evaluation.edits.edit:Edit",
    "Editor": "evaluation.editors.base:Editor",
    "LM": "evaluation.models.language_model:LM",
    "LowRankDelta": "evaluation.edits.weight_deltas:LowRankDelta",
    "METRICS": "evaluation.metrics:METRICS",
    "Metric": "evaluation.metrics.base:Metric",
    "NoEdit": "evaluation.edits.edit:NoEdit",
    "Preference": "evaluation.metrics.base:Preference",
    "PromptEdit": "evaluation.edits.edit:PromptEdit",
    "RunConfig": "evaluation.runs.config:RunConfig",
    "Summary": "evaluation.metrics.base:Summary",
    "WeightEdit": "evaluation.edits.edit:WeightEdit",
    "load_config": "evaluation.runs.config:load_config",
    "load_deltas": "evaluation.saved_edits.formats:load_deltas",
    "load_run": "evaluation.runs.results:load_run",
    "log_probs": "evaluation.runs.one_case:log_probs",
    "make_editor": "evaluation.editors.presets:make_editor",
    "run": "evaluation.runs.runner:execute",
    "save_edit": "evaluation.saved_edits.save:save_edit",
    "score_case": "evaluation.runs.one_case:score_case",
    "script_probe": "evaluation.metrics.token_level:script",
    "write_report": "evaluation.report.write:write_report",
}
__all__ = list(_PUBLIC)
__getattr__, __dir__ = lazy_names(__name__, _PUBLIC)
