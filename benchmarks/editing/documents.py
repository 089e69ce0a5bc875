"""Documents: speed and memory, both ways in one run, as processor time.

    python -m benchmarks.editing.documents --write               all, into results/documents.json
    python -m benchmarks.editing.documents scoring shared        some, printed

scoring    EM and PPL of documents' probes from packed passes (engine `fast`) against one probe at a time over the whole
           vocabulary, without an edit and with the document in context
shared     400 shared questions under an edit of layer 21 from what the unedited model left below it, against full
           passes under the same edit; bytes of the journal's line
training   whole-model `side` and `ft_lm` of the embedded model: seconds an edit, peak memory, weights back bit for bit
memit      MEMIT of documents with 5 statements each, all documents together against one at a time, and statements
           searched one after another by whole passes, as published code does it
mend_doc   steps of training of the network: seconds a step after what is read once

Processor seconds bear other load better than the clock does. Peak memory is the resident set of the whole process: run
the section alone to know its own. With ``--write`` results of sections that are not run stay. ``--documents`` and
``--plain`` say how many documents `memit` takes, together and one at a time; the ratio is of seconds an edit.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch

from benchmarks.run import machine, write
from benchmarks.support import naive_reference
from benchmarks.support.workload import search_of
from curation.files.artifact_cache import Cache
from curation.files.model_packages import cache_dir
from curation.loaders import load
from curation.shipped import documents_split
from curation.shipped.fact_documents import documents_from_facts
from curation.shipped.specificity_pool import pool_from_facts
from evaluation.editors.presets import make_editor
from evaluation.edits.weight_deltas import Delta
from evaluation.engines.peak_memory import PeakMemory
from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.request import EditedProbes
from evaluation.inference.scoring import Rewrite
from evaluation.inference.token_tree import tree
from evaluation.metrics.document_choice import DocumentChoice
from evaluation.metrics.document_prompts import prompt_of
from evaluation.metrics.documents.probes import answer_probe
from evaluation.models.language_model import LM
from evaluation.simplify.editor import SimplifiedRequest
from schemas.cases import DocumentCase
from schemas.documents.simplified import SimplifiedFact, StatedDocument
from schemas.facts import Fact
from schemas.probes import ScoreProbe, instructed

RESULTS = Path(__file__).resolve().parents[1] / "results"
MODEL = "SmolLM2-135M-Instruct (embedded), float32, cpu"
QUESTIONS, FACTS, LAYER = 400, 5, 21
CHOICE = DocumentChoice()


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds of a call, and its value."""
    start = time.process_time()
    value = run()
    return time.process_time() - start, value


def cases(count: int) -> list[DocumentCase]:
    return [case for case in documents_split().all_cases if isinstance(case, DocumentCase)][:count]


@torch.no_grad()
def plain_score(lm: LM, probe: ScoreProbe, rewrite: Rewrite | None = None) -> tuple[float, bool]:
    """One probe alone: log-probability and exact match from the logits of every position."""
    text = lm.encode(instructed(probe, rewrite), probe.targets[0], separator=probe.separator)
    logits = lm.model(input_ids=torch.tensor([text.ids]), use_cache=False).logits[0].float().log_softmax(-1)
    rows = logits[text.first - 1 : len(text.ids) - 1]
    goals = torch.tensor(text.target)
    match = bool((rows.argmax(-1) == goals).all())
    return float(rows.gather(1, goals[:, None]).sum()), match


def scoring(lm: LM, *, documents: int = 24) -> dict[str, Any]:
    """EM and PPL of all probes of documents, of the unedited model and with each document in context."""
    groups = [[answer_probe(p, CHOICE) for p in case.probes if p.blanks < 2] for case in cases(documents)]
    EditScorer(lm).score([EditedProbes((), None, groups[0][:2])])
    plain_score(lm, groups[0][0])
    ice = [make_editor("ice", lm, Cache(cache_dir())).edit([case.document]).rewrite for case in cases(documents)]
    unedited = [EditedProbes((), None, [probe for group in groups for probe in group])]
    in_context = [EditedProbes((), rewrite, group) for rewrite, group in zip(ice, groups, strict=True)]
    plain = {"unedited": packed_or_alone(lm, unedited), "in_context": packed_or_alone(lm, in_context)}
    return {"documents": documents, "probes": len(unedited[0].probes), **plain}


def multiplications(lm: LM, edited: Sequence[EditedProbes]) -> dict[str, float]:
    """Tokens of a pass a probe, the least that any packing reads, and the ratio of products of weights that follows.

    A probe alone takes the maps of the blocks and the head at every token; the least is each beginning once (of the
    questions of one prompt) and the head where an answer's tokens are predicted.
    """
    blocks = lm.layout.depth * sum(p.numel() for p in lm.block(0).parameters() if p.ndim == 2)
    head = lm.module(lm.layout.head).weight.numel()
    alone = least = reads = 0
    for one in edited:
        texts = [
            lm.encode(instructed(probe, one.rewrite), probe.targets[0], separator=probe.separator)
            for probe in one.probes
            if isinstance(probe, ScoreProbe)
        ]
        alone += sum(len(text.ids) for text in texts)
        least += len(tree([text.ids[:-1] for text in texts]).ids)
        reads += sum(len(text.ids) - text.first for text in texts)
    ratio = alone * (blocks + head) / (least * blocks + reads * head)
    return {
        "tokens_one_at_a_time": alone,
        "tokens_at_least": least,
        "predicted_tokens": reads,
        "ratio_of_multiplications": round(ratio, 2),
    }


