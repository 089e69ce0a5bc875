"""Checks that run over a store: what is due, judging in batches, verdicts kept as they come: a stop costs little.

A check here looks at items that the store already holds, mostly with a model. It measures or describes; what is kept is
decided by the split's rule. Every package declares its own checks (entry points of the group ``scedit.store_check``);
here stands only in which order those that are shipped run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from curation.files.model_packages import EMBEDDED, EMBEDDED_LABEL
from curation.store.store import KINDS, Store
from schemas.core.config import Options, validate
from schemas.core.errors import UserError
from schemas.core.ids import seed
from schemas.core.records import Record
from schemas.core.registry import Registry
from schemas.facts import Fact, Object
from schemas.lineage import SMOKE_TEST
from schemas.verdicts import Label, Span, Verdict, verdict_key

STORE_CHECKS = Registry(
    "store_check",
    shipped=(
        "fact_dates",
        "question_form",
        "subject_in_question",
        "leak_in_question",
        "similar_question",
        "no_mention",
        "leak_in_prompt",
        "early_cut",
        "subject_in_neighbour",
        "predictability",
        "known_before",
        "known_in_script",
        "token_boundary",
        "verify_question",
        "cut_guidance",
        "telling_word",
        "verify_prompt",
        "verify_next",
        "information_kept",
        "options_differ",
        "stands_alone",
        "repeats_sibling",
        "subject_named",
        "level_literal",
        "one_blank",
        "answer_in_query",
        "answer_short",
        "answer_supported",
        "probe_stands_alone",
        "probe_repeats",
        "tag_known",
    ),
)


class CheckContext:
    """What a check may look at beside the item: the store, its facts by key, the objects of a relation.

    Facts are read once, when first asked for; a check run does not change them.
    """

    def __init__(self, store: Store) -> None:
        self.store = store

    @cached_property
    def facts(self) -> dict[str, Fact]:
        """Current facts by key."""
        return {fact.key: fact for fact in self.store.all(Fact)}

    @cached_property
    def objects(self) -> dict[str, tuple[Object, ...]]:
        """Old and new objects of every relation, each text once, in an order drawn by a seed of relation and text.

        The draw does not depend on the store's other content, so the first ones change little when facts are added.
        """
        by_relation: dict[str, dict[str, Object]] = {}
        for fact in self.facts.values():
            of = by_relation.setdefault(fact.relation.id, {})
            for one in (fact.old, fact.new):
                if one is not None:
                    of.setdefault(one.text.casefold(), one)
        return {
            relation: tuple(sorted(of.values(), key=lambda one: (seed("rivals", relation, one.text), one.text)))
            for relation, of in by_relation.items()
        }


class StoreCheck:
    """Base of the checks over a store.

    Loading a model belongs into ``judge``, not into ``__init__``: counting what is due makes checks and loads nothing.

    Attributes:
        name: Name in the registry.
        version: Changes whenever a verdict could change.
        on: Kind of the items that it judges: ``fact``, ``question``, ``script``, ``prompt`` ...
        about: One line for lists.
        default_model: The model where none is named; None for a check that uses none.
        on_request: Runs only where its name is given, or a model for it: its verdicts depend on the model's skill, and
            its calls may cost money.
        batch: Items that are judged, and whose verdicts are kept, together.
        model: Name of the model as the verdicts give it.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    on: ClassVar[str]
    about: ClassVar[str]
    default_model: ClassVar[str | None] = None
    on_request: ClassVar[bool] = False
    batch: ClassVar[int] = 32

    class Params(Options):
        """Settings of the check; it has none of its own."""

    def __init__(self, params: Options | None = None, *, model: str | None = None) -> None:
        self.params: Any = params or self.Params()
        self.model_name = (model or self.default_model) if self.default_model else None

    @property
    def model(self) -> str | None:
        """The name under which verdicts give the model; a folder goes by its last part."""
        return self.model_name

    @property
    def by(self) -> str:
        """``name@version``."""
        return f"{self.name}@{self.version}"

    def judge(self, items: Sequence[Record], around: CheckContext) -> Iterable[Verdict]:
        """Verdicts on all items, at least one each; an item left without one stays due (a model that is away, say)."""
        raise NotImplementedError

    def cost(self, items: Sequence[Record], around: CheckContext) -> Mapping[str, Any]:
        """What judging these items takes, for ``--dry-run``: plain numbers by name, such as calls or dollars."""
        return {}

    def verdict(
        self,
        item: Record,
        label: Label | None,
        reason: str = "",
        *,
        value: float | None = None,
        unit: str | None = None,
        spans: Iterable[Span] = (),
    ) -> Verdict:
        """A verdict by this check and its model on an item."""
        return Verdict(
            key=verdict_key(item_id=item.id, by=self.by, model=self.model),
            item_id=item.id,
            by=self.by,
            label=label,
            reason=reason,
            value=value,
            unit=unit,
            model=self.model,
            spans=tuple(spans),
        )


