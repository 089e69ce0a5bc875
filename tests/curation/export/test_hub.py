"""What goes to a hub: the release's own files in one commit, checked; a dry run sends nothing; no token is told."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from curation.export.hub import check_repository, files_to_push, push_release
from curation.export.publish import publish
from curation.shipped import mini_split
from curation.splits.split_file import make_split
from schemas.core.errors import UserError


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
    split = make_split("two", mini_split().cases[:2])
    return publish(split, tmp_path / "r", formats=("split", "parquet")).folder


def test_the_whole_release_in_one_commit_private_unless_asked(release: Path) -> None:
    for public in (False, True):
        api = FakeApi()
        assert push_release(release, "me/two", public=public, message="m", api=api.itself) == "https://hub/commit/1"
        (made, (name, options)), (sent, (repo, contents, more)) = api.asked
        assert (made, name, options["private"], options["exist_ok"]) == ("repo", "me/two", not public, True)
        assert (sent, repo, more["commit_message"], more["repo_type"]) == ("commit", "me/two", "m", "dataset")
        assert contents == {
            p.relative_to(release).as_posix(): p.read_bytes() for p in release.rglob("*") if p.is_file()
        }
        assert b"license" in contents["README.md"] and "token" not in options | more


def test_files_and_sizes(release: Path) -> None:
    files = {f.name: f.size for f in files_to_push(release)}
    assert files == {p.relative_to(release).as_posix(): p.stat().st_size for p in release.rglob("*") if p.is_file()}


@pytest.mark.parametrize("name", [".env", "notes.txt", "data/secret.json", ".git/config"])
def test_a_folder_with_other_files_is_refused(release: Path, name: str) -> None:
    (release / name).parent.mkdir(parents=True, exist_ok=True)
    (release / name).write_text("mine")
    api = FakeApi()
    with pytest.raises(UserError, match="also holds what is no part of the release") as error:
        push_release(release, "me/two", api=api.itself)
    assert api.asked == [] and "nothing was sent" in str(error.value) and "replaced" not in str(error.value)


def test_changed_missing_linked_and_no_release(release: Path, tmp_path: Path) -> None:
    card = (release / "README.md").read_bytes()
    (release / "README.md").write_bytes(card + b"\n")
    with pytest.raises(UserError, match="'README.md' is not the file that was released"):
        files_to_push(release)
    (release / "README.md").unlink()
    with pytest.raises(UserError, match="lacks its file 'README.md'"):
        files_to_push(release)
    (tmp_path / "card").write_bytes(card)
    (release / "README.md").symlink_to(tmp_path / "card")
    with pytest.raises(UserError, match="lacks its file 'README.md'"):
        files_to_push(release)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="is no release"):
        files_to_push(tmp_path / "empty")


def test_a_release_without_a_card_is_refused(release: Path) -> None:
    sums = (release / "checksums.sha256").read_text().splitlines(keepends=True)
    (release / "checksums.sha256").write_text("".join(line for line in sums if not line.endswith("  README.md\n")))
    (release / "README.md").unlink()
    with pytest.raises(UserError, match="no card, which states its licence"):
        files_to_push(release)


@pytest.mark.parametrize(
    "name", ["", "me", "me/", "/x", "a/b/c", "me/x y", "../x", "me/..", "me/a--b", "mé/x", "me/x\n"]
)
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(UserError, match="is no name of a repository"):
        check_repository(name)


def test_what_the_hub_says_is_one_sentence_without_a_token(release: Path) -> None:
    api = FakeApi(RuntimeError("401 for hf_abcDEF123\nAuthorization: Bearer s3cr3t"))
    with pytest.raises(UserError) as caught:
        push_release(release, "me/two", api=api.itself)
    text = str(caught.value)
    assert "401" in text and "\n" not in text and "hf_abc" not in text and "s3cr3t" not in text
    assert caught.value.__cause__ is None
