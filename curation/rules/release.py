"""Freezing with errata carried over, and releasing: a version that says what changed and what people said of it."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from curation.rules.explain import Explainer, rule_of
from curation.rules.rule import SplitRule, read_rule
from curation.rules.selection import SelectionStream
from curation.splits.contradictions import ContradictionFinder, ContradictoryRequests
from curation.splits.split_file import SEAL, Split, check_name, seal, under_version
from curation.splits.versions import (
    Diff,
    Erratum,
    changelog,
    check_version,
    diff,
    merge_errata,
    parse_version,
    version_order,
)
from curation.splits.visible_texts import case_records
from curation.store.origins import StaleError
from curation.store.store import Store
from schemas.cases import AnyCase, Case
from schemas.core.clock import now, today
from schemas.core.errors import StoreError, UserError
from schemas.lineage import Lineage
from schemas.text.counting import counted

log = logging.getLogger(__name__)

_OWN = ("format", "split", "version", "cases", "digest", SEAL)
PUBLISHED = "publish"
"""The stage under which a store's lineage says that a split went out."""
FIFTH = 0.2
"""Share of the prompts from which on a threshold that takes them out is warned of."""


class FreezeResult(NamedTuple):
    """A frozen split, and what its header does not say.

    Attributes:
        split: The split.
        unprompted: Questions that nothing drops and that have no prompt, by reason.
        contradictions: Cases that edit one fact to two objects.
        alone: Cases of facts without a neighbour prompt.
    """

    split: Split
    unprompted: dict[str, int]
    contradictions: tuple[ContradictoryRequests, ...]
    alone: int


def rule_for(store: Store, settings: dict[str, Any], *, where: str) -> SplitRule:
    """The default rule with settings of one's own; a store without facts gets the one for its edits.

    Raises:
        UserError: an unknown setting.
    """
    if "edits" not in settings and not store.has("fact"):
        settings = settings | next(({"edits": kind} for kind in ("event", "document") if store.has(kind)), {})
    return read_rule(settings, where=where)


def freeze(
    store: Store, name: str, rule: SplitRule, *, version: str = "1.0.0", errata: tuple[Erratum, ...] = ()
) -> Split:
    """The same as ``freeze_with_report``; the split alone."""
    return freeze_with_report(store, name, rule, version=version, errata=errata).split


def freeze_with_report(
    store: Store, name: str, rule: SplitRule, *, version: str = "1.0.0", errata: tuple[Erratum, ...] = ()
) -> FreezeResult:
    """Choose by the rule, less what errata take out, and keep the split in the store.

    The errata of the split's latest version before are applied too and stand in the new header, as does who wrote it.
    Another rule than that version's is warned of. Cases go into the store as they are decided; the split that is
    returned reads them there. A version that is taken by the same cases stays as it is, header and all.

    Raises:
        UserError: the name or the version cannot be one, or no case is left.
        StoreError: the name and version are taken by other cases.
        StaleError: records that the rule looks at were made from content that has changed since.
    """
    check_name(name)
    parse_version(version)
    versions = _versions(store, name)
    before = store.open_split(f"{name}@{versions[0]}") if versions else None
    known = merge_errata(before.header if before else None, errata)
    if stale := store.stale(root=rule.edited, prefix=rule.prefix):
        raise StaleError(stale, str(store.path))
    choice = SelectionStream(store, rule, errata=known)

    def split_details() -> dict[str, Any]:
        details: dict[str, Any] = {"rule": rule.model_dump(mode="json"), "counts": choice.counts}
        if before and "written_by" in before.header:
            details["written_by"] = before.header["written_by"]
        return details | ({"errata": known.header()} if known.entries else {})

    finder, alone = ContradictionFinder(), Counter[bool]()

    def look_at(case: AnyCase) -> AnyCase:
        alone[isinstance(case, Case) and not any(near.prompts for near in case.neighbours)] += 1
        return finder.add(case)

    split = store.freeze(name, map(look_at, choice), version=version, details=split_details)
    if split.header.get("rule") != rule.model_dump(mode="json"):
        log.warning(
            "%s@%s is frozen already, with the same cases and another rule; it keeps that header: give a new version",
            name,
            version,
        )
    if before and before.version != version:
        _warn_of_rule(before, split)
    for warning in _greedy(choice, rule):
        log.warning("%s", warning)
    return FreezeResult(split, dict(choice.unprompted), tuple(finder.found), alone[True])


