"""Validity rows: the same method asked or told something else, to see what a metric rests on.

A variant changes what a case asks (``asks``), the form in which a probe is asked (``probe``), or what the edit writes
(``request``). Its row is beside the method's own under the label ``method [variant]``; its name is part of the run's
identity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from evaluation.metrics.base import Metric
from evaluation.metrics.fact_texts import GO_ON_IN_WORDS
from evaluation.metrics.text_level import CONTINUED, GO_ON, QUESTION
from schemas.cases import AnyCase, Case
from schemas.core.errors import UserError
from schemas.core.ids import seed
from schemas.core.registry import Registry
from schemas.facts import Fact
from schemas.probes import Probe, ScoreProbe
from schemas.scripts import ScriptPrompt
from schemas.text.masking import mask

CHAT = "chat"


class Variant:
    """What is changed, and what a sound metric should do under it; here nothing.

    Attributes:
        name: As in the table ``VARIANTS``.
        version: Raised when the same case would be changed otherwise.
        about: One line for lists.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    about: ClassVar[str]

    def asks(self, case: Any) -> Case:
        """The case, one of a fact, as it is asked and scored."""
        asked: Case = case
        return asked

    def probe(self, probe: Probe) -> Probe:
        """A probe as the model is asked it; its answer is that of the probe itself."""
        return probe

    def request(self, fact: Fact, cases: Iterable[Case]) -> Fact:
        """The fact as it is handed to the method; ``cases`` are all of the split, however many a run takes."""
        return fact


class MaskedSubject(Variant):
    """Script prompts and questions with the edited subject hidden behind an X.

    A subject-bound edit has nothing left to act on, so S-ES should fall to that of the unedited model; what stays is
    an object raised whatever the subject.
    """

    name: ClassVar[str] = "masked"
    about: ClassVar[str] = "the subject is hidden in script prompts and questions"

    def asks(self, case: Case) -> Case:
        """Own prompts and questions masked; neighbours, fact prompt and paraphrases as they are."""
        subject = case.fact.subject
        prompts = tuple(_replace_text(p, mask(p.text, subject)) for p in case.prompts)
        questions = tuple(q.model_copy(update={"text": mask(q.text, subject)}) for q in case.questions)
        return case.model_copy(update={"prompts": prompts, "questions": questions})


class ShuffledSteps(Variant):
    """Script prompts whose finished steps stand in another order; the question and the cut step stay where they are.

    A metric that reads the procedure should notice; one that reads the cut step only will not.
    """

    name: ClassVar[str] = "shuffled"
    about: ClassVar[str] = "the finished steps of script prompts stand in another order"

    def asks(self, case: Case) -> Case:
        """Own prompts shuffled, by a seed of the prompt's key; prompts with fewer than two finished steps stay."""
        return case.model_copy(update={"prompts": tuple(self._prompt(p) for p in case.prompts)})

    def _prompt(self, prompt: ScriptPrompt) -> ScriptPrompt:
        head, *steps = prompt.text.split("\n")
        if len(steps) < 3:
            return prompt
        *done, cut = steps
        labels = [s.partition(": ")[0] for s in done]
        bodies = [s.partition(": ")[2] for s in done]
        order = np.random.default_rng(seed(prompt.key, self.name)).permutation(len(done)).tolist()
        if order == sorted(order):
            order = [*order[1:], order[0]]
        mixed = [f"{label}: {bodies[n]}" for label, n in zip(labels, order, strict=True)]
        return _replace_text(prompt, "\n".join([head, *mixed, cut]))


class ChatFormat(Variant):
    """Every probe in the model's chat template, as an instruct model is used; models without one have no such row.

    Scored prompts: the question of a script is the user's and its steps begin the reply; a fact prompt is to be
    completed (``schemas.probes.chat_turns``). Texts: with an instruction to go on where the prompt stops.
    """

    name: ClassVar[str] = CHAT
    about: ClassVar[str] = "every probe is asked in the model's chat template"

    @override
    def probe(self, probe: Probe) -> Probe:
        if isinstance(probe, ScoreProbe):
            return probe.model_copy(update={"chat": True})
        if probe.chat != "never":
            return probe
        more = GO_ON if probe.purpose == CONTINUED else "" if probe.purpose == QUESTION else GO_ON_IN_WORDS
        return probe.model_copy(update={"chat": "always", "instruction": probe.instruction or more})


