"""Control tokens of language models in a text: they end it, or change who speaks, wherever a model reads it."""

from __future__ import annotations

import re

_CONTROL = re.compile(
    r"<[|｜][^|｜<>\n]{1,40}[|｜]>|</?s>|</?(?:bos|eos|pad|unk|mask|start_of_turn|end_of_turn)>|\[/?INST\]|<</?SYS>>"
)


def control_token(text: str) -> str | None:
    """The first control token in a text, or None.

    Example:
        >>> control_token("The capital of {} is<|endoftext|>"), control_token("a < b"), control_token("[INST] Go")
        ('<|endoftext|>', None, '[INST]')
    """
    match = _CONTROL.search(text)
    return match[0] if match else None
