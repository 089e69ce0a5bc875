"""Can a question's scope and its answer be predicted without its event?

    python -m benchmarks.scope_wording events                           cross-validated over five parts of the events
    python -m benchmarks.scope_wording elken.jsonl --train train.jsonl  trained on the events of another split

A classifier that never sees the events (TF-IDF of words and word pairs, logistic regression) is trained on some events
and tested on others. An AUC of .5 means that nothing can be predicted.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from curation.shipped import named_split
from evaluation.editors.routed.wording import wording_classifier
from schemas.cases import EventCase

Items = list[tuple[str, str, int]]
"""Event, text and label of each item."""


def items_of(cases: Sequence[EventCase], what: str) -> Items:
    """What is shown to the classifier, and what it predicts."""
    if what == "scope of facts":
        return [(c.key, q.text, int(q.scope == "in")) for c in cases for q in c.facts]
    if what == "scope of tendencies":
        return [(c.key, q.text, int(q.scope == "in")) for c in cases for q in c.tendencies]
    asked = [(c.key, q) for c in cases for q in c.tendencies if q.scope == "in"]
    return [(key, f"{q.text} {o}", int("ABC"[n] == q.answer)) for key, q in asked for n, o in enumerate(q.options)]


def predicted(items: Items, train: Items | None, folds: int) -> np.ndarray:
    """Probability of label 1, from events that were not trained on."""
    from sklearn.model_selection import GroupKFold, cross_val_predict

    texts, labels = [text for _, text, _ in items], np.array([label for *_, label in items])
    if train is not None:
        model = wording_classifier().fit([text for _, text, _ in train], [label for *_, label in train])
        return np.asarray(model.predict_proba(texts)[:, 1])
    groups = [event for event, *_ in items]
    parts = GroupKFold(folds, shuffle=True, random_state=0)
    return np.asarray(
        cross_val_predict(wording_classifier(), texts, labels, groups=groups, cv=parts, method="predict_proba")[:, 1]
    )


def main() -> None:
    """Print one line for each question that the classifier is asked."""
    from sklearn.metrics import roc_auc_score

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("split")
    parser.add_argument("--train")
    parser.add_argument("--folds", type=int, default=5)
    options = parser.parse_args()
    cases, train = (
        [case for case in named_split(name).all_cases if isinstance(case, EventCase)] if name else None
        for name in (options.split, options.train)
    )
    for what in ("scope of facts", "scope of tendencies", "right option"):
        items = items_of(cases or [], what)
        scores = predicted(items, items_of(train, what) if train else None, options.folds)
        labels = np.array([label for *_, label in items])
        if what == "right option":
            hits = scores.reshape(-1, 3).argmax(axis=1) == labels.reshape(-1, 3).argmax(axis=1)
            print(f"{what}: accuracy {hits.mean():.3f} (chance .333), n = {len(hits)}")
        else:
            print(f"{what}: AUC {roc_auc_score(labels, scores):.3f} (chance .5), n = {len(labels)}")


if __name__ == "__main__":
    main()
