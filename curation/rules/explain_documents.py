"""Why a document or a probe of one is in a split of documents, or out of it."""

from __future__ import annotations

from curation.rules.document_rule import DocumentRule
from curation.rules.explanation import Explanation, Standing, explain_request, find_loss, replaced_or_alone
from curation.rules.request_selection import RequestRuling
from curation.rules.rule import SplitRule
from curation.splits.errata import Errata
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.core.records import Record
from schemas.documents.document import Document, DocumentProbe
from schemas.text.counting import counted


def explain_document(
    store: Store, rule: SplitRule, record: Document | DocumentProbe, errata: Errata | None = None
) -> Explanation:
    """Why a document or one of its probes is in or out under a rule for documents.

    Raises:
        UserError: the rule is about other edits.
    """
    if not isinstance(rule, DocumentRule):
        what = f"'{record.key}' belongs to a document, and the rule is about other edits"
        raise UserError(what, fix="--set edits=document")
    key = record.key if isinstance(record, Document) else record.document
    documents, probes = store.by_keys(Document, [key]), store.of_parents(DocumentProbe, [key])
    ruling = RequestRuling(store, rule, errata, items=[record.id, *(r.id for r in (*documents, *probes))])
    standing = replaced_or_alone(record, documents, probes, f"its document '{key}'") or _standing(
        ruling, record, documents[0], probes
    )
    return explain_request(store, ruling, record, documents, standing)


def _standing(
    ruling: RequestRuling[DocumentRule], record: Record, document: Document, probes: list[DocumentProbe]
) -> Standing:
    rule = ruling.rule
    if not document.key.startswith(rule.prefix):
        return Standing("out", f"its key does not begin with '{rule.prefix}'")
    for item in dict.fromkeys((record.key, document.key)):
        judged = record if item == record.key else document
        if lost := find_loss(ruling.decide(judged), judged):
            return lost
    kept = sum(ruling.decide(probe).outcome == "keep" for probe in probes)
    if kept < rule.min_probes:
        probes_kept = f"{counted(kept, 'kept probe')}, the rule wants {rule.min_probes}"
        return Standing("out", f"'{document.key}' has {probes_kept}")
    return Standing("in", f"in 'case/{document.key}', which has {counted(kept, 'probe')}")
