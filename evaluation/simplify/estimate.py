"""What the simplifications of a run ask of models, before a call is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from construction.llm.cost.estimates import CallEstimate
from curation.files.artifact_cache import Cache
from curation.files.model_packages import cache_dir
from evaluation.simplify.choice import SimplifyChoice
from evaluation.simplify.editor import kept_statements
from schemas.cases import AnyCase, DocumentCase


class SimplifiedMethod(Protocol):
    """A method of a run, and how documents become facts for it, if they do."""

    @property
    def simplify(self) -> SimplifyChoice | None:
        """The choice, or None."""


def estimate_calls_of(
    methods: Iterable[SimplifiedMethod], cases: Sequence[AnyCase], cache: Cache | None = None
) -> CallEstimate | None:
    """Calls for the documents whose statements are not kept yet; equal strategies with equal options count once.

    Args:
        methods: The methods of a run.
        cases: Its cases; those that are no documents do not count.
        cache: Where statements are kept; None for the folder of computed things.

    Returns:
        None where no strategy asks a model. Its ``cost`` is None where a price is not known.

    Raises:
        UserError: what a model needs is missing, or a strategy cannot simplify these documents.
    """
    strategies = {one.identity: one for method in methods if method.simplify for one in [method.simplify.made()]}
    documents = [case.document for case in cases if isinstance(case, DocumentCase)]
    store = cache or Cache(cache_dir())
    estimates = []
    for strategy in strategies.values():
        strategy.check(documents)
        missing = [document for document in documents if kept_statements(strategy, document, store) is None]
        if (estimate := strategy.estimate(missing)) is not None:
            estimates.append(estimate)
    if not estimates:
        return None
    costs = [one.cost for one in estimates if one.cost is not None]
    return CallEstimate(
        calls=sum(one.calls for one in estimates),
        tokens_in=sum(one.tokens_in for one in estimates),
        tokens_out=sum(one.tokens_out for one in estimates),
        cost=sum(costs) if len(costs) == len(estimates) else None,
    )