class CheckOutcome(NamedTuple):
    """What one run of a check did: items due, verdicts written by label, items that got none."""

    check: StoreCheck
    due: int
    labels: dict[str, int]
    left: int


def make_checks(
    names: Sequence[str], *, models: Sequence[str] = (), options: Mapping[str, Mapping[str, Any]] | None = None
) -> list[StoreCheck]:
    """Checks by name, one for every model that is named for it.

    Args:
        names: Names in the registry; where there is none, all run but those on request, unless a model is named for
            one of these.
        models: ``MODEL`` for every check, or ``CHECK=MODEL`` for one; several of one check run one after another.
        options: Settings by check.

    Raises:
        UserError: unknown check or setting, or a model for a check that is not asked for.
    """
    with_model = {text.partition("=")[0] for text in models if "=" in text}
    unasked = [n for n in STORE_CHECKS.names() if n in with_model or not STORE_CHECKS.get(n).on_request]
    chosen = list(dict.fromkeys(names)) or unasked
    classes: dict[str, type[StoreCheck]] = {name: STORE_CHECKS.get(name) for name in chosen}
    for name in options or {}:
        if name not in classes:
            raise UserError(f"a setting names the check '{name}', which does not run", allowed=", ".join(classes))
    models_by_check: dict[str, list[str]] = {}
    for text in models:
        check, equals, model = text.partition("=")
        if equals and check in STORE_CHECKS.names():
            if check not in classes:
                raise UserError(f"a model is named for the check '{check}', which does not run", where=text)
            models_by_check.setdefault(check, []).append(model)
    common = [m for m in models if m.partition("=")[0] not in STORE_CHECKS.names()]
    checks: list[StoreCheck] = []
    for name, cls in classes.items():
        params = validate(cls.Params, dict((options or {}).get(name, {})), where=f"settings of {name}")
        used: list[str | None] = list(models_by_check.get(name, common)) if cls.default_model else []
        checks += [cls(params, model=model) for model in used or [None]]
    return checks


def due(store: Store, check: StoreCheck, *, again: bool = False) -> list[str]:
    """Ids of the current items of the check's kind without a verdict by this check, version and model, by key."""
    judged = set() if again else store.judged(check.by, model=check.model)
    return [item for _, item in store.keys(check.on) if item not in judged]


