from __future__ import annotations

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from curation.export.formats import EXPORTERS, Exporter, export
from curation.export.hub import check_repository, files_to_push, push_files
from curation.export.publish import DEFAULT, publish
from curation.files.artifact_cache import sha256
from curation.splits.split_file import load_split, make_split
from schemas.core.errors import UserError
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
def release(tmp_path: Path) -> Path:
    split = make_split("two", small_split().cases[:2])
    return publish(split, tmp_path / "r", formats=("split", "parquet")).folder


def test_the_whole_release_in_one_commit_private_unless_asked(release: Path) -> None:
    for public in (False, True):
        api = FakeApi()
        files, how = files_to_push(release), {"public": public, "message": "m"}
        assert push_files(files, "me/two", kind="dataset", api=api.itself, **how) == "https://hub/commit/1"
        (made, (name, options)), (sent, (repo, contents, more)) = api.asked
        assert (made, name, options["private"], options["exist_ok"]) == ("repo", "me/two", not public, True)
        assert (sent, repo, more["commit_message"], more["repo_type"]) == ("commit", "me/two", "m", "dataset")
        assert contents == {
            p.relative_to(release).as_posix(): p.read_bytes() for p in release.rglob("*") if p.is_file()
        }
        assert b"license" in contents["README.md"] and "token" not in options | more


@pytest.mark.parametrize("name", [".env", "notes.txt", "data/secret.json", ".git/config"])
def test_a_folder_with_other_files_is_refused(release: Path, name: str) -> None:
    (release / name).parent.mkdir(parents=True, exist_ok=True)
    (release / name).write_text("mine")
    with pytest.raises(UserError, match="also holds what is no part of the release") as error:
        files_to_push(release)
    assert "nothing was sent" in str(error.value) and "replaced" not in str(error.value)


def test_changed_missing_linked_and_no_release(release: Path, tmp_path: Path) -> None:
    def refused(message: str, folder: Path = release) -> None:
        with pytest.raises(UserError, match=message):
            files_to_push(folder)

    card = (release / "README.md").read_bytes()
    (release / "README.md").write_bytes(card + b"\n")
    refused("'README.md' is not the file that was released")
    (release / "README.md").unlink()
    refused("lacks its file 'README.md'")
    (tmp_path / "card").write_bytes(card)
    (release / "README.md").symlink_to(tmp_path / "card")
    refused("lacks its file 'README.md'")
    (release / "README.md").unlink()
    sums = (release / "checksums.sha256").read_text().splitlines(keepends=True)
    (release / "checksums.sha256").write_text("".join(line for line in sums if not line.endswith("  README.md\n")))
    refused("no card, which states its licence")
    (tmp_path / "empty").mkdir()
    refused("is no release", tmp_path / "empty")
    for name in ("", "me", "me/", "/x", "a/b/c", "me/x y", "../x", "me/..", "me/a--b", "mé/x", "me/x\n"):
        with pytest.raises(UserError, match="is no name of a repository"):
            check_repository(name)


def test_what_the_hub_says_is_one_sentence_without_a_token(release: Path) -> None:
    api = FakeApi(RuntimeError("401 for hf_abcDEF123\nAuthorization: Bearer s3cr3t"))
    with pytest.raises(UserError) as caught:
        push_files(files_to_push(release), "me/two", kind="dataset", api=api.itself)
    text = str(caught.value)
    assert "401" in text and "\n" not in text and "hf_abc" not in text and "s3cr3t" not in text
    assert caught.value.__cause__ is None
