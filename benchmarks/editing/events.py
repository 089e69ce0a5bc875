"""Events: speed and memory of letters, look-ups, routers, fine-tuning and imports, each as processor time in one run.

    python -m benchmarks.editing.events --write                   all, into results; about an hour
    python -m benchmarks.editing.events letters lookup --write    some: the others keep what was measured before

letters    the three letters of a choice from one pass against three prompts, ratio of medians over rounds in turn
lookup     a question's route among 10,000 events, encoding of the question aside
router     `serac` head: encoding, training on ELKEN train, routing of 4,000 questions among the events of test
cross      `serac` cross after some minutes of training on ELKEN train, beside a head: questions of drawn events of test
ft_lm      whole-model fine-tuning of the embedded model on one event: peak memory, weights back bit for bit
import     import and freeze of ELKEN test: seconds, memory

`router`, `cross` and `import` read ELKEN below the folder that SCEDIT_SHARED names. Processor seconds bear other load
better than the clock does; each section notes the machine's load before and after it. Peak memory is the resident set
of the whole process: run a section alone to know its own.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.run import HERE, write

RESULTS = HERE / "results"
ROUNDS, EVENTS, QUESTIONS = 5, 10_000, 4_000
CROSS_MINUTES, CROSS_EVENTS = 10, 60  # of training on the clock; events of ELKEN test whose questions are routed
CROSS = {"scorer": "cross", "near": 2, "far": 1, "lr": 1e-4}  # fewer wrong events a question: all questions are met


def timed(run: Callable[[], Any]) -> float:
    """Processor seconds of a call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def letters() -> dict[str, Any]:
    """One pass over the letters' common tokens against a prompt a letter."""
    from curation.shipped import events_split
    from evaluation.inference.scoring import score
    from evaluation.metrics.event_choice import EventChoice
    from evaluation.metrics.events.probes import choice_probes
    from evaluation.models.language_model import LM
    from schemas.cases import EventCase

    lm = LM.load("embedded", device="cpu")
    cases = [c for c in events_split().all_cases if isinstance(c, EventCase)][:2]
    together = [p for c in cases for q in c.tendencies[:3] for p in choice_probes(q, EventChoice())]
    apart = [p.model_copy(update={"targets": (t,)}) for p in together for t in p.targets]
    one, three = [], []
    for _ in range(ROUNDS):
        one.append(timed(lambda: score(lm, together)))
        three.append(timed(lambda: [score(lm, [p]) for p in apart]))
    whole = [t.logprob for a in score(lm, together) for t in a.targets]
    single = [t.logprob for p in apart for t in score(lm, [p])[0].targets]
    return {
        "questions": len(together) // 3,
        "seconds_one_pass": round(median(one), 3),
        "seconds_three_prompts": round(median(three), 3),
        "ratio": round(median(three) / median(one), 2),
        "largest_difference": max(abs(a - b) for a, b in zip(whole, single, strict=True)),
    }


def lookup() -> dict[str, Any]:
    """The route of a question among 10,000 made-up events."""
    import numpy as np

    from evaluation.editors.in_context.retrieval import Vectors
    from evaluation.editors.routed.head import HeadRouter, ScopeHead

    class Drawn(Vectors):
        """Vectors that are drawn once a text: encoding is no part of a look-up."""

        def of(self, texts: Any) -> Any:
            for text in texts:
                if text not in self._known:
                    row = np.random.default_rng(len(self._known)).normal(size=384).astype(np.float32)
                    self._known[text] = row / np.linalg.norm(row)
            return np.stack([self._known[text] for text in texts])

    draw = random.Random(0)
    words = [f"word{n}" for n in range(6000)]
    texts = [" ".join(draw.choice(words) for _ in range(18)).capitalize() + "." for _ in range(EVENTS)]
    questions = [f"How may the {draw.choice(words)} of {draw.choice(words).title()} change?" for _ in range(200)]
    vectors = Drawn()
    vectors.of(questions)
    router = HeadRouter(ScopeHead(384, 64).eval(), texts, vectors, shortlist=32, threshold=0.5)
    router.route(questions[0])
    each = [timed(lambda q=question: router.route(q)) for question in questions]  # type: ignore[misc]
    return {"events": EVENTS, "questions": len(questions), "milliseconds_a_question": round(1000 * median(each), 2)}


