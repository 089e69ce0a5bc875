# Types of the public names, which __init__.py imports when they are first used (tests/schemas/core/test_lazy.py).
from construction.checks import judge as judge
from construction.checks.base import CheckInputs as CheckInputs
from construction.checks.base import RuleCheck as RuleCheck
from construction.llm.endpoint import Access as Access
from construction.llm.prompt_file import PromptStep as PromptStep
from construction.pipeline.plan import ConstructionPlan as ConstructionPlan
from construction.scripts.truncation import cut_script as cut_script

__all__ = [
    "Access",
    "CheckInputs",
    "ConstructionPlan",
    "PromptStep",
    "RuleCheck",
    "cut_script",
    "judge",
]
