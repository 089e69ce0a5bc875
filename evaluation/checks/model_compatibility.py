"""What works with a model, found by trying: layout, tokenizer, scoring, one edit; what cannot work, in sentences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import torch

from evaluation.edits.delta_stack import applied
from evaluation.edits.weight_deltas import LowRankDelta
from evaluation.inference.passes import logits_at
from evaluation.inference.scoring import score
from evaluation.models.hooks import capture
from evaluation.models.language_model import LM
from evaluation.models.layout_choice import LayoutChoice
from evaluation.models.tokenization import encode_at, encode_target
from schemas.core.errors import ModelError, UserError
from schemas.probes import ScoreProbe

State = Literal["ok", "note", "no"]
"""``ok``: works. ``note``: works, and a reader has to know something. ``no``: cannot work."""

_FAULTS = (UserError, RuntimeError, ValueError, LookupError, TypeError, AttributeError, NotImplementedError)

SUBJECTS = (
    ("The capital city of {} is", "Peru"),
    ("{} has its seat in", "São Tomé"),
    ("How can one travel to {}?\nStep 1: Fly to", "Papua New Guinea"),
    ("The author of “{}” was born in", "War and Peace"),
)
"""Prompts with a subject in the middle, at the front, before a line break, between quotation marks."""

BOUNDARIES = ((" ", "Lima"), (" (", "Lima"), ("\n", "Lima"), (' "', "São Tomé"), (" ", "1492"))


class Finding(NamedTuple):
    """One thing that was looked at: its name, how it stands, what to say of it, plain values for programs."""

    what: str
    state: State
    text: str
    facts: dict[str, Any]


class Diagnosis(NamedTuple):
    """All findings of one model; ``works`` where none of them is ``no``."""

    model: str
    findings: tuple[Finding, ...]

    @property
    def works(self) -> bool:
        """Whether nothing was found that cannot work."""
        return all(f.state != "no" for f in self.findings)


def diagnose(
    name: str,
    *,
    device: str = "auto",
    dtype: str = "float32",
    trust_remote_code: bool = False,
    layout: LayoutChoice | None = None,
) -> Diagnosis:
    """Load a model and examine it; what keeps it from loading is a finding, not an error.

    Raises:
        UserError: the device or the dtype is unknown or not at hand (that is no property of the model).
    """
    from evaluation.models.loading import pick_device, pick_dtype

    pick_device(device), pick_dtype(dtype)
    try:
        lm = LM.load(name, device=device, dtype=dtype, trust_remote_code=trust_remote_code, layout=layout)
    except ModelError as error:
        return Diagnosis(name, (Finding("load", "no", f"The model cannot be used: {error}.", {}),))
    return examine(lm)


def examine(lm: LM) -> Diagnosis:
    """Look at a loaded model. It is left bit for bit as it was."""
    looks: dict[str, Callable[[LM], Finding]] = {
        "load": _check_loading,
        "blocks": _blocks,
        "mlp": _mlp,
        "attention": _attention,
        "head": _head,
        "start token": _start,
        "offsets": _offsets,
        "subject": _subject,
        "scoring": _scoring,
        "edit": _edit,
    }
    return Diagnosis(lm.name, tuple(_try_check(what, look, lm) for what, look in looks.items()))


def _try_check(what: str, look: Callable[[LM], Finding], lm: LM) -> Finding:
    try:
        return look(lm)
    except _FAULTS as error:
        return Finding(what, "no", f"This failed: {type(error).__name__}: {' '.join(str(error).split())[:300]}.", {})


def _check_loading(lm: LM) -> Finding:
    count = sum(p.numel() for p in lm.model.parameters())
    size = sum(p.numel() * p.element_size() for p in lm.model.parameters())
    places = sorted({str(p.device) for p in lm.model.parameters()})
    kind, dtype = type(lm.model).__name__, str(lm.dtype).removeprefix("torch.")
    facts = {"class": kind, "parameters": count, "bytes": size, "dtype": dtype, "devices": places}
    facts |= {"revision": lm.revision}
    text = f"{kind}, {count / 1e6:,.1f} million parameters in {dtype} ({size / 2**20:,.0f} MiB) on {', '.join(places)}."
    if lm.dtype not in (torch.float32, torch.float64):
        return Finding("load", "note", text + " Edits stay float32 beside the weights, which are not touched.", facts)
    return Finding("load", "ok", text, facts)


def _blocks(lm: LM) -> Finding:
    at = lm.layout
    facts = {"name": at.blocks, "depth": at.depth, "width": at.width}
    return Finding("blocks", "ok", f"{at.depth} blocks in {at.blocks}, residual width {at.width}.", facts)


def _mlp(lm: LM) -> Finding:
    at = lm.layout
    if at.experts:
        text = (
            "Mixtures of experts: no single map is the MLP's output projection. Methods in context, lora, ft_lm, side "
            "and unke work; the others are refused."
        )
        return Finding("mlp", "note", text, {"experts": True})
    order = "[in, out]" if at.transposed else "[out, in]"
    into = f"In: {', '.join(at.mlp_in)}. " if at.mlp_in else ""
    text = f"{into}Out: {at.mlp_out}, stored {order}; keys have {at.inner} entries, values {at.width}."
    facts = {"in": list(at.mlp_in), "out": at.mlp_out, "orientation": order, "inner": at.inner}
    facts["additive"] = at.additive
    if at.additive:
        return Finding("mlp", "ok", text, facts)
    more = (
        " Its output is changed before it is added to the residual stream. A value that is searched at the projection "
        "is exact; a change of the residual stream that is written into the projection is not."
    )
    return Finding("mlp", "note", text + more, facts)


def _attention(lm: LM) -> Finding:
    at = lm.layout
    facts = {"window": at.window, "limit": lm.limit, "positions": at.positions}
    notes = [f"Reads at most {lm.limit} tokens." if lm.limit else "No greatest length is configured."]
    if at.window:
        notes.append(f"Some layers see {at.window} tokens: prompts longer than half of that share no cached prefixes.")
    if not at.positions:
        notes.append("It takes no positions: prompts share no cached prefixes.")
    return Finding("attention", "note" if len(notes) > 1 else "ok", " ".join(notes), facts)


def _head(lm: LM) -> Finding:
    at = lm.layout
    facts = {"name": at.head, "plain": at.plain_head}
    if at.plain_head:
        return Finding("head", "ok", f"{at.head}: logits are one product with the final hidden state.", facts)
    text = f"{at.head}: logits are capped or scaled, so the whole model runs and not the scored positions alone."
    return Finding("head", "note", text, facts)


def _start(lm: LM) -> Finding:
    """Which special tokens the tokenizer puts around a text; they are kept at the front and cut at the end."""
    tok = lm.tokenizer
    ids = tok("Lima")["input_ids"]
    bare = tok("Lima", add_special_tokens=False)["input_ids"]
    at = next((i for i in range(len(ids) - len(bare) + 1) if ids[i : i + len(bare)] == bare), 0)
    front, back = tok.convert_ids_to_tokens(ids[:at]), tok.convert_ids_to_tokens(ids[at + len(bare) :])
    facts = {"front": front, "back": back, "bos": tok.bos_token, "eos": tok.eos_token}
    put = f"The tokenizer puts {' '.join(front)} first." if front else "The tokenizer puts no start token."
    if back:
        put += f" It puts {' '.join(back)} last, which is cut before an object is scored."
    if front or not tok.bos_token:
        return Finding("start token", "ok", put, facts)
    known = "" if tok.bos_token == tok.eos_token else f" although it has one ({tok.bos_token})"
    text = put.removesuffix(".") + known + "; it is used as it is, as the model saw texts in training."
    return Finding("start token", "note" if known else "ok", text, facts)


def _offsets(lm: LM) -> Finding:
    """Characters of tokens must run forward, and an object must be found behind every kind of separator."""
    merged, prompt = [], "How to get there?\nStep 1: Fly to"
    for separator, target in BOUNDARIES:
        text = prompt + separator + target
        spans = lm.tokenizer(text, return_offsets_mapping=True)["offset_mapping"]
        ends = [end for start, end in spans if end > start]
        if ends != sorted(ends) or not ends or ends[-1] != len(text):
            reason = "The tokenizer's character offsets do not run to the end of a text: objects cannot be found in it."
            return Finding("offsets", "no", reason, {"text": text})
        if encode_target(lm.tokenizer, prompt, target, separator=separator).straddles:
            merged.append(separator + target)
    facts = {"tried": len(BOUNDARIES), "merged": merged}
    if merged:
        shown = ", ".join(repr(m) for m in merged)
        text = f"Objects are found, but in {shown} the first token also holds the separator (see scedit store check)."
        return Finding("offsets", "note", text, facts)
    return Finding(
        "offsets", "ok", "Objects are found behind spaces, brackets, quotation marks and line breaks.", facts
    )


def _subject(lm: LM) -> Finding:
    tokens = {}
    for template, name in SUBJECTS:
        start = template.index("{}")
        placed = encode_at(lm.tokenizer, template.replace("{}", name), end=start + len(name))
        spans = lm.tokenizer(template.replace("{}", name), return_offsets_mapping=True)["offset_mapping"]
        begin, end = spans[placed.last]
        if not start < end or not begin < start + len(name):
            reason = f"The last token of {name!r} is not found in {template!r}: keys would be read elsewhere."
            return Finding("subject", "no", reason, {"subject": name})
        tokens[name] = lm.tokenizer.convert_ids_to_tokens([placed.ids[placed.last]])[0]
    shown = ", ".join(f"{token} for {name}" for name, token in tokens.items())
    return Finding("subject", "ok", f"Last tokens of subjects are found: {shown}.", tokens)


@torch.no_grad()
def _scoring(lm: LM) -> Finding:
    """The batched, cached scorer against one plain pass over each whole sequence."""
    prompt, targets = "The capital of Peru is", ("Lima", "Papua New Guinea", "Oslo")
    (answer,) = score(lm, [ScoreProbe(purpose="check", item="doctor", prompt=prompt, targets=targets)])
    if answer.error:
        return Finding("scoring", "no", f"A prompt cannot be scored: {answer.error}.", {})
    worst = 0.0
    for got, target in zip(answer.targets, targets, strict=True):
        enc = encode_target(lm.tokenizer, prompt, target)
        ids = torch.tensor([enc.ids], device=lm.device)
        logprobs = lm.model(input_ids=ids, use_cache=False).logits[0].float().log_softmax(-1)
        plain = sum(float(logprobs[i - 1, enc.ids[i]]) for i in range(enc.first, len(enc.ids)))
        worst = max(worst, abs(plain - got.logprob))
    within = 1e-3 if lm.dtype in (torch.float32, torch.float64) else 0.5
    facts = {"worst_difference_nats": worst, "allowed": within}
    if not worst <= within:
        text = f"Scores from cached beginnings differ from plain passes by {worst:.3g} nats: do not trust them."
        return Finding("scoring", "no", text, facts)
    return Finding("scoring", "ok", f"Cached and batched scores equal plain passes (within {worst:.1g} nats).", facts)


@torch.no_grad()
def _edit(lm: LM) -> Finding:
    """A rank-one change in the middle layer: felt exactly where it should be, and gone without a trace afterwards."""
    if lm.layout.experts:
        return Finding("edit", "note", "No weight is edited here: there is no MLP output projection.", {})
    layer = lm.layout.depth // 2
    projection, text = lm.projection(layer), "The capital of Peru is"
    placed = encode_at(lm.tokenizer, text, end=text.index("Peru") + 4)
    ids, mask = lm.pad([placed.ids])
    with capture(projection) as before, capture(lm.block(layer)) as block_before:
        plain = logits_at(lm, ids, mask, [0], [len(placed.ids) - 1])
    key, value = before.input[0, placed.last].float(), before.output[0, placed.last].float()
    delta = LowRankDelta(lm.layout.weight(layer), value[:, None], (key / (key @ key))[:, None])  # doubles the value
    weight: torch.Tensor = projection.weight  # type: ignore[assignment]
    original = weight.detach().clone()
    with applied(lm.model, [delta]), capture(projection) as after, capture(lm.block(layer)) as block_after:
        edited = logits_at(lm, ids, mask, [0], [len(placed.ids) - 1])
    gained = after.output[0, placed.last].float() - value
    off = float((gained - value).norm() / value.norm())
    arrived = (block_after.output - block_before.output)[0, placed.last].float()
    additive = float((arrived - value).norm() / value.norm()) <= 0.05
    moved = float((edited - plain.to(edited.device)).abs().max())
    whole = torch.equal(weight.view(torch.uint8), original.view(torch.uint8))
    facts = {"layer": layer, "relative_error": off, "logits_moved": moved, "restored": whole}
    if not whole:
        return Finding("edit", "no", "After a test edit the weights are not what they were.", facts)
    if not off <= 0.05:
        text = f"A test edit of layer {layer} does not do what it should (it is off by {off:.1%})."
        return Finding("edit", "no", text, facts)
    if lm.layout.additive and not additive:
        text = f"What a test edit adds in layer {layer} does not arrive in the block's output: set additive = false."
        return Finding("edit", "no", text, {**facts, "additive": False})
    if not moved > 0:
        return Finding("edit", "no", f"A test edit of layer {layer} changes nothing in the model's answer.", facts)
    text = f"A rank-one edit of layer {layer} does what it should (off by {off:.1g}), and is undone bit for bit."
    return Finding("edit", "ok", text, facts)