def router() -> dict[str, Any]:
    """Training on ELKEN train less what test shares; all questions of test routed, 4,000 of them timed."""
    from benchmarks.support.routing_counts import routings_by
    from curation.files.artifact_cache import Cache
    from evaluation.editors.presets import make_without_model
    from evaluation.editors.routed.serac import Serac
    from evaluation.editors.routed.training import questions_of
    from evaluation.engines.peak_memory import PeakMemory

    peak = PeakMemory("cpu")
    with tempfile.TemporaryDirectory() as folder:
        test, support = _elken(Path(folder))
        editor = make_without_model("serac", Cache(Path(folder)), {})
        assert isinstance(editor, Serac)
        learnt = [text for case in support.cases for text in (case.request.statement, *(q.text for q in _asked(case)))]
        encoding = timed(lambda: editor._encoder().of(learnt))
        out = Path(folder) / "head.safetensors"
        training = timed(lambda: editor.train(support.cases, name="train", out=out))
        used = make_without_model("serac", Cache(Path(folder)), {"checkpoint": str(out)})
        assert isinstance(used, Serac)
        used.prepare([])
        cases: list[Any] = list(test.all_cases)
        left, chunks = QUESTIONS, list[list[str]]()
        for case in cases:
            chunks.append([q.text for q in questions_of(case)][:left])
            left -= len(chunks[-1])
        routes = used.router([case.event.text for case in cases])
        routing = timed(lambda: _route_all(routes, chunks))
        found = routings_by(cases, lambda question, kind: routes.route(question).item)
    return {
        "train_events": len(support.cases),
        "left_out": support.left_out,
        "test_events": len(cases),
        "seconds_encoding": round(encoding, 1),
        "seconds_training": round(training, 1),
        "seconds_routing_with_encoding": round(routing, 1),
        "questions_routed_in_that_time": sum(map(len, chunks)),
        "peak_gib": round(peak.read() / 2**30, 2),
        **_accuracies(found),
    }


