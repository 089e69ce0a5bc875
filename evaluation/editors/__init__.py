"""Editing methods: a table of names, loaded when asked for."""

from schemas.core.registry import Registry

EDITORS = Registry(
    "editor",
    {
        "none": "evaluation.editors.baselines.none:Nothing",
        "prompt": "evaluation.editors.in_context.prompt:Prompt",
        "ice": "evaluation.editors.in_context.ice:InContext",
        "ike": "evaluation.editors.in_context.ike:Ike",
        "script_ike": "evaluation.editors.in_context.script_ike:ScriptIke",
        "bm25": "evaluation.editors.in_context.bm25:Bm25Retrieval",
        "dense": "evaluation.editors.in_context.dense:DenseRetrieval",
        "ft": "evaluation.editors.fine_tuning.ft:FineTuning",
        "ft_l": "evaluation.editors.fine_tuning.ft:ConstrainedFineTuning",
        "ft_m": "evaluation.editors.fine_tuning.ft_m:MaskedFineTuning",
        "lora": "evaluation.editors.fine_tuning.lora:Lora",
        "rome": "evaluation.editors.locate_edit.rome:Rome",
        "r_rome": "evaluation.editors.locate_edit.r_rome:RebuiltRome",
        "memit": "evaluation.editors.locate_edit.memit:Memit",
        "emmet": "evaluation.editors.locate_edit.emmet:Emmet",
        "alphaedit": "evaluation.editors.locate_edit.alphaedit:AlphaEdit",
        "mend": "evaluation.editors.hypernetwork.mend:Mend",
        "boost": "evaluation.editors.baselines.boost:Boost",
    },
)
"""Methods by name; others add theirs through the entry-point group ``scedit.editor``."""
