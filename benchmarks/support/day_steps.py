"""The steps of a section about one model: statistics, methods beside the plain way, texts, a sequence of edits."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.support import naive_reference as plain
from benchmarks.support.day_models import options
from benchmarks.support.workload import facts, script_cases, search_of, timed
from curation.files.artifact_cache import Cache
from curation.shipped import mini_split
from evaluation.covariance.covariance import Corpus, KeyCovariance, key_covariances
from evaluation.editors.locate_edit.parts.cholesky import factor
from evaluation.editors.presets import make_editor
from evaluation.edits.delta_stack import DeltaStack
from evaluation.edits.weight_deltas import Delta
from evaluation.engines.base import Job
from evaluation.engines.fast import FastEngine
from evaluation.inference.generation import PromptToContinue, Sampling, generate
from evaluation.models.language_model import LM
from schemas.cases import Case
from schemas.facts import Fact

PROJECTED = 1830  # cases of the published split
METHODS = ("rome", "memit", "alphaedit", "ft", "lora")
PLAIN = ("rome", "memit", "ft")
TEMPLATES = ("{}", "The following is known. {}", "In short: {}")
OTHERS = ("covariances", "factors", "scoring", "generation", "sequential")


class ModelSteps:
    """One model and its cases."""

    def __init__(
        self, section: str, lm: LM, cache: Cache, *, small: bool, cases: int, plain: int, pack: Path | None
    ) -> None:
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

    @staticmethod
    def names(section: str) -> tuple[str, ...]:
        """Steps in their order."""
        return ("covariances", "factors", "scoring", *METHODS, "generation", "sequential")

    def all(self) -> dict[str, Callable[[], dict[str, Any]]]:
        """The steps."""
        methods = {name: lambda name=name: self.method(name) for name in METHODS}
        others = {name: getattr(self, name) for name in OTHERS}
        return {name: {**others, **methods}[name] for name in self.names(self.section)}  # type: ignore[dict-item]

    def moments(self) -> dict[int, KeyCovariance]:
        """Second moments of the edited layers over the shipped scripts: few tokens, the arithmetic of many."""
        layers = list(options(self.section, "memit", small=self.small)["layers"])
        path = self.cache.folder / "texts.txt"
        if not path.is_file():
            texts = [p.text for case in mini_split().cases for p in case.prompts][: 8 if self.small else None]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n\n".join(texts), encoding="utf-8")
        return key_covariances(self.lm, layers, Corpus([path]), cache=self.cache)

    def covariances(self) -> dict[str, Any]:
        """Tokens a second through five layers' sums."""
        seconds, covariances = timed(self.moments)
        tokens = next(iter(covariances.values())).tokens
        return {
            "layers": sorted(covariances),
            "tokens": tokens,
            "tokens_a_second": round(tokens / seconds),
            **self._memory(),
        }

    def factors(self) -> dict[str, Any]:
        """Seconds a layer for the Cholesky factor that MEMIT solves with."""
        covariances = self.moments()
        seconds, _ = timed(lambda: [factor(one, self.lm.device, ridge=0.1) for one in covariances.values()])
        return {"seconds_a_layer": round(seconds / len(covariances), 4), **self._memory()}

    def editor(self, name: str) -> Any:
        """A method with its options; statistics are those of an identity, so that no corpus is needed."""
        settings = options(self.section, name, small=self.small)
        if self.small:
            settings |= {"steps": 2}
        if name in ("rome", "memit", "alphaedit"):
            settings |= {"templates": TEMPLATES[: 2 if self.small else None], "moments": str(self._statistics())}
        editor = make_editor(name, self.lm, self.cache, settings)
        editor.prepare(())
        return editor

    def _statistics(self) -> Path:
        """Eigenvalues falling from 1 to 0.001, so that some directions are nearly null; kept in the cache's folder."""
        path, inner = self.cache.folder / "diagonal.safetensors", self.lm.layout.inner
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            KeyCovariance(torch.diag(torch.logspace(0, -3, inner)), 10 * inner).save(path)
        return path

    def scoring(self) -> dict[str, Any]:
        """The unedited model asked all cases."""
        engine, none = FastEngine(self.lm), make_editor("none", self.lm, self.cache)
        return self._timed_work(engine, none, self.jobs)

    def method(self, name: str) -> dict[str, Any]:
        """Cases edited and asked in groups, beside the plain way where there is one."""
        editor, engine = self.editor(name), FastEngine(self.lm)
        engine.expect([editor])
        list(engine.work(make_editor("none", self.lm, self.cache), self.jobs))
        list(engine.work(editor, self.jobs[:2]))  # kernels warm
        row = self._timed_work(engine, editor, self.jobs)
        if name in PLAIN and self.plain:
            slow = self._plainly(name, editor)
            row |= {"seconds_a_case_plain": round(slow, 4), "ratio": round(slow / row["seconds_a_case"], 1)}
        return row

    def _timed_work(self, engine: FastEngine, editor: Any, jobs: Sequence[Job]) -> dict[str, Any]:
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
        with FlopCounterMode(display=False) as counter:
            some = jobs[: min(8, count)]
            list(engine.work(editor, some))
        tera = counter.get_total_flops() / len(some) * count / whole / 1e12
        failed = [d.error for d in done if d.error]
        return {
            **({"error": failed[0]} if len(failed) == count else {}),  # such as a missing package: done again next time
            "cases": count,
            "failed": len(failed),
            "first_error": failed[0] if failed else None,
            "group": group,
            "tokens_a_pass": engine.scorer.budget.tokens,
            "seconds_a_case": round(whole / count, 5),
            "of_it_editing": round(sum(d.seconds_edit for d in done) / count, 5),
            "processor_share": round(host / whole, 3),
            "tera_flops_a_second": round(tera, 4),
            "share_of_measured_ceiling": None if self.ceiling is None else round(tera / self.ceiling, 4),
            f"minutes_for_{PROJECTED}_cases": round(whole / count * PROJECTED / 60, 2),
            "free_gib_at_each_group": free,
            **memory,
        }

    def _memory(self) -> dict[str, Any]:
        if not self.cuda:
            return {}
        peak, held = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
        return {"peak_gib": round(peak / 2**30, 4), "reserved_gib": round(held / 2**30, 4)}

    def _plainly(self, name: str, editor: Any) -> float:
        """Seconds a case of the plain way."""
        some = list(zip(self.facts, self.jobs, strict=True))[: self.plain]
        layers = [*editor.edited_layers]
        second = torch.eye(self.lm.layout.inner, device=self.lm.device)

        def one(fact: Fact) -> list[Delta]:
            p = editor.params
            if name == "rome":
                return [plain.rome(self.lm, p.layer, fact, p.templates, second, search_of(p))[0]]
            if name == "memit":
                moments = dict.fromkeys(layers, second)
                return list(plain.memit(self.lm, layers, [fact], p.templates, moments, p.lam, search_of(p))[0])
            return [plain.ft(self.lm, p.layer, fact, steps=p.steps, lr=p.lr, stop_below=p.stop_below)[0]]

        def work() -> None:
            for fact, job in some:
                with plain.in_force(self.lm, one(fact)):
                    plain.evaluate(self.lm, job.probes)  # type: ignore[arg-type]

        one(some[0][0])  # kernels warm
        return timed(work)[0] / len(some)

    def generation(self) -> dict[str, Any]:
        """Tokens a second of many rows."""
        rows, longest = (4, 4) if self.small else (256, 64)
        prompts = [PromptToContinue(self.facts[n % len(self.facts)].fact_prompt, seed=n) for n in range(rows)]
        seconds, texts = timed(lambda: generate(self.lm, prompts, sampling=Sampling(longest)))
        tokens = sum(len(text.ids) for text in texts)
        return {"rows": rows, "tokens": tokens, "tokens_a_second": round(tokens / seconds, 1), **self._memory()}

    def sequential(self) -> dict[str, Any]:
        """Edits that stay, one after the other, by MEMIT."""
        editor, count = self.editor("memit"), min(2 if self.small else 30, len(self.facts))

        def work() -> None:
            with ExitStack() as stack:
                weights = stack.enter_context(DeltaStack(self.lm.model))
                for fact in self.facts[:count]:
                    weights.add(editor.edit_after([fact], []).deltas)

        seconds, _ = timed(work)
        return {"edits": count, "edits_a_second": round(count / seconds, 2), **self._memory()}

    def answers_of_all(self) -> dict[str, list[float] | str]:
        """Log-probabilities after the edits of every method, or its error: what devices are compared by."""
        out: dict[str, list[float] | str] = {}
        for name in METHODS:
            engine, editor = FastEngine(self.lm), self.editor(name)
            done = list(engine.work(editor, self.jobs))
            failed = [d.error for d in done if d.error]
            out[name] = failed[0] if failed else [t.logprob for d in done for a in d.answers for t in a.targets]
        return out


def packed_facts(pack: Path | None, count: int) -> list[Fact]:
    """Facts of the pack, else those at hand; used again where there are fewer."""
    if pack is not None:
        lines = (pack / "facts.jsonl").read_text(encoding="utf-8").splitlines()
        packed = [Fact.model_validate_json(line) for line in lines]
    else:
        packed, _ = facts(count)
    return [packed[n % len(packed)] for n in range(count)]
