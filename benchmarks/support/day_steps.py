"""The steps of a section about one model: statistics, methods beside the plain way, texts, a sequence of edits."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.support import naive_reference as plain
from benchmarks.support.day_models import options
from benchmarks.support.day_repeat import repeated
from benchmarks.support.workload import facts, script_cases, search_of, timed, widest
from curation.files.artifact_cache import Cache
from curation.shipped import mini_split
from evaluation.covariance.covariance import Corpus, KeyCovariance, PassProgress, key_covariances
from evaluation.editors.locate_edit.closed_forms import factor
from evaluation.editors.presets import make_editor
from evaluation.edits.delta_stack import DeltaStack
from evaluation.edits.weight_deltas import Delta
from evaluation.engines.base import Job
from evaluation.engines.fast import FastEngine
from evaluation.inference.generation import PromptToContinue, Sampling, generate
from evaluation.models.language_model import LM
from schemas.answers import Answer
from schemas.cases import Case
from schemas.facts import Fact

PROJECTED = 1830  # cases of the published split
REPEATS = 16  # of the shipped scripts, for second moments
METHODS = ("rome", "memit", "alphaedit", "ft", "lora")
PLAIN = ("rome", "memit", "ft")
TEMPLATES = ("{}", "The following is known. {}", "In short: {}")
OTHERS = ("covariances", "factors", "scoring", "generation", "sequential", "repeat")
SEQUENCE = 10  # edits one after the other
REPEATED = {"cases": 8, "steps": 5}


class ModelSteps:
    """One model and its cases."""

    def __init__(
        self,
        section: str,
        lm: LM,
        cache: Cache,
        *,
        small: bool,
        cases: int,
        plain: int,
        pack: Path | None,
        methods: Sequence[str] = METHODS,
    ) -> None:
        self.methods = tuple(methods)
        self.section, self.lm, self.cache, self.small, self.plain = section, lm, cache, small, plain
        self.facts = packed_facts(pack, cases)
        case_probes = (
            script_cases(lm, len(self.facts), scripts=1, near=1) if small else script_cases(lm, len(self.facts))
        )
        self.jobs = [
            Job(str(n), Case(key=f"case/{n}", fact=fact), tuple(probes))
            for n, (fact, probes) in enumerate(zip(self.facts, case_probes, strict=True))
        ]
        self.cuda = lm.device.type == "cuda"
        self.ceiling: float | None = None
        self._editors: dict[str, Any] = {}
        self._engine: FastEngine | None = None

    @staticmethod
    def names(section: str) -> tuple[str, ...]:
        """Steps in their order."""
        return ("covariances", "factors", "scoring", *METHODS, "generation", "sequential", "repeat")

    def all(self) -> dict[str, Callable[[], dict[str, Any]]]:
        """The steps."""
        methods = {name: lambda name=name: self.method(name) for name in METHODS}
        others = {name: getattr(self, name) for name in OTHERS}
        return {name: {**others, **methods}[name] for name in self.names(self.section)}  # type: ignore[dict-item]

    def moments(self, tell: Callable[[PassProgress], None] | None = None) -> dict[int, KeyCovariance]:
        """Second moments of the edited layers over the shipped scripts, again and again: the arithmetic of a corpus."""
        layers = list(options(self.section, "memit", small=self.small)["layers"])
        path = self.cache.folder / "texts.txt"
        if not path.is_file():
            texts = [p.text for case in mini_split().cases for p in case.prompts][: 8 if self.small else None]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n\n".join(texts * (20 if self.small else REPEATS)), encoding="utf-8")
        return key_covariances(self.lm, layers, Corpus([path]), cache=self.cache, on_progress=tell)

    def covariances(self) -> dict[str, Any]:
        """Tokens a second through five layers' sums, from the end of the first window of documents to that of the last.

        What is left is done once whatever the corpus: sums go home, become means and are kept on disk.
        """
        ends: list[tuple[int, float]] = []
        seconds, covariances = timed(lambda: self.moments(lambda done: ends.append((done.tokens, self._now()))))
        (first, began), (last, ended) = ends[1], ends[-1]
        return {
            "layers": sorted(covariances),
            "tokens": last,
            "tokens_a_second": round((last - first) / (ended - began)),
            "seconds_of_the_rest": round(seconds - (ended - began) * last / (last - first), 2),
            **self._memory(),
        }

    def _now(self) -> float:
        """Seconds on a clock, when the device has done what it was given."""
        if self.cuda:
            torch.cuda.synchronize()
        return time.perf_counter()

    def factors(self) -> dict[str, Any]:
        """Seconds a layer for the Cholesky factor that MEMIT solves with."""
        covariances = self.moments()
        seconds, _ = timed(lambda: [factor(one, self.lm.device, ridge=0.1) for one in covariances.values()])
        return {"seconds_a_layer": round(seconds / len(covariances), 4), **self._memory()}

    def editor(self, name: str) -> Any:
        """A method that is ready."""
        if name not in self._editors:
            self._editors[name] = self._ready(name)
        return self._editors[name]

    def _ready(self, name: str, **more: Any) -> Any:
        """A method with its options; its statistics need no corpus."""
        settings = options(self.section, name, small=self.small) | ({"steps": 2} if self.small else {}) | more
        solved = name in ("rome", "memit", "alphaedit")
        if solved:
            settings |= {"templates": TEMPLATES[: 2 if self.small else None]}
        editor: Any = make_editor(name, self.lm, self.cache, settings)
        if solved:
            of_layers = dict.fromkeys(editor.edited_layers, self.statistics)
            editor._ready = editor.params.templates, self.statistics if name == "rome" else of_layers
        editor.prepare(())
        return editor

    @cached_property
    def statistics(self) -> KeyCovariance:
        """Eigenvalues falling from 1 to 0.001, so that some directions are nearly null; the same for all layers."""
        inner = self.lm.layout.inner
        return KeyCovariance(torch.diag(torch.logspace(0, -3, inner)), 10 * inner)

    def scoring(self) -> dict[str, Any]:
        """The unedited model asked all cases."""
        engine, none = FastEngine(self.lm), make_editor("none", self.lm, self.cache)
        list(engine.work(none, self.jobs[:2]))  # kernels warm
        return self._timed_work(engine, none, self.jobs)[0]

    def engine(self) -> FastEngine:
        """An engine that has asked the unedited model all cases, as in a run of several methods."""
        if self._engine is None:
            self._engine = FastEngine(self.lm)
            self._engine.expect([self.editor(name) for name in self.methods])
            list(self._engine.work(make_editor("none", self.lm, self.cache), self.jobs))
        return self._engine

    def method(self, name: str) -> dict[str, Any]:
        """Cases edited and asked in groups, beside the plain way where there is one."""
        editor, engine = self.editor(name), self.engine()
        list(engine.work(editor, self.jobs[:2]))  # kernels warm
        row, done = self._timed_work(engine, editor, self.jobs)
        if name in PLAIN and self.plain and "error" not in row:
            slow, answers = self._plainly(name, editor)
            compared = [(a, one.answers) for a, one in zip(answers, done, strict=False) if one.error is None]
            row |= {
                "seconds_a_case_plain": round(slow, 4),
                "ratio": short(slow / row["seconds_a_case"]),
                "largest_gap_nats": round(widest([a for a, _ in compared], [b for _, b in compared]), 5),
            }
        return row

    def _timed_work(self, engine: FastEngine, editor: Any, jobs: Sequence[Job]) -> tuple[dict[str, Any], list[Any]]:
        count, free = len(jobs), []
        if self.cuda:
            torch.cuda.reset_peak_memory_stats()
        host, group = time.process_time(), engine.fitting_group(editor)

        def work() -> list[Any]:
            done = []
            for n, result in enumerate(engine.work(editor, jobs)):
                if self.cuda and n % group == 0:
                    free.append(round(torch.cuda.mem_get_info()[0] / 2**30, 2))
                done.append(result)
            return done

        whole, done = timed(work)
        host = time.process_time() - host
        memory = self._memory()
        tera = self._tera_operations(engine, editor, jobs[:8])
        rate = None if tera is None else tera * count / whole
        failed = [d.error for d in done if d.error]
        row = {
            **({"error": failed[0]} if len(failed) == count else {}),  # such as a missing package: done again next time
            "cases": count,
            "failed": len(failed),
            "first_error": failed[0] if failed else None,
            "group": group,
            "tokens_a_pass": engine.scorer.budget.tokens,
            "seconds_a_case": round(whole / count, 5),
            "of_it_editing": round(sum(d.seconds_edit for d in done) / count, 5),
            "processor_share": round(host / whole, 3),
            "tera_flops_a_second": None if rate is None else short(rate),
            "share_of_measured_ceiling": None if rate is None or self.ceiling is None else short(rate / self.ceiling),
            f"minutes_for_{PROJECTED}_cases": round(whole / count * PROJECTED / 60, 2),
            "free_gib_at_each_group": free,
            **memory,
        }
        return row, done

    def _tera_operations(self, engine: FastEngine, editor: Any, jobs: Sequence[Job]) -> float | None:
        """10¹² operations a case; None where PyTorch cannot count them (2.11: attention with shared heads)."""
        with FlopCounterMode(display=False) as counter:
            done = list(engine.work(editor, jobs))
        return None if any(one.error for one in done) else counter.get_total_flops() / len(jobs) / 1e12

    def _memory(self) -> dict[str, Any]:
        if not self.cuda:
            return {}
        peak, held = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
        return {"peak_gib": round(peak / 2**30, 4), "reserved_gib": round(held / 2**30, 4)}

    def _plainly(self, name: str, editor: Any) -> tuple[float, list[list[Answer]]]:
        """Seconds a case of the plain way, and its answers."""
        some = list(zip(self.facts, self.jobs, strict=True))[: self.plain]
        layers = [*editor.edited_layers]
        second = self.statistics.second.to(self.lm.device)
        inverse = torch.diag(1 / second.diagonal())  # a diagonal one, see statistics

        def one(fact: Fact) -> list[Delta]:
            p = editor.params
            if name == "rome":
                return [plain.rome(self.lm, p.layer, fact, p.templates, inverse, search_of(p))[0]]
            if name == "memit":
                moments = dict.fromkeys(layers, second)
                return list(plain.memit(self.lm, layers, [fact], p.templates, moments, p.lam, search_of(p))[0])
            return [plain.ft(self.lm, p.layer, fact, steps=p.steps, lr=p.lr, stop_below=p.stop_below)[0]]

        def work() -> list[list[Answer]]:
            answers = []
            for fact, job in some:
                with plain.with_deltas(self.lm, one(fact)):
                    answers.append(plain.evaluate(self.lm, job.probes))  # type: ignore[arg-type]
            return answers

        one(some[0][0])  # kernels warm
        seconds, answers = timed(work)
        return seconds / len(some), answers

    def generation(self) -> dict[str, Any]:
        """Tokens a second of many rows."""
        rows, longest = (4, 4) if self.small else (256, 64)
        prompts = [PromptToContinue(self.facts[n % len(self.facts)].fact_prompt, seed=n) for n in range(rows)]
        generate(self.lm, prompts[:2], sampling=Sampling(2))  # kernels warm
        seconds, texts = timed(lambda: generate(self.lm, prompts, sampling=Sampling(longest)))
        tokens = sum(len(text.ids) for text in texts)
        return {"rows": rows, "tokens": tokens, "tokens_a_second": round(tokens / seconds, 1), **self._memory()}

    def sequential(self) -> dict[str, Any]:
        """Edits that stay, one after the other, by MEMIT."""
        editor, count = self.editor("memit"), min(2 if self.small else SEQUENCE, len(self.facts))

        def work() -> None:
            with ExitStack() as stack:
                weights = stack.enter_context(DeltaStack(self.lm.model))
                for fact in self.facts[:count]:
                    weights.add(editor.edit_after([fact], []).deltas)

        seconds, _ = timed(work)
        return {"edits": count, "edits_a_second": round(count / seconds, 2), **self._memory()}

    def repeat(self) -> dict[str, Any]:
        """A few cases edited and asked again by fresh editors, with sums in a fixed order and without.

        Searches of a few steps in one layer: what adds in no fixed order shows there as well.
        """
        jobs, steps = self.jobs[: REPEATED["cases"]], REPEATED["steps"]

        def make(name: str) -> Any:
            layers = options(self.section, name, small=self.small).get("layers")
            return self._ready(name, steps=steps, **({"layers": layers[-1:]} if layers else {}))

        return {
            "cases": len(jobs),
            "steps": steps,
            **repeated(self.methods or METHODS, make, lambda e: self._answers(e, jobs)),
        }

    def answers_of_all(self) -> dict[str, list[float] | str]:
        """Log-probabilities after the edits of every method, or its error: what devices are compared by."""
        return {name: self._answers(self.editor(name), self.jobs) for name in METHODS}

    def _answers(self, editor: Any, jobs: Sequence[Job]) -> list[float] | str:
        done = list(FastEngine(self.lm).work(editor, jobs))
        failed = [d.error for d in done if d.error]
        return failed[0] if failed else [t.logprob for d in done for a in d.answers for t in a.targets]


def short(number: float) -> float:
    """With four significant digits."""
    return float(f"{number:.4g}")


def packed_facts(pack: Path | None, count: int) -> list[Fact]:
    """Facts of the pack, else those at hand; used again where there are fewer."""
    if pack is not None:
        lines = (pack / "facts.jsonl").read_text(encoding="utf-8").splitlines()
        packed = [Fact.model_validate_json(line) for line in lines]
    else:
        packed, _ = facts(count)
    return [packed[n % len(packed)] for n in range(count)]
