"""Construction: from facts to script questions, scripts and script prompts, with checks on each."""

from schemas.core.lazy import lazy_names

_PUBLIC = {
    "Access": "construction.llm.endpoint:Access",
    "CheckInputs": "construction.checks.base:CheckInputs",
    "ConstructionPlan": "construction.pipeline.plan:ConstructionPlan",
    "PromptStep": "construction.llm.prompt_file:PromptStep",
    "RuleCheck": "construction.checks.base:RuleCheck",
    "cut_script": "construction.scripts.truncation:cut_script",
    "judge": "construction.checks:judge",
}
__all__ = list(_PUBLIC)
__getattr__, __dir__ = lazy_names(__name__, _PUBLIC)