def _warn_of_rule(before: Split, split: Split) -> None:
    """Warn where a split's rule says something else than that of the version before; where one has none, of nothing."""
    if not all(isinstance(header.get("rule"), dict) for header in (before.header, split.header)):
        return
    old, new = (rule_of(header).model_dump(mode="json") for header in (before.header, split.header))
    changed = [name for name in new if new[name] != old.get(name)]
    changes = "; ".join(f"{name} is {json.dumps(new[name])}, was {json.dumps(old.get(name))}" for name in changed)
    if changes:
        log.warning("the rule is not that of %s@%s: %s", split.name, before.version, changes)


def _greedy(choice: SelectionStream, rule: SplitRule) -> Iterator[str]:
    """Thresholds by which more than a fifth of the prompts that were looked at are out."""
    for name in dict.fromkeys(t.check.partition("@")[0] for t in rule.thresholds):
        lost = sum(choice.counts.get(f"prompt: {verb} by {name}", 0) for verb in ("dropped", "held"))
        if choice.prompts and lost > FIFTH * choice.prompts:
            yield (
                f"the threshold on '{name}' takes out {lost:,} of {counted(choice.prompts, 'prompt')} "
                f"({lost / choice.prompts:.0%}): is it meant for texts of this length?"
            )


class Release(NamedTuple):
    """A released split, and what changed since the release before (None for the first)."""

    split: Split
    changes: Diff | None
    changelog: str


def release(store: Store, name: str, *, version: str | None = None, without_sample: str | None = None) -> Release:
    """Release a frozen split under a version that does not hide its changes; cases released already stay as they are.

    The header gets ``release`` (date, what it was frozen as, the release before, level, changelog) and ``quality``: the
    report of a complete quality sample of exactly these cases, or the reason why there is none.

    Args:
        store: Open for writing.
        name: ``name`` or ``name@version`` of a frozen split.
        version: The new version; what the rules suggest where it is left out.
        without_sample: Why the release does not wait for people.

    Raises:
        StaleError: the split holds records that are stale in the store.
        UserError: the sample is not drawn or not complete and no reason is given, the version hides a change, these
            cases are released already under another version, or the candidate is older than the release and no version
            is given.
    """
    candidate = store.open_split(name)
    _refuse_stale(store, candidate)
    before = _predecessor(store, candidate)
    if before and before.digest == candidate.digest:
        done, first = f"these cases are released already as {before.name}@{before.version}", "scedit split freeze"
        if version not in (None, before.version):
            raise UserError(done, fix=f"freeze the changed split first: {first}")
        log.warning("%s, which stays as it is; freeze a changed split first: %s", done, first)
        return Release(before, None, before.header["release"]["changelog"])
    if before and version is None and version_order(candidate.version) < version_order(before.version):
        raise UserError(
            f"'{name}' was frozen as {candidate.version}, and {before.version} is out already: its cases may be old",
            fix="freeze under a later version first; to release these cases all the same: --version VERSION",
        )
    quality = _quality(store, candidate, without_sample)
    if before:
        _warn_of_rule(before, candidate)
    changes = compare(store, before, candidate) if before else None
    if version is None:
        version = changes.suggested if changes else candidate.version.partition("-")[0]
    if changes:
        check_version(changes, version)
    parse_version(version)
    changes = changes._replace(new=candidate._replace(version=version)) if changes else None
    date = today()
    number = counted(len(candidate.all_cases), "case")
    first = f"## {candidate.name} {version} ({date})\n\n{number}, digest {candidate.digest[:12]}. First release.\n"
    text = changelog(changes, date=date) if changes else first
    entry = _entry(candidate, before, level=changes.level if changes else "first", date=date, text=text)
    header = _header(candidate, before) | {"quality": quality, "release": entry}
    renumbered = under_version(candidate, version, header)
    renumbered.header[SEAL] = seal(renumbered.header)
    if "release" not in store.put_split(renumbered):
        raise UserError(
            f"a split '{renumbered.name}@{version}' is frozen already and stays as it is",
            fix=f"release under another version, or freeze as {version}-candidate before releasing {version}",
        )
    return Release(renumbered, changes, text)


def _entry(candidate: Split, before: Split | None, *, level: str, date: str, text: str) -> dict[str, Any]:
    """What the header says of the release."""
    return {
        "date": date,
        "frozen_as": f"{candidate.name}@{candidate.version}",
        "before": {"version": before.version, "digest": before.digest} if before else None,
        "level": level,
        "changelog": text,
    }


