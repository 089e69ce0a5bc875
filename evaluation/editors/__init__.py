"""Editing methods: a table of names, loaded when asked for."""

from schemas.registry import Registry

EDITORS = Registry(
    "editor",
    {
        "none": "evaluation.editors.none:Nothing",
        "prompt": "evaluation.editors.prompt:Prompt",
        "ft": "evaluation.editors.ft:FineTuning",
        "ft_l": "evaluation.editors.ft:ConstrainedFineTuning",
        "rome": "evaluation.editors.rome:Rome",
    },
)
"""Methods by name; others add theirs through the entry-point group ``scedit.editor``."""