def packed_or_alone(lm: LM, edited: Sequence[EditedProbes]) -> dict[str, Any]:
    """Packed passes against a pass a probe, which gives both metrics, and against a pass a probe and metric."""
    asked = [(probe, one.rewrite) for one in edited for probe in one.probes if isinstance(probe, ScoreProbe)]
    slow, plain = timed(lambda: [plain_score(lm, *probe) for probe in asked])
    fast, answers = timed(lambda: EditScorer(lm).score(edited))
    scores = [answer.targets[0] for group in answers for answer in group]
    gaps = [abs(one.logprob - alone[0]) for one, alone in zip(scores, plain, strict=True)]
    return {
        **multiplications(lm, edited),
        "seconds_packed": round(fast, 2),
        "seconds_one_at_a_time": round(slow, 2),
        "ratio": round(slow / fast, 2),
        "ratio_to_a_pass_for_each_of_em_and_ppl": round(2 * slow / fast, 2),
        "largest_difference_of_log_probability": float(f"{max(gaps):.2g}"),
        "other_exact_matches": sum(one.greedy != alone[1] for one, alone in zip(scores, plain, strict=True)),
    }


def questions(count: int) -> list[ScoreProbe]:
    """Questions of the shipped pool, asked as a specificity set is."""
    out = []
    for one in pool_from_facts(load("shipped").require())[:count]:
        prompt = prompt_of(one.query, CHOICE)
        out.append(
            ScoreProbe(
                purpose="shared",
                item=one.item,
                prompt=prompt.text,
                separator=prompt.separator,
                targets=(one.answers[0],),
                instruction=CHOICE.instruction,
                greedy=True,
            )
        )
    return out


def shared(lm: LM, *, count: int = QUESTIONS) -> dict[str, Any]:
    """Shared questions under one edit of layer 21."""
    from tests.support.facts import peru_fact

    probes = questions(count)
    edit = make_editor("ft", lm, Cache(cache_dir()), {"layer": LAYER, "steps": 3}).edit([peru_fact()])
    kept = EditScorer(lm, layers=(LAYER,))
    unedited, _ = timed(lambda: kept.score([EditedProbes((), None, probes)]))
    under = [EditedProbes(edit.deltas or (), None, probes)]
    fast, ours = timed(lambda: kept.score(under))
    slow, full = timed(lambda: EditScorer(lm).score(under))
    gaps = [abs(a.targets[0].logprob - b.targets[0].logprob) for a, b in zip(ours[0], full[0], strict=True)]
    line = "".join(answer.model_dump_json() for answer in ours[0])
    return {
        "questions": len(probes),
        "layer": f"{LAYER} of {lm.layout.depth}",
        "seconds_unedited_once": round(unedited, 1),
        "seconds_from_layer": round(fast, 1),
        "seconds_full_passes": round(slow, 1),
        "ratio": round(slow / fast, 2),
        "largest_difference_of_log_probability": float(f"{max(gaps):.2g}"),
        "journal_bytes": len(line.encode()),
    }


def statements(case: DocumentCase, count: int = FACTS) -> StatedDocument:
    """A document with so many statements: its own probes as questions, which name its subject."""
    name = case.document.entity or ""
    probes = [p for p in case.probes if p.query.count(name) == 1 and p.blanks == 0][:count]
    facts = [
        SimplifiedFact(
            key=f"{case.document.key}/{n}",
            document=case.document.key,
            strategy="benchmark",
            subject=name,
            prompt=f"Question: {p.query.replace(name, '{}')}\nAnswer:",
            target=p.answer,
        )
        for n, p in enumerate(probes)
        if name
    ]
    return StatedDocument(case.document, tuple(facts))


def training(lm: LM) -> dict[str, Any]:
    """One edit of each method that trains all weights, at published rates."""
    stated = max((statements(case) for case in cases(24)), key=lambda one: len(one.facts))
    out: dict[str, Any] = {"statements_of_side": len(stated.facts)}
    requests: dict[str, Sequence[Any]] = {"side": [stated], "ft_lm": [stated.document]}
    options: dict[str, dict[str, Any]] = {"side": {"stop_below": 0.0}, "ft_lm": {"epochs": 25, "lr": 1e-5}}
    for method, edited in requests.items():
        before, peak = lm.weights_digest(), PeakMemory("cpu")
        edit = make_editor(method, lm, Cache(cache_dir()), options[method]).edit(edited)

        def put_on(edit: Any = edit) -> bool:
            with edit.on(lm):
                return True

        seconds, _ = timed(put_on)
        out[method] = {
            "seconds_an_edit": round(seconds, 1),
            "steps": edit.notes["steps"],
            "peak_gib": round(peak.read() / 2**30, 2),
            "back_bit_for_bit": lm.weights_digest() == before,
        }
    return out