def _accuracies(routings: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Of each kind of question: how many, the share that is sent where it belongs, and where all are sent."""
    return {
        kind: {
            "questions": figures["questions"],
            "accuracy": round(figures["Accuracy"].mean or 0.0, 4),
            "interval": [round(x, 3) for x in figures["Accuracy"].ends or ()],
            "shares": {
                head: round(value.mean, 4)
                for head, value in figures.items()
                if head not in ("questions", "Accuracy") and value.mean is not None
            },
        }
        for kind, figures in routings.items()
    }


def cross() -> dict[str, Any]:
    """A cross scorer trained for some minutes, and a head, on the same questions of drawn events of ELKEN test.

    All events of the test part are in memory. A pass of the encoder over a pair of texts takes some 30 ms of one
    thread, so neither all pairs of an epoch nor all questions of the test part are read.
    """
    from benchmarks.support.routing_counts import routings_by
    from curation.files.artifact_cache import Cache
    from evaluation.editors.presets import make_without_model
    from evaluation.editors.routed.serac import Serac

    out: dict[str, Any] = {"minutes": CROSS_MINUTES, "settings": CROSS}
    with tempfile.TemporaryDirectory() as folder:
        test, support = _elken(Path(folder))
        order = random.Random(0).sample(list(test.all_cases), len(test.all_cases))
        memory, cases = [case.event.text for case in order], order[:CROSS_EVENTS]
        for name, settings, minutes in (("head", {}, None), ("cross", CROSS, CROSS_MINUTES)):
            file = Path(folder) / f"{name}.safetensors"
            trainer = make_without_model("serac", Cache(Path(folder)), settings)
            assert isinstance(trainer, Serac)
            steps: list[Any] = []
            training = timed(
                lambda t=trainer, f=file, s=steps, m=minutes: t.train(  # type: ignore[misc]
                    support.cases, name="train", out=f, on_step=s.append, minutes=m
                )
            )
            used = make_without_model("serac", Cache(Path(folder)), {"checkpoint": str(file)})
            assert isinstance(used, Serac)
            used.prepare([])
            routes, begun = used.router(memory), time.process_time()
            routings = routings_by(cases, lambda question, kind, r=routes: r.route(question).item)  # type: ignore[misc]
            out[name] = {
                "seconds_training": round(training, 1),
                "loss": round(steps[-1].loss, 3),
                "held_out": steps[-1].held_out._asdict(),
                "seconds_routing": round(time.process_time() - begun, 1),
                **_accuracies(routings),
            }
    return out


def _elken(folder: Path) -> tuple[Any, Any]:
    """The frozen test part, and the events of train that share nothing with it."""
    from curation.case_sources.support import SupportChoice, open_support

    parts = {name: _frozen(folder, name) for name in ("train", "test")}
    choice = SupportChoice(file=folder / "train.jsonl", overlapping="leave_out")
    return parts["test"], open_support(choice, parts["test"])


def _route_all(routes: Any, asked: list[list[str]]) -> list[Any]:
    """As a run does: the questions of an event are encoded together, then each is sent."""
    sent = []
    for questions in asked:
        routes.expect(questions)
        sent += [routes.route(text) for text in questions]
    return sent


def _asked(case: Any) -> list[Any]:
    return [*case.facts, *case.tendencies]


def _frozen(folder: Path, part: str) -> Any:
    """A part of ELKEN imported and frozen; the split's file lies in the folder."""
    from curation.splits.split_file import load_split

    _import(folder, part)
    return load_split(folder / f"{part}.jsonl")


def _import(folder: Path, part: str) -> None:
    """The two commands, as a user gives them."""
    import scedit

    shared = os.environ.get("SCEDIT_SHARED")
    if not shared:
        raise SystemExit("name the folder with data/elken in SCEDIT_SHARED")
    store, source = str(folder / f"{part}.duckdb"), str(Path(shared) / f"data/elken/{part}.json")
    scedit.cli.main(args=["data", "import", source, "--store", store], standalone_mode=False)
    scedit.cli.main(
        args=["split", "freeze", part, "--store", store, "--out", str(folder / f"{part}.jsonl")], standalone_mode=False
    )


def imports() -> dict[str, Any]:
    """ELKEN test into a store and out as a frozen split."""
    from evaluation.engines.peak_memory import PeakMemory

    peak = PeakMemory("cpu")
    with tempfile.TemporaryDirectory() as folder:
        seconds = timed(lambda: _import(Path(folder), "test"))
    return {"seconds": round(seconds, 1), "peak_mib": round(peak.read() / 2**20)}


def ft_lm() -> dict[str, Any]:
    """All weights of the embedded model trained on one event, and put back."""
    import torch

    from curation.files.artifact_cache import Cache
    from curation.shipped import events_split
    from evaluation.editors.presets import make_editor
    from evaluation.engines.peak_memory import PeakMemory
    from evaluation.models.language_model import LM

    lm, peak = LM.load("embedded", device="cpu"), PeakMemory("cpu")
    before = {name: value.clone() for name, value in lm.model.state_dict().items()}
    copy = sum(value.numel() * value.element_size() for value in before.values())
    requests = [case.request for case in events_split().all_cases][:2]
    with tempfile.TemporaryDirectory() as folder:
        editor = make_editor("ft_lm", lm, Cache(Path(folder)), {"scope": "all"})
        changed, seconds = [], 0.0
        for request in requests:
            edit = editor.edit([request])
            start = time.process_time()
            with edit.on(lm):
                changed.append(any(not torch.equal(v, before[n]) for n, v in lm.model.state_dict().items()))
            seconds += time.process_time() - start
    same = all(torch.equal(v, before[n]) for n, v in lm.model.state_dict().items())
    return {
        "edits": len(requests),
        "changed_while_on": all(changed),
        "back_bit_for_bit": same,
        "seconds_an_edit": round(seconds / len(requests), 1),
        "peak_gib_less_the_copy_to_compare": round((peak.read() - copy) / 2**30, 2),
    }


SECTIONS: dict[str, Callable[[], dict[str, Any]]] = {
    "letters": letters,
    "lookup": lookup,
    "router": router,
    "cross": cross,
    "ft_lm": ft_lm,
    "import": imports,
}


def main(names: list[str]) -> dict[str, Any]:
    """Run sections on one thread."""
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):  # read when torch is imported, which `import` does without
        os.environ[variable] = "1"
    out: dict[str, Any] = {"threads": 1}
    for name in names:
        load = os.getloadavg()[0]
        result, day = SECTIONS[name](), time.strftime("%Y-%m-%d", time.gmtime())
        out[name] = result | {"load": [round(load, 1), round(os.getloadavg()[0], 1)], "measured": day}
        print(f"{name}: {json.dumps(out[name])}", file=sys.stderr, flush=True)
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", default=list(SECTIONS), help=f"of {', '.join(SECTIONS)}")
    parser.add_argument("--write", action="store_true", help="keep the result in results/events.json")
    options = parser.parse_args()
    results = main(options.sections)
    if options.write:
        stored = json.loads((RESULTS / "events.json").read_text(encoding="utf-8"))["result"]
        write("events", {name: results.get(name, stored.get(name)) for name in ("threads", *SECTIONS)})
    else:
        print(json.dumps(results, indent=1))
