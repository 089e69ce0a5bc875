"""Predictability: how much a script prompt, with its subject hidden, points at the old object.

A script prompt leaks when it gives the object away without the subject ("headquartered in Stuttgart" for Porsche). With
the subject and its aliases masked in question and steps, a model's log-odds of the old object against its rivals, that
is the new object and other objects of the relation, are compared with its log-odds under a neutral prompt of the same
relation, whose subject is masked too:

    odds(p) = log2 P(old | p) - log2 sum over rivals of P(rival | p)
    value   = odds(script prompt) - odds(neutral prompt), in bits

The measurement is one-sided. A small model that does not know what Stuttgart is known for gives a low value although
the prompt leaks: it misses leaks. It does not invent them: a high value means that words of the prompt did raise the
old object, for this model, with no subject to recall it by. So a high value is a finding, a low one is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import exp, log
from typing import Any, NamedTuple

from curation.checks.store_checks import CheckContext
from evaluation.checks.base import ModelCheck, ModelParams, ProbeScorer, cached_scores, problem, rivals
from schemas.answers import Answer
from schemas.core.records import Record
from schemas.facts import Entity
from schemas.probes import ScoreProbe
from schemas.scripts import ScriptPrompt
from schemas.text.masking import MASK, mask
from schemas.verdicts import Verdict


class PredictabilityProbes(NamedTuple):
    """What is asked about one prompt.

    Attributes:
        script: The masked script prompt; its targets are the old object, the new one where there is one, the others.
        neutral: The masked fact prompt with the same targets.
        versus_new: Whether the second target is the new object.
    """

    script: ScoreProbe
    neutral: ScoreProbe
    versus_new: bool


class PredictabilityBits(NamedTuple):
    """Log-odds of the old object under the script prompt less those under the neutral one, in bits.

    Attributes:
        value: Against all rivals together.
        new: Against the new object alone; None where there is none.
    """

    value: float
    new: float | None


def predictability_probes(
    text: str, *, subject: Entity, template: str, old: str, new: str | None, others: Sequence[str], separator: str = " "
) -> PredictabilityProbes:
    """The two probes of a prompt.

    Args:
        text: Question and steps up to the cut, without the separator.
        subject: Who is hidden in it.
        template: A fact prompt of the relation with ``{}`` for the subject; the object follows after one space.
        old: The object that the prompt was cut before.
        new: The new object, where there is one.
        others: Other objects of the relation.
        separator: What stands between the prompt and the object.
    """
    targets = (old, *([new] if new is not None else []), *others)
    script = ScoreProbe(purpose="check", item="-", prompt=mask(text, subject), separator=separator, targets=targets)
    neutral = ScoreProbe(purpose="check", item="-", prompt=template.replace("{}", MASK), targets=targets)
    return PredictabilityProbes(script, neutral, new is not None)


def bits(probes: PredictabilityProbes, script: Answer, neutral: Answer) -> PredictabilityBits:
    """The measurement from the two answers (sums of log-probabilities over the object's tokens, nats)."""
    value = odds(script) - odds(neutral)
    if not probes.versus_new:
        return PredictabilityBits(value, None)
    (old, new), (plain, other) = ([t.logprob for t in answer.targets[:2]] for answer in (script, neutral))
    return PredictabilityBits(value, (old - new - plain + other) / log(2))


def odds(answer: Answer) -> float:
    """Log-odds of the first target against the others together, in bits.

    Example:
        >>> from schemas.answers import TargetScore as T
        >>> half, eighth = T(text="a", logprob=log(1 / 2), tokens=1), T(text="b", logprob=log(1 / 8), tokens=1)
        >>> round(odds(Answer(probe="p", targets=(half, eighth, eighth))), 6)
        1.0
    """
    old, *others = [t.logprob for t in answer.targets]
    largest = max(others)
    return (old - largest - log(sum(exp(o - largest) for o in others))) / log(2)


def measure(
    lm: ProbeScorer, prompts: Sequence[PredictabilityProbes], memory: dict[str, Answer] | None = None
) -> list[PredictabilityBits | str]:
    """Bits of every prompt, or why there are none; all probes go to the scorer at once, equal ones once."""
    probes = [probe for one in prompts for probe in (one.script, one.neutral)]
    answers = cached_scores(lm, probes, {} if memory is None else memory)
    results: list[PredictabilityBits | str] = []
    for one, script, neutral in zip(prompts, answers[::2], answers[1::2], strict=True):
        results.append(problem(script, neutral) or bits(one, script, neutral))
    return results


class Predictability(ModelCheck):
    """How many bits a script prompt without its subject adds to the odds of the old object."""

    name = "predictability"
    version = 1
    on = "prompt"
    about = "bits that the prompt, its subject hidden, adds to the odds of the old object (misses leaks, invents none)"

    class Params(ModelParams):
        """Settings.

        Attributes:
            rivals: The most other objects of the relation to compare with.
        """

        rivals: int = 16

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._memory: dict[str, Answer] = {}

    def probes_of(self, prompt: ScriptPrompt, around: CheckContext) -> PredictabilityProbes | str:
        """The probes of a prompt, or why it cannot be measured."""
        fact = around.facts.get(prompt.fact)
        if fact is None:
            return f"the fact '{prompt.fact}' is not in the store"
        apart = [fact.new] if fact.new else []
        others = rivals(fact, around.objects[fact.relation.id], limit=self.params.rivals, apart=apart)
        if not others and fact.new is None:
            return f"no other object of the relation {fact.relation.id} is in the store"
        return predictability_probes(
            prompt.text,
            subject=fact.subject,
            template=fact.prompt,
            old=prompt.targets[0],
            new=fact.new.text if fact.new else None,
            others=[o.text for o in others],
            separator=prompt.separator,
        )

    def judge(self, items: Sequence[Record], around: CheckContext) -> Iterator[Verdict]:
        """A measured value a prompt, or ``unscored``."""
        prompts = [item for item in items if isinstance(item, ScriptPrompt)]
        probe_sets = [self.probes_of(prompt, around) for prompt in prompts]
        ready = [one for one in probe_sets if isinstance(one, PredictabilityProbes)]
        measured = iter(measure(self.lm, ready, self._memory) if ready else [])
        self._memory = dict(list(self._memory.items())[-4096:])  # neutral prompts come back, script prompts do not
        for prompt, one in zip(prompts, probe_sets, strict=True):
            outcome = one if isinstance(one, str) else next(measured)
            if isinstance(outcome, str):
                yield self.verdict(prompt, "unscored", outcome)
                continue
            assert isinstance(one, PredictabilityProbes)
            yield self.verdict(prompt, None, _describe(one, outcome), value=round(outcome.value, 4), unit="bits")

    def cost(self, items: Sequence[Record], around: CheckContext) -> Mapping[str, Any]:
        """Objects to score, under two prompts each."""
        probe_sets = [self.probes_of(item, around) for item in items if isinstance(item, ScriptPrompt)]
        return {
            "scored objects": sum(
                2 * len(one.script.targets) for one in probe_sets if isinstance(one, PredictabilityProbes)
            )
        }


def _describe(probes: PredictabilityProbes, bits: PredictabilityBits) -> str:
    old, *rest = probes.script.targets
    description = f"the prompt without its subject gives {old!r} {bits.value:+.2f} bits against {len(rest)} rivals"
    return description if bits.new is None else f"{description}, {bits.new:+.2f} against the new object {rest[0]!r}"
