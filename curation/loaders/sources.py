"""Where the published data come from, what may be done with them, and how many records they have upstream.

The counts are those that the sources state or that were counted in whole upstream copies; a copy with another number of
records is told so ("count"), because published files have been cut off and have changed under the same name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from schemas.facts import Source


class Upstream(NamedTuple):
    """A published data set.

    Attributes:
        name: As its records' sources say it.
        licence: What may be done with it.
        url: Its address.
        counts: The number of records by file name.
        order: What it states about the order of old and new object, where its records have no date of the change.
    """

    name: str
    licence: str
    url: str | None = None
    counts: Mapping[str, int] = {}
    order: str = ""

    def source(self, item: object = None, *, date: str | None = None) -> Source:
        """The source of one record."""
        return Source(
            name=self.name, licence=self.licence, url=self.url, item=None if item is None else str(item), date=date
        )


_DUMPS = "WikiFactDiff compares two dumps of Wikidata: the old object stood in the earlier, the new one in the later"

COUNTERFACT = Upstream(
    "CounterFact",
    "MIT",
    "https://rome.baulab.info",
    {
        "counterfact.json": 21_919,
        "counterfact-edit.json": 10_000,
        "counterfact-train.json": 10_000,
        "counterfact-val.json": 1_919,
    },
)
SCEDIT_CF = Upstream(
    "ScEdit-CF", "not stated (paper: CC BY 4.0)", "https://arxiv.org/abs/2505.23291", {"ScEdit-CF.json": 1_830}
)
SCEDIT_T = Upstream(
    "ScEdit-T",
    "not stated (paper: CC BY 4.0)",
    "https://arxiv.org/abs/2505.23291",
    {"ScEdit-T.json": 1_762},
    order=_DUMPS,
)
SCEDIT_PAPER = Upstream("ScEdit paper", "CC BY 4.0", "https://arxiv.org/abs/2505.23291")
WIKIFACTDIFF = Upstream(
    "WikiFactDiff", "CC BY-SA 4.0", "https://github.com/Orange-OpenSource/WikiFactDiff", order=_DUMPS
)
ZSRE = Upstream(
    "zsRE (MEND and EasyEdit copies)",
    "MIT (EasyEdit); copies differ, check yours",
    "https://github.com/zjunlp/EasyEdit",
    {"zsre_mend_train-1k.json": 1_000, "zsre_mend_eval_portability_gpt4.json": 1_037},
)
MQUAKE = Upstream("MQuAKE", "MIT", "https://github.com/princeton-nlp/MQuAKE", {"MQuAKE-hard.json": 429})
KNOWEDIT = Upstream("KnowEdit", "MIT", "https://github.com/zjunlp/EasyEdit")
RIPPLE = Upstream("RippleEdits", "MIT", "https://github.com/edenbiran/RippleEdits")
KNOWN_1000 = Upstream("known_1000", "MIT", "https://rome.baulab.info", {"known_1000.json": 1_209})
RELATIONS = Upstream("LRE relations", "MIT", "https://github.com/evandez/relations")
ELKEN = Upstream(
    "ELKEN",
    "CC BY-NC-SA 4.0",
    "https://github.com/THU-KEG/Event-Level-Knowledge-Editing",
    {"train.json": 677, "test.json": 887},
)
MULFE = Upstream(
    "MULFE",
    "Apache-2.0",
    "https://github.com/wchrepo/mulfe",
    {
        "mulfe_dev.json": 300,
        **{
            f"mulfe_test.json{strategy}": 285
            for strategy in ("", ".doc_openie", ".lmqg", ".lmqg_ner", ".stanford_openie")
        },
    },
)
MULFE_SPECIFICITY = Upstream("MULFE (questions of TriviaQA)", "Apache-2.0", "https://github.com/wchrepo/mulfe")
_UNSTATED = "not stated here: see the data set's card"
QAEDIT = Upstream("QAEdit", _UNSTATED, "https://huggingface.co/datasets/WenDingY/QAEdit")
WIKIBIGEDIT = Upstream("WikiBigEdit", _UNSTATED, "https://huggingface.co/datasets/lukasthede/WikiBigEdit")
ULTRAEDITBENCH = Upstream("UltraEditBench", _UNSTATED, "https://huggingface.co/datasets/XiaojieGu/UltraEditBench")
UNIEDIT = Upstream("UniEdit", _UNSTATED, "https://github.com/qizhou000/UniEdit")
OWN = Upstream("your own file", "not stated")

UPSTREAM: dict[str, Upstream] = {
    "jsonl": OWN,
    "csv": OWN,
    "table": OWN,
    "counterfact": COUNTERFACT,
    "counterfact-flat": COUNTERFACT,
    "scedit-cf": SCEDIT_CF,
    "scedit-t": SCEDIT_T,
    "scedit-paper": SCEDIT_PAPER,
    "wikifactdiff": WIKIFACTDIFF,
    "zsre": ZSRE,
    "mquake": MQUAKE,
    "knowedit": KNOWEDIT,
    "ripple": RIPPLE,
    "known-1000": KNOWN_1000,
    "relations": RELATIONS,
    "facts-dev": RELATIONS,
    "elken": ELKEN,
    "mulfe": MULFE,
    "mulfe-specificity": MULFE_SPECIFICITY,
    "mquake-hops": MQUAKE,
    "ripple-probes": RIPPLE,
    "knowedit-probes": KNOWEDIT,
    "qaedit": QAEDIT,
    "wikibigedit": WIKIBIGEDIT,
    "ultraeditbench": ULTRAEDITBENCH,
    "uniedit": UNIEDIT,
}
"""The source of each format's records."""

_STATED: Mapping[str, str] = {upstream.name: upstream.order for upstream in UPSTREAM.values() if upstream.order}


def stated_order(source: Source) -> str:
    """What the data set of a record states about the order of old and new object; empty where it states nothing.

    Example:
        >>> bool(stated_order(WIKIFACTDIFF.source("Q1/P39"))), stated_order(COUNTERFACT.source(1))
        (True, '')
    """
    return _STATED.get(source.name, "")
