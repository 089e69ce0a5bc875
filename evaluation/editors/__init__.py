"""Editing methods: a table of names, loaded when asked for."""

from schemas.core.registry import Registry

EDITORS = Registry(
    "editor",
    shipped=(
        "none",
        "prompt",
        "ice",
        "ike",
        "script_ike",
        "bm25",
        "dense",
        "scr",
        "ft",
        "ft_l",
        "ft_m",
        "lora",
        "rome",
        "r_rome",
        "memit",
        "emmet",
        "alphaedit",
        "mend",
        "malmen",
        "rledit",
        "boost",
    ),
    listing="scedit model editors",
)
"""Methods by name; others add theirs through the entry-point group ``scedit.editor``."""
