"""Releases: whole or not there, their card and Croissant metadata, and what is sent to a hub."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from curation.export.formats import EXPORTERS, Exporter, export
from curation.export.hub import check_repository, files_to_push, push_files
from curation.export.metadata import DataFile, PublisherDetails, ReleasePart, card, croissant
from curation.export.publish import DEFAULT, DEFAULT_OF_EVENTS, publish
from curation.export.summary import SplitSummary, survey
from curation.files.artifact_cache import sha256
from curation.loaders.importer import import_split
from curation.shipped import shipped_split
from curation.splits.split_file import load_split, make_split
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.events.questions import TendencyQuestion
from schemas.facts import Relation, Source
from schemas.lineage import Lineage
from schemas.ratings import Rating
from schemas.verdicts import Verdict
from tests.support.curation.rule_records import ann, said
from tests.support.curation.verdicts import make_verdict
from tests.support.events import event_case, make_tendency
from tests.support.small import SMALL, small_split


def tree(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_release_is_whole_and_its_sums_agree(tmp_path: Path) -> None:
    release = publish(small_split(), tmp_path / "r")
    contents = tree(tmp_path / "r")
    sums = dict(line.split("  ")[::-1] for line in contents["checksums.sha256"].decode().splitlines())
    assert sums.keys() == contents.keys() - {"checksums.sha256"}
    assert all(sha256(tmp_path / "r" / name) == value for name, value in sums.items())
    assert (
        release.cases["split"] == release.cases["scedit-cf"] + release.cases["scedit-t"] == 58 and not release.skipped
    )
    assert load_split(tmp_path / "r" / "mini.jsonl").digest == small_split().digest
    assert [p.name for p in tmp_path.iterdir()] == ["r"]
    publish(small_split(), tmp_path / "again")
    assert tree(tmp_path / "again") == contents


def test_formats_without_a_case_are_passed_over_or_refused(tmp_path: Path) -> None:
    only_t = make_split("t", [c for c in small_split().cases if c.fact.change == "temporal"])
    release = publish(only_t, tmp_path / "r")
    assert set(release.skipped) == {"scedit-cf", "counterfact"} and set(release.cases) == set(DEFAULT) - set(
        release.skipped
    )
    with pytest.raises(UserError, match="no case that counterfact can hold"):
        publish(only_t, tmp_path / "x", formats=["split", "counterfact"])
    assert not (tmp_path / "x").exists()


def test_a_kill_between_the_two_renames_is_mended(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    publish(small_split(), folder, formats=["split"])
    before = tree(folder)
    folder.rename(tmp_path / ".r.scedit-old")  # where the first of the two renames leaves things
    with pytest.raises(UserError, match="something here already"):
        publish(small_split(), folder)
    assert tree(folder) == before and [p.name for p in tmp_path.iterdir()] == ["r"]


def test_datasets_loads_the_folder_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets", reason="the package datasets is not installed")
    exporter: Exporter = EXPORTERS.get("datasets")
    exporter.write(small_split(), tmp_path / "r")
    cases = small_split().cases
    near = [n for c in cases for n in c.neighbours]
    record = {
        "cases": len(cases),
        "questions": sum(len(x.questions) for x in (*cases, *near)),
        "prompts": sum(len(x.prompts) for x in (*cases, *near)),
        "neighbours": len(near),
    }
    load = partial(datasets.load_dataset, str(tmp_path / "r"), split="test", cache_dir=str(tmp_path / "cache"))
    tables, default = {name: load(name) for name in record}, load()
    assert {name: len(table) for name, table in tables.items()} == record
    assert default["subject"][:] == tables["cases"]["subject"][:] == [c.fact.subject.text for c in cases]
    assert default["paraphrases"][0] == list(cases[0].fact.paraphrases)


@pytest.mark.parametrize("format", ["scedit-cf", "scedit-t", "counterfact", "easyedit", "facts"])
def test_datasets_reads_the_shapes_of_others_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets", reason="the package datasets is not installed")
    path = tmp_path / "x.json"
    export_files = export(small_split(), path, format)
    table = datasets.load_dataset("json", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache"))
    split = load_split(SMALL)
    change = {"scedit-cf": "counterfactual", "counterfact": "counterfactual", "scedit-t": "temporal"}.get(format)
    cases = [c for c in split.cases if change in (None, c.fact.change)]
    assert export_files == len(cases) > 0
    facts = {f.key for c in cases for f in (c.fact, *(n.fact for n in c.neighbours))}
    assert len(table) == (len(facts) if format == "facts" else len(cases))
    if format == "scedit-cf":
        assert [len(row) for row in table["rephrase_prompts"]] == [len(c.prompts) for c in cases]
        assert table["subject"][:] == [c.fact.subject.text for c in cases]


class FakeApi:
    """A client that writes down what it is asked, or raises."""

    def __init__(self, error: Exception | None = None) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.error = error

    def itself(self) -> FakeApi:
        return self

    def create_repo(self, name: str, **options: Any) -> None:
        self.asked.append(("repo", (name, options)))

    def create_commit(self, name: str, operations: Any, **options: Any) -> Any:
        if self.error:
            raise self.error
        contents = {o.path_in_repo: Path(o.path_or_fileobj).read_bytes() for o in operations}
        self.asked.append(("commit", (name, contents, options)))
        return SimpleNamespace(commit_url="https://hub/commit/1")


@pytest.fixture
def two_cases(tmp_path: Path) -> Path:
    split = make_split("two", small_split().cases[:2])
    return publish(split, tmp_path / "r", formats=("split", "parquet")).folder


def test_the_whole_release_in_one_commit_private_unless_asked(two_cases: Path) -> None:
    for public in (False, True):
        api = FakeApi()
        files, how = files_to_push(two_cases), {"public": public, "message": "m"}
        assert push_files(files, "me/two", kind="dataset", api=api.itself, **how) == "https://hub/commit/1"
        (made, (name, options)), (sent, (repo, contents, more)) = api.asked
        assert (made, name, options["private"], options["exist_ok"]) == ("repo", "me/two", not public, True)
        assert (sent, repo, more["commit_message"], more["repo_type"]) == ("commit", "me/two", "m", "dataset")
        assert contents == {
            p.relative_to(two_cases).as_posix(): p.read_bytes() for p in two_cases.rglob("*") if p.is_file()
        }
        assert b"license" in contents["README.md"] and "token" not in options | more


@pytest.mark.parametrize("name", [".env", "notes.txt", "data/secret.json", ".git/config"])
def test_a_folder_with_other_files_is_refused(two_cases: Path, name: str) -> None:
    (two_cases / name).parent.mkdir(parents=True, exist_ok=True)
    (two_cases / name).write_text("mine")
    with pytest.raises(UserError, match="also holds what is no part of the release") as error:
        files_to_push(two_cases)
    assert "nothing was sent" in str(error.value) and "replaced" not in str(error.value)


def test_changed_missing_linked_and_no_release(two_cases: Path, tmp_path: Path) -> None:
    def refused(message: str, folder: Path = two_cases) -> None:
        with pytest.raises(UserError, match=message):
            files_to_push(folder)

    card = (two_cases / "README.md").read_bytes()
    (two_cases / "README.md").write_bytes(card + b"\n")
    refused("'README.md' is not the file that was released")
    (two_cases / "README.md").unlink()
    refused("lacks its file 'README.md'")
    (tmp_path / "card").write_bytes(card)
    (two_cases / "README.md").symlink_to(tmp_path / "card")
    refused("lacks its file 'README.md'")
    (two_cases / "README.md").unlink()
    sums = (two_cases / "checksums.sha256").read_text().splitlines(keepends=True)
    (two_cases / "checksums.sha256").write_text("".join(line for line in sums if not line.endswith("  README.md\n")))
    refused("no card, which states its licence")
    (tmp_path / "empty").mkdir()
    refused("is no release", tmp_path / "empty")
    for name in ("", "me", "me/", "/x", "a/b/c", "me/x y", "../x", "me/..", "me/a--b", "mé/x", "me/x\n"):
        with pytest.raises(UserError, match="is no name of a repository"):
            check_repository(name)


def test_what_the_hub_says_is_one_sentence_without_a_token(two_cases: Path) -> None:
    api = FakeApi(RuntimeError("401 for hf_abcDEF123\nAuthorization: Bearer s3cr3t"))
    with pytest.raises(UserError) as caught:
        push_files(files_to_push(two_cases), "me/two", kind="dataset", api=api.itself)
    text = str(caught.value)
    assert "401" in text and "\n" not in text and "hf_abc" not in text and "s3cr3t" not in text
    assert caught.value.__cause__ is None


PARTS = (ReleasePart("mini.jsonl", "the frozen split", (), 58), ReleasePart("x.json", "other", ("aliases", "keys"), 42))


FOUR = make_split("four", small_split().cases[:4], details={"rule": {"unsure": "hold"}, "counts": {"lost: a": 7}})


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("base") / "s.duckdb"
    import_split(FOUR, path, origin="tests")
    return path


@pytest.fixture
def store(base: Path, tmp_path: Path) -> Iterator[Store]:
    with Store.open(shutil.copy(base, tmp_path / "s.duckdb"), write=True) as store:
        yield store


def test_counts_are_those_of_the_cases() -> None:
    summary = survey(FOUR)
    number = summary.counts["script prompts"]
    assert sum(summary.groups.values()) == sum(n for what, n in summary.counts.items() if "cases, " in what) == 4
    assert number == sum(len(c.prompts) for c in FOUR.cases) == sum(summary.steps.values())
    near = sum(len(n.prompts) for c in FOUR.cases for n in c.neighbours)
    assert summary.counts["neighbour script prompts"] == near
    assert sum(summary.sources.values()) == 4 + sum(len(c.neighbours) for c in FOUR.cases)
    assert (summary.lonely, summary.repeated, summary.from_store) == (0, 0, False)
    text = card(FOUR, summary, PARTS)
    assert f"| script prompts | {number} |" in text and f"`{FOUR.digest}`" in text
    assert "| lost: a | 7 |" in text and "unsure = hold" in text
    assert "| `x.json` | other | 42 | aliases; keys |" in text
    assert "the store was not given" in text and "No people have judged" not in text


def test_defects_are_told() -> None:
    first, second = small_split().cases[:2]
    lonely = first.model_copy(update={"neighbours": (), "prompts": (first.prompts[0],) * 3})
    summary = survey(make_split("odd", [lonely, second]))
    assert (summary.lonely, summary.repeated) == (1, 2)
    text = card(make_split("odd", [lonely, second]), summary, ())
    assert "a neighbour's script prompt (locality is not measured on them): 1." in text
    assert "repeat the text of another one: 2." in text


def test_checks_and_people_are_counted(store: Store) -> None:
    items = [q.id for c in FOUR.cases for q in c.questions]
    store.put([said(i, "leak@1", "keep") for i in items] + [said(items[0], "leak@2", "drop")])
    store.put([said("0" * 20, "leak@1", "drop"), said("0" * 20, "person:zoe/look@1", "drop")])  # not in it
    link = FOUR.cases[0].neighbours[0].link.id
    variant = said(link, "leak@1", "drop").model_copy(update={"related": ("0" * 20,), "key": "verdict/beside"})
    store.put([variant])  # about a prompt that is not in the split
    for name, bad in (("ann", 2), ("bob", 3)):
        labels = ["drop"] * bad + ["keep"] * (len(items) - bad)
        by = f"person:{name}/look@1"
        store.put([said(i, by, label) for i, label in zip(items, labels, strict=True)])
    for name, value in (("ann", 7), ("bob", 5)):
        texts = [("coherence", "person:" + name, value, items[0]), ("coherence", "judge:m", 3, items[1])]
        store.put(
            Rating(key=f"r/{person}/{i}", item_id=i, aspect=a, value=v, rater=person, form="rate_script@1")  # type: ignore[arg-type]
            for a, person, v, i in texts
        )
    store.put(
        [], [Lineage(item_id=items[0], stage="questions", made_at="2026-01-02T03:04:05", model="m", prompt="ask@1")]
    )
    summary = survey(FOUR, store)
    assert summary.checks == {"leak@1": {"keep": len(items)}, "leak@2": {"drop": 1}}
    look, texts = summary.people
    assert (look.task, look.agreement.raters, look.agreement.units, look.agreement.ratings) == (
        "look@1",
        2,
        len(items),
        2 * len(items),
    )
    assert look.labels == {"drop": 5, "keep": 2 * len(items) - 5}
    n = len(items)
    assert look.agreement.exact.text().startswith(f"{(n - 1) / n:.3f} [") and look.acceptance.startswith(
        f"{1 - 5 / (2 * n):.3f} ["
    )
    assert (texts.task, texts.agreement.raters, texts.agreement.level) == ("coherence (rate_script@1)", 2, "ordinal")
    assert summary.judge_models == {"m": 1}
    text = card(FOUR, summary, PARTS)
    assert "No people" not in text and "No person" not in text
    assert f"| `leak@1` | {len(items)} | 0 | 0 | 0 | 0 |" in text
    assert "Verdicts that say drop: 1;" in text and "Rated by judge models: m (1 rating)" in text
    assert "| questions | m | ask@1 | 1 | 2026-01-02 |" in text
    assert (
        f"- Gwet's AC1: {look.agreement.ac1.text()}" in text
        and f"- Krippendorff's alpha (nominal): {look.agreement.alpha.text()}" in text
    )


def test_relations_of_one_label_are_counted_apart() -> None:
    cases = small_split().cases[:3]
    labels = {"P54-club": "plays for", "P54-team": "plays for", "P1": "made by"}
    facts = [
        case.fact.model_copy(update={"relation": Relation(id=id_, label=label)})
        for case, (id_, label) in zip(cases, labels.items(), strict=True)
    ]
    split = make_split("s", [c.model_copy(update={"fact": f}) for c, f in zip(cases, facts, strict=True)])
    summary = survey(split)
    assert summary.counts["relations"] == 3
    assert summary.groups == {"plays for (P54-club)": 1, "plays for (P54-team)": 1, "made by": 1}


def test_what_people_said_stands_in_tables_and_outdates_the_judges_of_the_frozen_split(store: Store) -> None:
    prompts = [p.id for c in FOUR.cases for p in c.prompts]
    for name in ("ann", "bob"):
        store.put([said(p, f"person:{name}/quality@3", "keep") for p in prompts])
        store.put([said(p, f"person:{name}/quality_cut@3", value=1.0, unit="yes") for p in prompts])
    summary = survey(FOUR, store)
    assert [task.task for task in summary.people] == ["quality@3"], "a criterion is no task of its own"
    share = {"name": "all", "value": 0.92564, "low": 0.888, "high": 0.9583}
    nothing = {"name": "alpha", "reason": "there is one rater"}
    sample = {
        "unit": "prompt",
        "items": 9,
        "population": 1297,
        "people": ["ann", "bob"],
        "acceptance": {"all": share},
        "accepted_by_everybody": share,
        "agreement": {"all": {"ac1": share, "alpha": nothing, "exact": share}},
    }
    said_of_it = {
        "judged_by": "a model; no person has judged it",
        "quality": {"samples": [sample]},
        "errata": [{"item": "case/f", "id": None, "what": "wrong capital", "action": "drop", "date": "2026-11-30"}],
        "release": {
            "date": "2026-11-30",
            "frozen_as": "four@2.0.0-candidate",
            "before": {"version": "1.0.0"},
            "changelog": "## four 2.0.0 (2026-11-30)\n\n4 cases.\n\n### Dropped (1)\n\n- `case/f`: wrong capital\n",
        },
    }
    text = card(make_split("four", FOUR.cases, details=said_of_it), summary, PARTS)
    assert "When it was frozen: judged by a model; no person has judged it." in text
    assert "**Quality sample**: 9 of 1,297 prompts, judged by 2 raters." in text
    interval = "0.926 [0.888, 0.958]"
    assert f"| all | {interval} | {interval} | undefined, because there is one rater | {interval} |" in text
    assert "| case/f | wrong capital | drop | 2026-11-30 |" in text
    assert "frozen as four@2.0.0-candidate; the release before is 1.0.0." in text
    assert "## four 2.0.0" not in text and "### Dropped (1)\n\n- `case/f`: wrong capital" in text
    assert "0.92564" not in text and "**quality**:" not in text and "\n\n\n" not in text


def test_the_card_of_the_open_split_says_how_to_make_and_read_it_again(tmp_path: Path) -> None:
    publish(shipped_split("open:dev"), tmp_path / "dev", formats=("parquet",))
    assert "benchmarks.open.build" in (tmp_path / "dev" / "README.md").read_text(encoding="utf-8")
    other = make_split("open", small_split().cases[:2])
    publish(other, tmp_path / "other", formats=("parquet",))
    assert "benchmarks.open" not in (tmp_path / "other" / "README.md").read_text(encoding="utf-8")


def test_licences_are_named_by_source_and_without_tables_nothing_is_said_of_them(store: Store) -> None:
    case = FOUR.cases[0]
    foreign = case.fact.model_copy(update={"source": Source(name="A | B", licence="CC BY-SA 4.0")})
    mixed = make_split("mixed", [case.model_copy(update={"fact": foreign}), *FOUR.cases[1:]])
    text = card(mixed, survey(mixed), PARTS)
    assert "| A \\| B | CC BY-SA 4.0 | - | 1 |" in text and "Several licences meet here" in text
    assert 'license: other\nlicense_name: "CC0-1.0 and CC BY-SA 4.0"' in text
    plain = card(FOUR, survey(FOUR, store), PARTS, tables=False)
    assert not [words for words in ("Several licences", "configs:", "load_dataset", "## Columns") if words in plain]
    assert "No people have judged it." in plain and "No person has judged the items." in plain
    assert "| import | - | - |" in plain


def test_who_wrote_and_judged_it_is_said_once_and_long_lists_are_counted() -> None:
    dev = shipped_split("open:dev")
    text = card(dev, survey(dev), PARTS, tables=False)
    assert "Written by large language models: facts from general knowledge" in text
    assert "no person has judged it" in text and "does not say whether people" not in text
    assert "written_by" not in text and "judged_by" not in text
    four = shipped_split("open")
    page = card(four, survey(four), PARTS, tables=False)
    assert f"dev = {len(dev.cases)} of them; test = {len(four.cases) - len(dev.cases)} of them" in page
    assert dev.cases[0].key not in page


def test_a_release_of_the_shipped_events(tmp_path: Path) -> None:
    import_split(shipped_split("events"), tmp_path / "s.duckdb", origin="events")
    with Store.open(tmp_path / "s.duckdb", write=True) as store:
        questions = list(store.all(TendencyQuestion))[:30]
        store.put(make_verdict(q.id, "keep" if n % 5 else "drop", f"person:{person}/judge_tendency@1")
                  for n, q in enumerate(questions) for person in ("ann", "bo"))  # fmt: skip
    with Store.open(tmp_path / "s.duckdb") as store:
        release = publish(store.split("events"), tmp_path / "r", store=store)
    assert set(release.cases) == set(DEFAULT_OF_EVENTS) and not release.skipped and set(release.cases.values()) == {24}
    assert load_split(tmp_path / "r/events.jsonl").digest == shipped_split("events").digest
    text = (tmp_path / "r/README.md").read_text(encoding="utf-8")
    for words in ("license: cc0-1.0", "| factual questions in scope | 64 |", "becomes unknown | 16 |",
                  "event-level-editing",
                  "| tendency questions out of scope | 48 |", "Right letters out of scope: A 16, B 16, C 16.",
                  "**judge_tendency@1**: 60 judgements of 30 items by 2 raters.", "exact agreement: 1.000",
                  'events = load_dataset(FOLDER, "events", split="test")  # or fact_questions, tendency_questions',
                  "### tendency_questions", "| source | licence | address | events |"):  # fmt: skip
        assert words in text, words
    assert "script" not in text.replace("scripts, cloze", "").split("## Files")[0]
    data = json.loads((tmp_path / "r/croissant.json").read_text(encoding="utf-8"))
    assert [s["name"] for s in data["recordSet"]] == ["events", "fact_questions", "tendency_questions"]
    assert "128 factual questions, 144 tendency questions" in data["description"]


@pytest.mark.parametrize(("answers", "message"), [("CCC", True), ("CCA", False), ("CC", False)])
def test_a_letter_that_tells_the_scope_is_a_limit(answers: str, message: bool) -> None:
    questions = [make_tendency(f"How may rain {n} change?", letter, scope="out") for n, letter in enumerate(answers)]
    case = event_case(tendencies=tuple(questions))
    four = make_split("s", [case])
    assert ("the letter tells the scope" in card(four, survey(four), ())) is message


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("croissant") / "mini"
    details = PublisherDetails(creator="Tests", url="https://example.org/mini", date="2026-01-02", cite="Tests, 2026")
    publish(small_split(), folder, publisher=details)
    return folder


@pytest.fixture(scope="module")
def judged(release: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((release / "croissant.json").read_text(encoding="utf-8"))
    return data


def test_every_data_file_is_listed_with_its_sum(release: Path, judged: dict[str, Any]) -> None:
    file_names = {"README.md", "croissant.json", "checksums.sha256"}
    files = {p.relative_to(release).as_posix() for p in release.rglob("*") if p.is_file()} - file_names
    assert {f["contentUrl"] for f in judged["distribution"]} == files
    for file in judged["distribution"]:
        assert file["sha256"] == sha256(release / file["contentUrl"])
        assert file["contentSize"] == f"{(release / file['contentUrl']).stat().st_size} B"


def test_what_is_not_known_is_not_said() -> None:
    four = small_split()
    stages = croissant(four, survey(four), [DataFile("mini.jsonl", 3, "0" * 64)])
    assert not {"creator", "url", "datePublished", "citeAs"} & stages.keys()
    assert stages["recordSet"] == [] and stages["license"] == "https://creativecommons.org/publicdomain/zero/1.0/"


def test_mlcroissant_reads_every_record(release: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant", reason="the package mlcroissant is not installed")
    dataset = mlcroissant.Dataset(jsonld=str(release / "croissant.json"))
    assert not dataset.metadata.issues.errors and not dataset.metadata.issues.warnings
    cases = list(dataset.records("cases"))
    assert [c["cases/subject"].decode() for c in cases] == [c.fact.subject.text for c in small_split().cases]
    prompts = sum(len(c.prompts) + sum(len(n.prompts) for n in c.neighbours) for c in small_split().cases)
    assert len(list(dataset.records("prompts"))) == prompts


QUESTIONS = [q.id for c in FOUR.cases for q in c.questions]
LINK = FOUR.cases[0].neighbours[0].link


def told(store: Store, *records: Verdict | Rating) -> SplitSummary:
    """What is said of the split once the store holds these records too."""
    store.put(records)
    return survey(FOUR, store)


def rating(item: str, rater: str, value: int | None, **changes: object) -> Rating:
    fields = {"key": f"r/{rater}/{item}/{value}", "item_id": item, "aspect": "coherence", "value": value}
    fields |= {"rater": rater, "form": "rate_script@1", "reason": "" if value else "no script"}
    return Rating.model_validate({**fields, **changes})


def test_tasks_are_apart_and_judges_are_not_people(store: Store) -> None:
    summary = told(
        store,
        ann(QUESTIONS[0], "keep"),
        ann(QUESTIONS[0], "keep", task="other@2"),
        rating(QUESTIONS[0], "person:ann", 7),
        rating(QUESTIONS[0], "person:bob", 1, form="rate_script@2"),
        rating(QUESTIONS[0], "judge:m", 3),
        rating(QUESTIONS[1], "judge:m", 3),
        rating("0" * 20, "person:ann", 1),
    )
    names = ["filter@1", "other@2", "coherence (rate_script@1)", "coherence (rate_script@2)"]
    assert [p.task for p in summary.people] == names and summary.judge_models == {"m": 2}
    assert [(p.agreement.level, p.agreement.units, p.agreement.raters) for p in summary.people[2:]] == [
        ("ordinal", 1, 1)
    ] * 2


PAIR = said(LINK.id, "person:ann/filter@1", "keep", FOUR.cases[0].neighbours[0].prompts[0].id)
RATED = [("ann", 2), ("ann", 6), ("bob", 6)]


@pytest.mark.parametrize(
    ("records", "numbers", "labels", "exact"),
    [
        ([ann(QUESTIONS[0], "keep"), ann(QUESTIONS[1], "drop")], (1, 2, 2), {"drop": 1, "keep": 1}, "undefined"),
        ([ann(LINK.id, "drop"), PAIR], (1, 2, 2), {"drop": 1, "keep": 1}, "undefined"),
        ([rating(QUESTIONS[0], f"person:{name}", value) for name, value in RATED], (2, 1, 2), {"6": 2}, "1.000"),
    ],
    ids=["one person's word is no agreement", "a pair is a unit of its own", "the later rating of a text is meant"],
)
def test_what_people_said(
    store: Store, records: list[Verdict | Rating], numbers: tuple[int, int, int], labels: dict[str, int], exact: str
) -> None:
    (people,) = told(store, *records).people
    assert (people.agreement.raters, people.agreement.units, people.agreement.ratings) == numbers
    assert people.labels == labels and people.agreement.exact.text().startswith(exact)
    assert people.acceptance.startswith("0.500 [") is ("drop" in labels)