def _refuse_stale(store: Store, candidate: Split) -> None:
    stale = {item.id: item for item in store.stale()}
    held = {record.id for case in candidate.all_cases for record in case_records(case)} if stale else set()
    if found := [item for id_, item in stale.items() if id_ in held]:
        raise StaleError(found, str(store.path))


def _header(candidate: Split, before: Split | None) -> dict[str, Any]:
    """What the candidate's header says of itself, with its errata and those of the release before."""
    header = {k: v for k, v in candidate.header.items() if k not in _OWN}
    errata = merge_errata(before.header if before else None, merge_errata(candidate.header).entries)
    return header | ({"errata": errata.header()} if errata.entries else {})


def compare(store: Store, old: Split, new: Split) -> Diff:
    """Compare two splits; the reason of a change is what the other split's rule says of the item today.

    Of what was dropped the new split's rule is asked, of what was added the old one's.
    """
    try:
        rules = {"dropped": rule_of(new.header), "added": rule_of(old.header)}
    except UserError:
        return diff(old, new)
    headers = {"dropped": new.header, "added": old.header}

    @cache
    def explainer(what: str) -> Explainer:
        return Explainer(store, rules[what], errata=merge_errata(headers[what]), many=True)

    return diff(old, new, why=lambda key, what: _reason_of_change(explainer(what), key, what))


def _reason_of_change(explainer: Explainer, key: str, what: str) -> str:
    try:
        status, why = explainer.reason(key)
    except UserError:
        return "no longer in the store"
    if status == "in":
        return (
            "new in the store, or corrected there"
            if what == "added"
            else "the store has changed since: the rule would take it now"
        )
    return f"the rule before left it out: {why}" if what == "added" else why


def _quality(store: Store, split: Split, without: str | None) -> dict[str, Any]:
    from curation.quality.report import report, summary
    from curation.quality.sample import samples

    reports = [report(store, s) for s in samples(store, digest=split.digest)]
    complete = [summary(r) for r in reports if r.complete]
    if complete:
        return {"samples": complete}
    if without is not None and without.strip():
        return {"without_sample": without.strip(), "samples": [summary(r) for r in reports]}
    label = f"{split.name}@{split.version}"
    if not reports:
        raise UserError(
            f"the release waits for a quality sample of '{label}', and none is drawn",
            fix=f'draw one: scedit split sample draw {label}, or say why not: --without-sample "REASON"',
        )
    missing = [f"{p} {n}" for p, n in reports[-1].missing.items() if n]
    missing += [f"{reports[-1].unanswered} that nobody was asked for"] if reports[-1].unanswered else []
    raise UserError(
        f"the release waits for the quality sample {reports[-1].sample.name} (answers missing: {', '.join(missing)})",
        fix="have people judge it: scedit annotate new NAME --task quality, and import their answers: scedit annotate "
        'import, or say why not: --without-sample "REASON"',
    )


def _versions(store: Store, name: str) -> list[str]:
    """The versions of a split, the latest first; what is no semantic version is left out."""
    parsed = []
    for label, _, _ in store.split_names():
        known, _, version = label.rpartition("@")
        if known == name:
            try:
                parse_version(version)
                parsed.append(version)
            except UserError:
                continue
    return sorted(parsed, key=version_order, reverse=True)


def note_published(path: Path, split: Split) -> bool:
    """Remember in a store that a split of it was published: its cases are in people's hands, candidate or not.

    False where the store holds no such split, or cannot be written.
    """
    label = f"{split.name}@{split.version}"
    line = Lineage(item_id=split.digest, stage=PUBLISHED, made_at=now(), request=label, detail={"split": label})
    try:
        with Store.open(path, write=True) as store:
            held = any(name == label and digest == split.digest for name, digest, _ in store.split_names())
            if held:
                store.put([], [line])
            return held
    except StoreError:
        return False


def _predecessor(store: Store, candidate: Split) -> Split | None:
    """The highest version that may be in people's hands: released, published, or frozen without a suffix."""
    published = {str(line.detail.get("split")) for line in store.lineages(stage=PUBLISHED)}
    for version in _versions(store, candidate.name):
        split = store.open_split(f"{candidate.name}@{version}")
        other = version != candidate.version and split.digest != candidate.digest
        if "release" in split.header or (other and ("-" not in version or f"{candidate.name}@{version}" in published)):
            return split
    return None