class RandomObject(Variant):
    """The edit writes the new object of another case; the case is asked for its own.

    Nothing speaks for the asked object, so what a metric still credits above the unedited model is credit for change.
    """

    name: ClassVar[str] = "random_object"
    version: ClassVar[int] = 2
    about: ClassVar[str] = "the edit writes the new object of another case"

    def request(self, fact: Fact, cases: Iterable[Case]) -> Fact:
        """The fact with a new object drawn from the other cases, neither its own nor its old one.

        Raises:
            UserError: no other case has one.
        """
        fact_names = {n.casefold() for n in (*fact.old.names, *(fact.new.names if fact.new else ()))}
        candidates = {
            c.fact.new.text: c.fact.new for c in cases if c.fact.new and not fact_names & _fold_names(c.fact.new.names)
        }
        if not candidates:
            raise UserError(
                "no other case of the split has another new object", where=self.name, fix="take a larger split"
            )
        pick = sorted(candidates)[seed(fact.key, self.name) % len(candidates)]
        return fact.model_copy(update={"new": candidates[pick]})


def _fold_names(names: Sequence[str]) -> set[str]:
    return {n.casefold() for n in names}


def _replace_text(prompt: ScriptPrompt, text: str) -> ScriptPrompt:
    return prompt.model_copy(update={"text": text, "offset": len(text) + len(prompt.separator)})


VARIANTS = Registry(
    "variant",
    shipped=(
        "masked",
        "shuffled",
        "random_object",
        "chat",
    ),
)
"""Variants by name; others add theirs through the entry-point group ``scedit.variant``."""

COMPONENT = "variant"
"""Under this name a variant stands among the components of a run's manifest."""


def variant_of(components: Mapping[str, str]) -> Variant | None:
    """The variant that a run's manifest names, or None."""
    identity = components.get(COMPONENT)
    if identity is None:
        return None
    variant: Variant = VARIANTS.get(identity.partition("@")[0])()
    return variant


def asks_otherwise(variant: Variant) -> bool:
    """Whether cases are asked otherwise under it, so that the unedited model needs answers of its own.

    Example:
        >>> asks_otherwise(MaskedSubject()), asks_otherwise(RandomObject())
        (True, False)
    """
    asks: object = type(variant).asks
    probe: object = type(variant).probe
    return asks is not Variant.asks or probe is not Variant.probe


def asked_in_two_forms(metric: Metric, cases: Iterable[AnyCase]) -> bool:
    """Whether a metric asks some of the cases otherwise in the chat format than in the rows beside it."""
    form = ChatFormat()
    return any(form.probe(probe) != probe for case in cases for probe in metric.probes(case))


def edits_alike(variant: Variant) -> bool:
    """Whether the edits under it are those of the method itself.

    Example:
        >>> edits_alike(MaskedSubject()), edits_alike(RandomObject())
        (True, False)
    """
    request: object = type(variant).request
    return request is Variant.request


def cases_as_requested(cases: Iterable[Any], variant: Variant, split_cases: Iterable[Any]) -> tuple[AnyCase, ...]:
    """The cases of a run on facts with the facts that the method is handed.

    Args:
        cases: Those of the run.
        variant: What is changed.
        split_cases: All of the split; read only if the edit is changed at all.
    """
    if edits_alike(variant):
        return tuple(cases)
    others = tuple(split_cases)
    return tuple(c.model_copy(update={"fact": variant.request(c.fact, others)}) for c in cases)


def asked_case(case: Any, components: Mapping[str, str]) -> Any:
    """The case as a run with these components asked it."""
    variant = variant_of(components)
    return case if variant is None else variant.asks(case)