def groups_of(count: int) -> list[list[SimplifiedRequest]]:
    """Groups of five statements of shipped facts, a group standing for a document."""
    from schemas.facts import Entity, Object

    return [
        [
            SimplifiedRequest(fact.key, fact.prompt, Entity(text=fact.subject.text), Object(text=fact.new_object.text))
            for fact in facts
        ]
        for facts in fact_groups(count)
    ]


def fact_groups(count: int) -> list[list[Fact]]:
    """The facts behind `groups_of`."""
    from curation.case_sources.support import cases_from_facts

    whole = [c.fact for c in cases_from_facts(load("shipped").require()) if c.fact.prompt.count("{}") == 1]
    return [whole[n : n + FACTS] for n in range(0, count * FACTS, FACTS)]


def searched_one_by_one(lm: LM, editor: Any, facts: Sequence[Fact]) -> Sequence[Delta]:
    """MEMIT of a document as published code makes it: a search for one statement after another, whole passes."""
    texts, moments = editor._material()
    seconds = {n: m.second.to(lm.device) for n, m in moments.items()}
    p = editor.params
    return naive_reference.memit(lm, p.layers, facts, texts, seconds, p.lam, search_of(p))[0]


def memit(lm: LM, *, documents: int = 24, plain: int = 3) -> dict[str, Any]:
    """Documents with five statements each: `edit_groups` against `edit` of each, and against published code's way."""
    editor: Any = make_editor("memit", lm, Cache(cache_dir()), {"lam": 100.0})
    groups = groups_of(documents)
    editor.edit(groups[0][:1])
    published, one_by_one = timed(lambda: [searched_one_by_one(lm, editor, f) for f in fact_groups(plain)])
    slow, apart = timed(lambda: [editor.edit(group) for group in groups[:plain]])
    fast, together = timed(lambda: editor.edit_groups(groups))
    gaps, from_published = (
        [
            float((a.matrix() - b.matrix()).norm() / b.matrix().norm())
            for one, other in zip(together, theirs, strict=False)
            for a, b in zip(one.deltas or (), other, strict=True)
        ]
        for theirs in ([edit.deltas or () for edit in apart], one_by_one)
    )
    return {
        "documents_together": documents,
        "documents_one_at_a_time": plain,
        "statements_each": FACTS,
        "seconds_an_edit_together": round(fast / documents, 2),
        "seconds_an_edit_one_at_a_time": round(slow / plain, 2),
        "seconds_an_edit_searched_one_by_one": round(published / plain, 2),
        "ratio": round((slow / plain) / (fast / documents), 2),
        "ratio_to_statements_searched_one_by_one": round((published / plain) / (fast / documents), 2),
        "largest_relative_difference_of_a_change": float(f"{max(gaps):.2g}"),
        "largest_relative_difference_from_one_by_one": float(f"{max(from_published):.2g}"),
    }


def mend_doc(lm: LM, *, steps: int = 20, documents: int = 24) -> dict[str, Any]:
    """Steps of training on documents made of shipped facts; the first five with what is read once."""
    from evaluation.editors.hypernetwork.mend_doc import DocumentMend

    made = documents_from_facts(load("shipped").require())[:documents]
    times = [time.process_time()]
    params = DocumentMend.Params(rank=32, steps=steps, report_every=5, held_out=2)
    with tempfile.TemporaryDirectory() as folder:
        editor = DocumentMend(params, lm, Cache(Path(folder)))
        editor.train(made, name="b", out=Path(folder) / "m", on_step=lambda step: times.append(time.process_time()))
        size = (Path(folder) / "m").stat().st_size
    spent = [b - a for a, b in pairwise(times)]
    later = spent[-1] / 5
    return {
        "documents": len(made),
        "documents_a_step": params.edits,
        "probes_and_questions_a_document": [params.equal, params.kept],
        "maps": 9,
        "seconds_a_step_at_the_end": round(later, 2),
        "seconds_of_every_five_steps": [round(x, 1) for x in spent],
        "hours_of_1000_steps_at_that_pace": round(1000 * later / 3600, 2),
        "file_mib": round(size / 2**20, 1),
    }


SECTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    "scoring": scoring,
    "shared": shared,
    "training": training,
    "memit": memit,
    "mend_doc": mend_doc,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []])
    parser.add_argument("--documents", type=int, default=24, help="Documents that memit edits together.")
    parser.add_argument("--plain", type=int, default=3, help="Documents that it edits one at a time.")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    around, lm = machine(), LM.load("embedded", device="cpu")
    known = RESULTS / "documents.json"
    result: dict[str, Any] = json.loads(known.read_text())["result"] if options.write and known.exists() else {}
    result |= {"model": MODEL, "threads": 1}
    sections = {**SECTIONS, "memit": partial(memit, documents=options.documents, plain=options.plain)}
    for name in options.sections or SECTIONS:
        result[name] = sections[name](lm)
        print(name, result[name], flush=True)
        if options.write:
            write("documents", result, around=around)


if __name__ == "__main__":
    main()
