"""Agreement on sets of choices (tags): the Jaccard index of two people's sets, item by item."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

from annotation_ui.agreement.judgements import Judgement
from curation.stats.bootstrap import DEFAULT, Resampling, cluster_bootstrap
from curation.stats.estimates import Estimate, undefined

NAME = "Jaccard index"


def set_of(value: object) -> frozenset[str]:
    """The choices of a stored set.

    Example:
        >>> sorted(set_of("place, time")), set_of("")
        (['place', 'time'], frozenset())
    """
    return frozenset(name for name in str(value).split(", ") if name)


def jaccard(judgements: Sequence[Judgement], *, resampling: Resampling = DEFAULT) -> Estimate:
    """What two people's sets share over what they hold together: mean over pairs, then items, then cases.

    Items where everybody chose nothing are left out: their index is 0 / 0.

    Args:
        judgements: Of one aspect, whose values are sets.
        resampling: For the interval; cases are resampled.
    """
    sets: dict[str, dict[str, frozenset[str]]] = defaultdict(dict)
    cases = {}
    for judgement in judgements:
        sets[judgement.item][judgement.name] = set_of(judgement.value)
        cases[judgement.item] = judgement.case
    values, clusters = [], []
    for item in sorted(sets):
        pairs = [(a, b) for a, b in combinations(sets[item].values(), 2) if a | b]
        if pairs:
            values.append(sum(len(a & b) / len(a | b) for a, b in pairs) / len(pairs))
            clusters.append(cases[item])
    if not values:
        return undefined(NAME, "no item has the choices of two people")
    return cluster_bootstrap(values, clusters, resampling)._replace(name=NAME)