def run_check(
    store: Store,
    check: StoreCheck,
    *,
    around: CheckContext | None = None,
    again: bool = False,
    limit: int | None = None,
    among: Collection[str] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> CheckOutcome:
    """Judge what is due, batch by batch; each batch's verdicts are in the store before the next one begins.

    Args:
        store: Open for writing.
        check: Which check, with its model.
        around: Shared by several checks of one run, so that facts are read once.
        again: Also judge what has a verdict; the new one replaces it.
        limit: Only so many items.
        among: Only items with these ids.
        on_progress: Called with (done, due) after every batch.
    """
    around = around or CheckContext(store)
    ids = [item for item in due(store, check, again=again) if among is None or item in among][:limit]
    labels: dict[str, int] = {}
    left = done = 0
    for start in range(0, len(ids), check.batch):
        items = store.by_ids(KINDS[check.on], ids[start : start + check.batch])
        verdicts = list(check.judge(items, around))
        store.put(verdicts)
        for verdict in verdicts:
            label = verdict.label or "measured"
            labels[label] = labels.get(label, 0) + 1
        left += len({item.id for item in items} - {v.item_id for v in verdicts})
        done += len(items)
        if on_progress:
            on_progress(done, len(ids))
    return CheckOutcome(check, len(ids), labels, left)


def due_items(store: Store, check: StoreCheck, *, again: bool = False, limit: int | None = None) -> list[Record]:
    """The items that ``run_check`` would judge."""
    return store.by_ids(KINDS[check.on], due(store, check, again=again)[:limit])


Inputs = TypeVar("Inputs")


class ItemCheck(StoreCheck, Generic[Inputs]):
    """Base of the checks that are written once, as ``judge_one``, a pure function from inputs to one verdict.

    Construction calls it on what was just written. Over a store, ``inputs_of`` looks the inputs of items up. A check
    measures or describes; what is kept is decided elsewhere.

    Attributes:
        not_applicable: Reason of the ``keep`` on a stored item that the check does not apply to.
    """

    batch: ClassVar[int] = 1000
    not_applicable: ClassVar[str] = "does not apply"

    def applies(self, inputs: Inputs) -> bool:
        """Whether there is anything to judge; where not, construction leaves no verdict."""
        return True

    def judge_one(self, inputs: Inputs) -> Verdict:
        """The verdict on the item, where the check applies."""
        raise NotImplementedError

    def inputs_of(self, items: Sequence[Record], around: CheckContext) -> Iterable[tuple[Record, Inputs]]:
        """Items of a store with what the check may look at; one that lacks something is left out, and stays due."""
        raise NotImplementedError

    def judge(self, items: Sequence[Record], around: CheckContext) -> Iterator[Verdict]:
        """Verdicts on items of a store; none on an item without inputs, which stays due."""
        for item, inputs in self.inputs_of(items, around):
            yield self.judge_one(inputs) if self.applies(inputs) else self.verdict(item, "keep", self.not_applicable)


class VerdictCounts(NamedTuple):
    """What became of constructed items: counts by check and label, reasons, and whether a small model wrote them."""

    store: str
    kept: int
    dropped: int
    unsure: int
    checks: list[tuple[str, dict[str, int]]]
    reasons: list[tuple[str, str, int]]
    models: list[str]
    smoke_test: bool


def count_verdicts(path: Path) -> VerdictCounts:
    """Counts of verdicts in a store, by check, label and reason.

    Raises:
        StoreError: the store cannot be read.
    """
    by_check: dict[str, Counter[str]] = {}
    reasons: Counter[tuple[str, str]] = Counter()
    items: dict[str, set[str]] = {}
    with Store.open(path) as store:
        for verdict in store.verdicts():
            label = verdict.label or "measured"
            by_check.setdefault(verdict.check, Counter())[label] += 1
            items.setdefault(verdict.item_id, set()).add(label)
            if label in ("drop", "unsure", "unscored"):
                reasons[(verdict.check, verdict.reason)] += 1
        lineages = [x for x in store.lineages() if x.model]
    models = sorted({x.model for x in lineages if x.model})
    smoke_test = any(m in (EMBEDDED, EMBEDDED_LABEL) for m in models)
    smoke_test = smoke_test or any(SMOKE_TEST in str(x.detail.get("quality", "")) for x in lineages)
    dropped = sum("drop" in labels for labels in items.values())
    unsure = sum("drop" not in labels and bool(labels & {"unsure", "unscored"}) for labels in items.values())
    return VerdictCounts(
        store=path.name,
        kept=len(items) - dropped - unsure,
        dropped=dropped,
        unsure=unsure,
        checks=[(name, dict(counts)) for name, counts in sorted(by_check.items())],
        reasons=[(check, reason, n) for (check, reason), n in reasons.most_common(15)],
        models=models,
        smoke_test=smoke_test,
    )
