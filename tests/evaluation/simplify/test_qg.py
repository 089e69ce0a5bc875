"""``qg``: one call a document, on record before it is used; resumed, cached, within a budget; part of the identity."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from curation.files.artifact_cache import Cache
from curation.splits.split_file import make_split
from evaluation.editors.presets import make_editor
from evaluation.inference.answering import ModelScorer
from evaluation.simplify.choice import SimplifyChoice
from evaluation.simplify.editor import with_simplification
from evaluation.simplify.qg import ModelQuestions
from schemas.core.errors import DataError, ModelError, UserError
from tests.support.arithmetic import make_config
from tests.support.documents.records import document_case, make_document, make_probe
from tests.support.evaluation.runner_of import runner_of
from tests.support.scripted_server import Raw, ScriptedServer, completion
from tests.support.tiny import make

TEXTS = {f"d/{n}": f"Line {n} runs to Rovo. It opened in 19{n}0." for n in range(6)}
DOCUMENTS = [make_document(key, text, entity=None) for key, text in TEXTS.items()]


def pairs(payload: dict[str, Any]) -> str | Raw:
    """Two pairs of a line; the second without a subject in its question."""
    name = payload["messages"][-1]["content"].split("<text>\n")[1].split(" runs")[0]
    found = [
        {"question": f"Where does {name} run?", "answer": "Rovo", "subject": name},
        {"question": "When did it open?", "answer": "1900", "subject": name},
    ]
    return json.dumps({"pairs": found})


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(pairs) as serving:
        yield serving


def strategy(server: ScriptedServer, folder: Path, **more: Any) -> ModelQuestions:
    options = {"model": "gpt-x", "key_name": "SCEDIT_NO_KEY", "base_url": server.url, "journal": folder / "q.jsonl"}
    return ModelQuestions(ModelQuestions.Params(**{**options, **more}))


def test_one_call_a_document_and_none_for_what_is_on_record(server: ScriptedServer, tmp_path: Path) -> None:
    first = strategy(server, tmp_path)
    first.expect([*DOCUMENTS, make_document("d/again", TEXTS["d/0"])])
    assert len(server.requests) == 6
    (fact,) = first.simplify(DOCUMENTS[2])
    assert (fact.subject, fact.prompt, fact.target) == ("Line 2", "Question: Where does {} run?\nAnswer:", "Rovo")
    assert (fact.key, fact.document, fact.strategy) == ("d/2/qg/0", "d/2", "qg")
    again = strategy(server, tmp_path)
    assert [list(again.simplify(d)) for d in DOCUMENTS] == [list(first.simplify(d)) for d in DOCUMENTS]
    assert len(server.requests) == 6


def test_what_a_statement_depends_on_is_the_identity(server: ScriptedServer, tmp_path: Path) -> None:
    base = strategy(server, tmp_path).identity
    other = {"max_cost": None, "max_tokens": 9, "concurrency": 3, "timeout": 5.0, "base_url": "http://127.0.0.1:1/v1",
             "journal": tmp_path / "else"}  # fmt: skip
    assert all(strategy(server, tmp_path, **{name: value}).identity == base for name, value in other.items())
    for change in ({"model": "gpt-y"}, {"most": 3}, {"profile": "embedded"}):
        assert strategy(server, tmp_path, **change).identity != base
    assert base.startswith("qg@1:")


def test_refused_and_unreadable_replies_leave_a_document_without_statements(tmp_path: Path) -> None:
    def answer(payload: dict[str, Any]) -> str | Raw:
        text = json.dumps(payload["messages"])
        if "Line 1" in text:
            return Raw(body=completion(None, refusal="I can't help with that."))
        return "no JSON" if "Line 2" in text else pairs(payload)

    with ScriptedServer(answer) as server:
        made = strategy(server, tmp_path)
        made.expect(DOCUMENTS)
        assert [len(list(made.simplify(d))) for d in DOCUMENTS] == [1, 0, 0, 1, 1, 1]
        calls = len(server.requests)
        again = strategy(server, tmp_path)
        again.expect(DOCUMENTS)
        assert len(server.requests) == calls, "a failure for good is on record, too"


def test_an_endpoint_that_fails_in_the_middle_loses_nothing(tmp_path: Path) -> None:
    away = True

    def answer(payload: dict[str, Any]) -> str | Raw:
        if away and "Line 4" in json.dumps(payload["messages"]):
            return Raw(500, {"error": {"message": "oops"}})
        return pairs(payload)

    with ScriptedServer(answer) as server:
        with pytest.raises((ModelError, UserError)):
            strategy(server, tmp_path, concurrency=1, timeout=1.0).expect(DOCUMENTS)
        away = False
        good = sum(r["messages"][-1]["content"].count("Line 4") == 0 for r in server.requests)
        made = strategy(server, tmp_path, concurrency=1)
        made.expect(DOCUMENTS)
        assert [len(list(made.simplify(d))) for d in DOCUMENTS] == [1] * 6
        assert sum(r["messages"][-1]["content"].count("Line 4") == 0 for r in server.requests) == max(good, 5)


def test_a_budget_holds(server: ScriptedServer, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="tokens"):
        strategy(server, tmp_path, max_tokens=10).expect(DOCUMENTS)
    assert not server.requests
    with pytest.raises(UserError, match="--max-cost needs a price"):
        strategy(server, tmp_path, max_cost=1.0).expect(DOCUMENTS)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"most": 0}, "most"),
        ({"most": 41}, "most"),
        ({"modl": "x"}, "did you mean 'model'"),
        ({"max_cost": "1"}, "max_cost"),
    ],
)
def test_options_are_checked_before_anything_is_asked(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        SimplifyChoice.model_validate({"name": "qg", **options})


def test_a_profile_that_there_is_not(server: ScriptedServer, tmp_path: Path) -> None:
    with pytest.raises((UserError, DataError), match="has no profile 'papr'"):
        _ = strategy(server, tmp_path, profile="papr").identity


def test_a_whole_run_asks_once_and_counts(server: ScriptedServer, tmp_path: Path) -> None:
    """Statements are cached by document and settings: neither a second method nor a second run asks again."""
    cases = []
    for document in DOCUMENTS[:3]:
        probe = make_probe(document.text.split(" runs")[0] + " runs to ___.", "Rovo", document=document.key)
        cases.append(document_case(f"case/{document.key}", document=document, probes=(probe,)))
    options = {"model": "gpt-x", "key_name": "SCEDIT_NO_KEY", "base_url": server.url, "journal": str(tmp_path / "q")}
    ft = {"name": "ft", "params": {"layer": 1, "steps": 1}, "simplify": {"name": "qg", **options}}
    rome = {"name": "rome", "params": {"layer": 1, "steps": 1, "covariance": False, "templates": ["{}"]}}
    editors = {"ft": ft, "rome": {**rome, "simplify": {"name": "qg", **options}}}
    lm = make("llama")

    def run(folder: Path) -> None:
        config = make_config(folder, editors=editors, metrics=["em"])
        cache, split = Cache(tmp_path / "cache"), make_split("e", cases)
        runner_of(config, split, scorer=ModelScorer(lm), make=lambda n, p: make_editor(n, lm, cache, p)).run()

    run(tmp_path / "one")
    assert len(server.requests) == 3
    counts = json.loads((tmp_path / "one" / "run.json").read_text())["simplified"]["ft"]
    assert (counts["facts"], counts["without"], counts["answers"]) == (3, 0, 3)
    (tmp_path / "q").unlink()
    run(tmp_path / "two")
    assert len(server.requests) == 3, "statements are kept beside the journal"
    runs = [json.loads((tmp_path / name / "run.json").read_text())["runs"] for name in ("one", "two")]
    assert [one["run"] for one in runs[0]] == [one["run"] for one in runs[1]]


def test_methods_share_the_statements(server: ScriptedServer, tmp_path: Path) -> None:
    lm, cache = make("llama"), Cache(tmp_path / "cache")
    method = make_editor("ft", lm, cache, {"layer": 1, "steps": 1})
    around = with_simplification(method, strategy(server, tmp_path), DOCUMENTS)
    edits = around.edit_each(DOCUMENTS)
    assert [e.notes["facts"] for e in edits] == [1] * 6 and len(server.requests) == 6
    assert around.components["simplify"] == strategy(server, tmp_path).identity
