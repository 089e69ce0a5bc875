"""Editing methods: a table of names, loaded when asked for."""

from schemas.registry import Registry

EDITORS = Registry(
    "editor",
    {
        "none": "evaluation.editors.none:Nothing",
        "prompt": "evaluation.editors.prompt:Prompt",
        "ice": "evaluation.editors.ice:InContext",
        "ike": "evaluation.editors.ike:Ike",
        "script_ike": "evaluation.editors.script_ike:ScriptIke",
        "bm25": "evaluation.editors.bm25:Bm25Retrieval",
        "dense": "evaluation.editors.dense:DenseRetrieval",
        "ft": "evaluation.editors.ft:FineTuning",
        "ft_l": "evaluation.editors.ft:ConstrainedFineTuning",
        "ft_m": "evaluation.editors.ft_m:MaskedFineTuning",
        "lora": "evaluation.editors.lora:Lora",
        "rome": "evaluation.editors.rome:Rome",
        "r_rome": "evaluation.editors.r_rome:RebuiltRome",
        "memit": "evaluation.editors.memit:Memit",
        "emmet": "evaluation.editors.emmet:Emmet",
        "alphaedit": "evaluation.editors.alphaedit:AlphaEdit",
        "mend": "evaluation.editors.mend:Mend",
        "boost": "evaluation.editors.boost:Boost",
    },
)
"""Methods by name; others add theirs through the entry-point group ``scedit.editor``."""
