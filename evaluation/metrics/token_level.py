"""The paper's token-level metrics: one object more probable than the other, bleedover, collapse (ScEdit Eq. 1 to 4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

from typing_extensions import override

from evaluation.metrics.base import (
    Metric,
    Normalisation,
    Preference,
    Role,
    after_and_before,
    item_with_value,
    item_without_value,
    preferred,
    row,
    target_values,
)
from schemas.answers import Answer, ItemScore
from schemas.cases import AnyCase, Case, CaseNeighbour
from schemas.facts import Fact
from schemas.probes import ScoreProbe
from schemas.scripts import ScriptPrompt


def plain(case: Case, prompt: str, *, purpose: str, item: str, cluster: str | None = None) -> ScoreProbe:
    """A one-line prompt that either object of the edit may follow after a space."""
    targets = (case.fact.new_object.text, case.fact.old.text)
    return ScoreProbe(purpose=purpose, item=item, cluster=cluster, prompt=prompt, targets=targets)


def script(case: Case, prompt: ScriptPrompt, *, purpose: str, cluster: str | None = None) -> ScoreProbe:
    """A script prompt with the targets (new object of the edit, object that stood at the cut).

    The object is scored as the script names it (``targets[0]`` of the prompt: "USA", not "United States"), and the
    new object as the prompt's second target gives it, where it gives one.
    """
    old, *rest = prompt.targets
    return ScoreProbe(
        purpose=purpose,
        item=prompt.key,
        cluster=cluster,
        prompt=prompt.text,
        separator=prompt.separator,
        targets=(rest[0] if rest else case.fact.new_object.text, old),
    )


def own_object(fact: Fact, prompt: ScriptPrompt) -> ScoreProbe:
    """A neighbour's script prompt with the one target that should stay: the neighbour's own object, as mentioned."""
    return ScoreProbe(
        purpose="script_neighbour",
        item=prompt.key,
        cluster=fact.key,
        prompt=prompt.text,
        separator=prompt.separator,
        targets=prompt.targets[:1],
    )


class ScriptPreference(Preference):
    """Is the new object more probable than the old one after the script prompts of the edited fact?"""

    wanted: ClassVar[Literal["new", "old"]] = "new"

    @override
    def probes(self, case: Case) -> list[ScoreProbe]:
        return [script(case, prompt, purpose="script") for prompt in case.prompts]


class FactPreference(Preference):
    """Is the new object more probable than the old one after plain prompts of the edited fact?

    A subclass says which prompts.
    """

    wanted: ClassVar[Literal["new", "old"]] = "new"
    purpose: ClassVar[str]
    prompts: ClassVar[Callable[[Fact], Sequence[str]]]

    @override
    def probes(self, case: Case) -> list[ScoreProbe]:
        return [plain(case, p, purpose=self.purpose, item=case.fact.key) for p in type(self).prompts(case.fact)]


ES = row(
    FactPreference,
    name="es",
    title="ES",
    about="Efficacy Success: after the fact prompt, P(new object) > P(old object) (Eq. 1)",
    role="efficacy",
    purpose="fact",
    prompts=lambda fact: [fact.fact_prompt],
)


PS = row(
    FactPreference,
    name="ps",
    title="PS",
    about="Paraphrase Success: after paraphrases of the fact prompt, P(new object) > P(old object)",
    role="generalisation",
    purpose="paraphrase",
    prompts=lambda fact: fact.paraphrases,
)


# Where a script named the old object, is the new one more probable?
SES = row(
    ScriptPreference,
    name="s_es",
    title="S-ES",
    about="Script-based Efficacy Success: where a script was about to name the old object, "
    "P(new object) > P(old object) (Eq. 2)",
    role="script_efficacy",
)


class NS(Preference):
    """Do other subjects that have the old object keep it?"""

    name: ClassVar[str] = "ns"
    title: ClassVar[str] = "NS"
    about: ClassVar[str] = (
        "Neighbourhood Success: other subjects that have the old object, P(old object) > P(new object)"
    )
    role: ClassVar[Role] = "locality"
    wanted: ClassVar[Literal["new", "old"]] = "old"

    def probes(self, case: Case) -> list[ScoreProbe]:
        """The source's neighbour prompts, then the fact prompts of linked facts that share the old object."""
        linked = [n.fact for n in case.neighbours if n.link.how == "same_object"]
        neighbour_probes = [
            plain(case, p, purpose="neighbour", item=case.fact.key) for p in case.fact.neighbour_prompts
        ]
        neighbour_probes += [plain(case, f.fact_prompt, purpose="neighbour", item=f.key, cluster=f.key) for f in linked]
        return list({p.id: p for p in reversed(neighbour_probes)}.values())[
            ::-1
        ]  # a linked fact may also be given as a prompt


class SNS(Preference):
    """In scripts about other subjects that share the old object, does it stay ahead of the new one?"""

    name: ClassVar[str] = "s_ns"
    title: ClassVar[str] = "S-NS"
    about: ClassVar[str] = (
        "Script-based Neighbour Success: in scripts about other subjects with the old object, "
        "P(old object) > P(new object) (Eq. 3)"
    )
    role: ClassVar[Role] = "script_locality"
    wanted: ClassVar[Literal["new", "old"]] = "old"

    def probes(self, case: Case) -> list[ScoreProbe]:
        """Every script prompt of every neighbour fact with the old object; the neighbour is a second cluster."""
        return [p for n in case.neighbours if n.link.how == "same_object" for p in self._probes_of(case, n)]

    def _probes_of(self, case: Case, neighbour: CaseNeighbour) -> list[ScoreProbe]:
        return [
            ScoreProbe(
                purpose="script_neighbour",
                item=p.key,
                cluster=neighbour.fact.key,
                prompt=p.text,
                separator=p.separator,
                targets=(case.fact.new_object.text, p.targets[0]),
            )
            for p in neighbour.prompts
        ]


class SFlipRate(ScriptPreference):
    """Of the script prompts at which the unedited model preferred the old object: does the edited one prefer the new?

    S-ES also counts prompts at which the model preferred the new object before anything was edited. They have no value
    here, and say why.
    """

    name: ClassVar[str] = "s_flip_rate"
    title: ClassVar[str] = "S-flip"
    about: ClassVar[str] = (
        "Flip rate: of the script prompts at which the unedited model preferred the old object, the share at which "
        "P(new object) > P(old object) after the edit"
    )
    unedited: ClassVar[float | None] = 0.0

    def item_of(
        self, case: Case, probe: ScoreProbe, after: Answer | None, before: Answer | None, normalisation: Normalisation
    ) -> ItemScore:
        """As S-ES; unscored where the answer before is missing or did not prefer the old object."""
        then = target_values(probe, before, normalisation)
        if isinstance(then, str):
            return item_without_value(probe, f"before the edit: {then}")
        if then[0] >= then[1]:
            return item_without_value(probe, "the unedited model did not prefer the old object")
        return preferred(probe, after, normalisation)


class SBO(Metric):
    """How much probability do near subjects lose on their own objects?

    An item is max(P_before(o_j) - P_after(o_j), 0), where P = exp(log-probability in the stated normalisation): with
    ``mean`` the geometric mean over the object's tokens, with ``sum`` the probability of the whole object. No prompt
    can lose more than P_before, and intervals know it (``bounded.limited_spread``).
    """

    name: ClassVar[str] = "s_bo"
    title: ClassVar[str] = "S-BO"
    about: ClassVar[str] = (
        "Script-based Bleedover: probability that near subjects lose on their own objects, "
        "max(P before - P after, 0) (Eq. 4)"
    )
    better: ClassVar[Literal["higher", "lower"]] = "lower"
    role: ClassVar[Role] = "bleed_over"
    unedited: ClassVar[float | None] = 0.0

    def probes(self, case: Case) -> list[ScoreProbe]:
        """Every script prompt of every near subject, with that subject's own object."""
        near = [n for n in case.neighbours if n.link.how == "near_subject"]
        return [own_object(n.fact, p) for n in near for p in n.prompts]

    def item_of(
        self, case: Case, probe: ScoreProbe, after: Answer | None, before: Answer | None, normalisation: Normalisation
    ) -> ItemScore:
        """The loss of a prompt, at least 0; unscored where either answer is missing."""
        both = after_and_before(*(target_values(probe, answer, normalisation) for answer in (after, before)))
        if isinstance(both, str):
            return item_without_value(probe, both)
        now, then = (math.exp(values[0]) for values in both)
        return item_with_value(probe, max(then - now, 0.0), after, before, largest=then)


FACTOR = 10.0
"""So many times the perplexity of the unedited model counts as collapse."""

PROMPT = "On Saturday mornings the market opens before sunrise."
TEXT = (
    "Farmers unload boxes of apples, carrots and bread from their vans, while the first customers walk between the "
    "tables and compare prices. By noon most of the vegetables are gone, and children share a bag of warm chestnuts on "
    "the steps of the old library."
)
"""The fixed text, written by us; it names nothing that could be edited."""


class Collapse(Metric):
    """Did the edit raise the perplexity of a fixed text tenfold?

    Perplexity is per token, from the text's log-probability after its first sentence; edits that rewrite prompts put
    their words before it.
    """

    name: ClassVar[str] = "collapse"
    title: ClassVar[str] = "Collapse"
    about: ClassVar[str] = f"Share of edits that raise the perplexity of a fixed text {FACTOR:.0f} times"
    better: ClassVar[Literal["higher", "lower"]] = "lower"
    unedited: ClassVar[float | None] = 0.0
    takes: ClassVar[tuple[str, ...]] = ("fact", "event", "document")

    @override
    def probes(self, case: AnyCase) -> Sequence[ScoreProbe]:
        return [ScoreProbe(purpose="fixed_text", item="fixed_text", prompt=PROMPT, targets=(TEXT,))]

    def item_of(
        self,
        case: AnyCase,
        probe: ScoreProbe,
        after: Answer | None,
        before: Answer | None,
        normalisation: Normalisation,
    ) -> ItemScore:
        """1 for a collapse; unscored where either answer is missing."""
        both = after_and_before(perplexity(probe, after), perplexity(probe, before))
        if isinstance(both, str):
            return item_without_value(probe, both)
        now, then = both
        return item_with_value(probe, float(now >= FACTOR * then), after, before)


def perplexity(probe: ScoreProbe, answer: Answer | None) -> float | str:
    """Perplexity of the probe's target per token, or why there is none."""
    values = target_values(probe, answer, "mean")
    return values if isinstance(values, str) else math.exp(min(-values[0], 700.0))
