from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner, Result
from transformers import AutoModelForCausalLM, AutoTokenizer

from curation.case_sources.support import cases_from_facts
from curation.files.artifact_cache import sha256
from evaluation.edits.edit import WeightEdit
from evaluation.edits.weight_deltas import DenseDelta
from evaluation.metrics.generation import load_metrics
from evaluation.models.language_model import LM
from evaluation.runs.config import TEACHER_FORCED
from evaluation.runs.one_case import score_case
from evaluation.saved_edits import save
from evaluation.saved_edits.formats import load_deltas
from evaluation.saved_edits.hub_files import saved_edit_files
from evaluation.saved_edits.save import SHOWN, ask_cases, card, open_edit_cases, save_edit, score_changes
from scedit.commands import cli
from schemas.core.errors import DataError, UserError
from schemas.facts import Fact
from tests.support.commands import json_value
from tests.support.editors.saved_edits import cases, editor
from tests.support.facts import make_fact, peru_fact
from tests.support.small import SMALL, small_split
from tests.support.tiny import make, shuffled

ADAPTER = {"adapter_config.json", "adapter_model.safetensors", "README.md", "edit.json"}


def reloaded(lm: LM, folder: Path) -> LM:
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=lm.dtype)
    return LM(model, AutoTokenizer.from_pretrained(folder), name=str(folder), revision="x")


@pytest.mark.parametrize(("method", "dtype"), [("ft", torch.float32), ("rome", torch.bfloat16)])
def test_the_saved_model_is_what_was_scored(method: str, dtype: torch.dtype, tiny: LM, tmp_path: Path) -> None:
    lm = make(tiny.name.removeprefix("tiny-"), dtype=dtype)
    digest = lm.weights_digest()
    edit = save_edit(editor(method, lm, tmp_path / "m"), cases(), tmp_path / "out")
    assert lm.weights_digest() == digest
    other = reloaded(lm, tmp_path / "out")
    metrics = load_metrics(["es", "ps"])
    for answers, change in ((ask_cases(other, cases(), metrics), "after"), (ask_cases(lm, cases(), metrics), "before")):
        for metric, field in zip(metrics, edit.about["scores"], strict=False):
            scores = [metric.score(c, a, a, "mean") for c, a in zip(cases(), answers, strict=True)]
            assert metric.summarise(scores).mean == pytest.approx(field[change]["mean"])
    assert (edit.about["rounding"] > 0) is (dtype is torch.bfloat16)


def test_the_folder_of_an_adapter(tiny: LM, tmp_path: Path) -> None:
    edit = save_edit(editor("memit", tiny, tmp_path / "m"), cases(), tmp_path / "out", saved_as="adapter")
    assert {p.name for p in (tmp_path / "out").iterdir()} == ADAPTER
    data = json.loads((tmp_path / "out" / "edit.json").read_text())
    assert data == json.loads(json.dumps(edit.about)) and data["rank"] >= 3
    assert data["files"] == {"adapter_model.safetensors": sha256(tmp_path / "out" / "adapter_model.safetensors")}
    assert [f["key"] for f in data["facts"]] == [c.fact.key for c in cases()]
    card = (tmp_path / "out" / "README.md").read_text()
    for field in ("memit, version", data["facts_digest"], "| ES |", "| PS |", "São Tomé", "max-lora-rank"):
        assert field in card


def test_dense_edits_are_saved_as_changes_or_refused_as_adapters(tiny: LM, tmp_path: Path) -> None:
    method = editor("ft", tiny, tmp_path / "m")
    with pytest.raises(UserError, match="every entry of .* no low-rank adapter can hold"):
        save_edit(method, cases(), tmp_path / "out", saved_as="adapter")
    assert not (tmp_path / "out").exists()
    save_edit(method, cases(), tmp_path / "out", saved_as="deltas")
    (delta,) = load_deltas(tmp_path / "out").deltas
    (deltas,) = method.edit([c.fact for c in cases()]).deltas or ()
    assert isinstance(delta, DenseDelta) and torch.equal(delta.matrix(), deltas.matrix())


@pytest.mark.parametrize("method", ["none", "prompt"])
def test_edits_without_weights_are_refused(method: str, tiny: LM, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"'{method}' changes the prompt or nothing"):
        save_edit(editor(method, tiny, tmp_path / "m"), cases(1), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_nothing_is_overwritten(tiny: LM, tmp_path: Path) -> None:
    method, out = editor("rome", tiny, tmp_path / "m"), tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("kept")
    with pytest.raises(UserError, match="something here already"):
        save_edit(method, cases(1), out)
    assert [p.name for p in out.iterdir()] == ["mine.txt"]
    with pytest.raises(UserError, match="something here already"):
        save_edit(method, cases(1), out / "mine.txt")
    with pytest.raises(UserError, match="cannot be written|cannot be looked into"):
        save_edit(method, cases(1), out / "mine.txt" / "below", saved_as="adapter")
    (out / "mine.txt").unlink()
    save_edit(method, cases(1), out, saved_as="adapter")
    assert {p.name for p in out.iterdir()} == ADAPTER


def test_an_edit_that_diverged_to_nan_is_refused(tiny: LM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    method, at = editor("rome", tiny, tmp_path / "m"), tiny.layout
    damaged = WeightEdit((DenseDelta(at.weight(1), torch.full((at.width, at.inner), float("nan"))),))
    monkeypatch.setattr(type(method), "edit", lambda self, requests: damaged)
    for kind in ("model", "adapter", "deltas"):
        with pytest.raises(UserError, match="is not finite"):
            save_edit(method, cases(1), tmp_path / "out", saved_as=kind)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_what_transformers_cannot_save_is_told(tiny: LM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise ValueError("bad\n generation settings")

    monkeypatch.setattr(tiny.model, "save_pretrained", refused)
    with pytest.raises(UserError, match="cannot save this model: bad generation settings"):
        save_edit(editor("rome", tiny, tmp_path / "m"), cases(1), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["model", "adapter", "deltas"])
def test_a_killed_save_leaves_nothing_half_written(kind: Any, tmp_path: Path) -> None:
    """The process is killed when all weights are written and the card is not."""
    lm = make("llama")
    method, out = editor("rome", lm, tmp_path / "m"), tmp_path / "out"
    method.prepare(())
    child = os.fork()
    if child == 0:
        try:
            torch.set_num_threads(1)
            save.card = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment]
            save_edit(method, cases(1), out, saved_as=kind)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and not out.exists()
    assert any(p.name.startswith(".out") for p in tmp_path.iterdir()), "it was in the middle of writing"
    save_edit(method, cases(1), out, saved_as=kind)
    assert (out / "edit.json").exists() and not any(p.name.startswith(".") for p in tmp_path.iterdir())


def written(path: Path, *facts: Fact) -> str:
    path.write_text("".join(json.dumps(f.payload()) + "\n" for f in facts), encoding="utf-8")
    return str(path)


def test_facts_without_a_new_object_are_neighbours(tmp_path: Path) -> None:
    source = written(tmp_path / "f.jsonl", make_fact("Peru"), make_fact("Chile", "Santiago", None))
    (case,) = open_edit_cases(source)
    assert case.fact.subject.text == "Peru" and [n.fact.subject.text for n in case.neighbours] == ["Chile"]


def test_edited_facts_are_nobodys_neighbours(tmp_path: Path) -> None:
    facts = [make_fact("Peru"), make_fact("Chile", "Santiago", "Quito"), make_fact("Cuba", "Havana", None)]
    cases = open_edit_cases(written(tmp_path / "f.jsonl", *facts))
    assert len(cases) == 2
    assert {n.fact.subject.text for c in cases for n in c.neighbours} <= {"Cuba"}


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no file 'absent.jsonl'"):
        open_edit_cases("absent.jsonl")
    with pytest.raises(UserError, match="no fact has a new object"):
        open_edit_cases(written(tmp_path / "none.jsonl", make_fact("Peru", "Lima", None)))
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    with pytest.raises(DataError, match="the file is empty"):
        open_edit_cases(str(empty))
    for text in ("[" * 100_000, "\x00\xff", '{"split": 1}'):
        empty.write_text(text, encoding="latin-1")
        with pytest.raises(UserError):
            open_edit_cases(str(empty))
    twice = written(tmp_path / "two.jsonl", make_fact(key="a"), make_fact(key="b", new="Quito"))
    with pytest.raises(UserError, match="'a' and 'b' give one fact two new objects, 'Oslo' and 'Quito'"):
        open_edit_cases(twice)
    with pytest.raises(DataError):
        open_edit_cases(written(tmp_path / "cut.jsonl", make_fact()) and _cut(SMALL, tmp_path))


def _cut(split: Path, folder: Path) -> str:
    lines = split.read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "cut.split.jsonl").write_text("".join(lines[:-1]), encoding="utf-8")
    return str(folder / "cut.split.jsonl")


def test_scores_are_those_of_one_case_at_a_time(tiny: LM, tmp_path: Path) -> None:
    choice = [*cases(2), small_split().cases[0]]
    metrics = load_metrics(TEACHER_FORCED)
    edit = editor("rome", tiny, tmp_path).edit([c.fact for c in choice])
    before = ask_cases(tiny, choice, metrics)
    with edit.on(tiny):
        after = ask_cases(tiny, choice, metrics)
    by_name = {c.metric.name: c for c in score_changes(choice, before, after, metrics)}
    assert {"es", "ps", "s_es"} <= set(by_name)
    slow = [score_case(tiny, case, edit) for case in choice]
    plain = [score_case(tiny, case) for case in choice]
    for name, change in by_name.items():
        for text, summary in ((slow, change.after), (plain, change.before)):
            means = [one[name].mean for one in text if one[name].mean is not None]
            assert summary.mean == pytest.approx(sum(means) / len(means)) and summary.cases == len(means)


ABOUT: dict[str, Any] = {
    "saved_as": "adapter",
    "model": "org/base",
    "model_revision": "abc",
    "dtype": "bfloat16",
    "method": "rome",
    "method_version": 1,
    "params": {"layer": 5},
    "components": {"corpus": "d1"},
    "facts_digest": "f00",
    "weights": [{"weight": "a.b.weight", "shape": [2, 2], "rank": 1, "norm": 2.0}],
    "environment": {"packages": {"torch": "2", "duckdb": None}},
    "normalisation": "mean",
    "rounding": 0.0,
    "rank": 3,
}


def test_an_adapter_says_how_it_is_served() -> None:
    text = card(ABOUT, cases_from_facts([make_fact()]), [])
    assert text.startswith('---\nlibrary_name: "peft"\nbase_model: "org/base"\n')
    assert "--max-lora-rank 8 " in text and "rank 3 (alpha 3)" in text
    assert "`The capital of Peru is` | `Lima` | `Oslo`" in text and '`{"layer": 5}`' in text and "duckdb" not in text
    assert "vLLM takes ranks up to 512" in card(ABOUT | {"rank": 600}, cases_from_facts([make_fact()]), [])


def test_rounding_is_told() -> None:
    details = ABOUT | {"saved_as": "model", "rounding": 0.25}
    assert "rounding changed the edit by 25.0% of its norm" in card(details, cases_from_facts([make_fact()]), [])


@pytest.mark.parametrize(
    "text", ["a|b", "a\nb", "`x`", "``", "<script>", "---\nx: y", "\x1b[2J", "```", "| a | b |", "x" * 5000]
)
def test_hostile_texts_stay_in_their_cell(text: str) -> None:
    case = cases_from_facts([make_fact("Peru", "Lima", text)])
    lines = card(ABOUT | {"model": text}, case, []).splitlines()
    assert lines.count("---") == 2
    (row,) = [line for line in lines if "The capital of Peru" in line]
    assert len(re.findall(r"(?<!\\)\|", row)) == 5 and "\x1b" not in "".join(lines)


def test_a_long_list_is_shortened() -> None:
    cases = cases_from_facts([make_fact(f"Land {n:03}") for n in range(SHOWN + 7)])
    text = card(ABOUT, cases, [])
    assert text.count("The capital of Land") == SHOWN and "7 more stand in `edit.json`" in text


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    lm = make("llama")
    save_edit(editor("ft", lm, tmp_path / "m"), cases(), tmp_path / "out", saved_as="deltas")
    return tmp_path / "out"


def test_all_files_of_an_edit(saved: Path) -> None:
    files = saved_edit_files(saved)
    assert {f.name for f in files} == {p.name for p in saved.iterdir()} >= {"README.md", "edit.json"}
    assert all(f.size == (saved / f.name).stat().st_size for f in files)


@pytest.mark.parametrize("name", [".env", "modeling.py", "more.safetensors", "old.bin", "sub/x.json"])
def test_what_was_not_saved_with_it_is_refused(saved: Path, name: str) -> None:
    (saved / name).parent.mkdir(exist_ok=True)
    (saved / name).write_text("mine")
    with pytest.raises(UserError, match="also holds what was not saved with the edit") as error:
        saved_edit_files(saved)
    assert "nothing was sent" in str(error.value)


def test_links_changed_weights_no_card_and_no_edit_are_refused(saved: Path, tmp_path: Path) -> None:
    weights = next(saved.glob("*.safetensors"))
    data = weights.read_bytes()
    weights.write_bytes(data[:-1] + b"x")
    with pytest.raises(UserError, match="is not the file that was saved"):
        saved_edit_files(saved)
    weights.unlink()
    with pytest.raises(UserError, match="is not the file that was saved"):
        saved_edit_files(saved)
    (tmp_path / "w").write_bytes(data)
    weights.symlink_to(tmp_path / "w")
    with pytest.raises(UserError, match="also holds what was not saved"):
        saved_edit_files(saved)
    weights.unlink()
    weights.write_bytes(data)
    (saved / "README.md").unlink()
    with pytest.raises(UserError, match="has no card"):
        saved_edit_files(saved)
    with pytest.raises(UserError, match="is no saved edit"):
        saved_edit_files(tmp_path)


@pytest.mark.parametrize("model", ["/home/me/llama", "./llama", "~/llama", "C:\\\\models\\\\llama"])
def test_a_base_model_in_a_folder_is_refused(saved: Path, model: str) -> None:
    rewrite(saved, model=model)
    with pytest.raises(UserError, match="base model is a folder of this machine"):
        saved_edit_files(saved)


@pytest.mark.parametrize("path", ["/home/me/corpus.txt", "/tmp/x/y", "D:\\\\texts\\\\a.txt"])
def test_a_path_of_this_machine_is_refused(saved: Path, path: str) -> None:
    rewrite(saved, params={"corpus": path})
    with pytest.raises(UserError, match="'edit.json' names a path of this machine"):
        saved_edit_files(saved)


def test_a_path_in_the_card_is_refused_and_an_address_is_none(saved: Path) -> None:
    card = saved / "README.md"
    text = card.read_text(encoding="utf-8")
    card.write_text(text + "\nSee https://example.org/data/x and mlp/home/y.\n", encoding="utf-8")
    assert saved_edit_files(saved)
    card.write_text(text + "\n`/root/secret`\n", encoding="utf-8")
    with pytest.raises(UserError, match="'README.md' names a path of this machine: /root/secret"):
        saved_edit_files(saved)


def rewrite(folder: Path, **changes: Any) -> None:
    about = json.loads((folder / "edit.json").read_text(encoding="utf-8"))
    (folder / "edit.json").write_text(json.dumps({**about, **changes}), encoding="utf-8")


@pytest.fixture
def facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(LM, "load", lambda name, **_: make("llama"))
    (tmp_path / "corpus.txt").write_text("\n\n".join(shuffled(8)), encoding="utf-8")
    (tmp_path / "facts.jsonl").write_text(json.dumps(peru_fact().payload()) + "\n", encoding="utf-8")
    return str(tmp_path / "facts.jsonl")


def edit_command(*words: str, facts: str, method: str = "rome") -> Result:
    corpus = Path(facts).parent / "corpus.txt"
    texts = ["--set", f'corpus="{corpus}"', "--set", "steps=4", "--set", "template_lengths=[[3, 2]]"]
    settings = texts if method == "rome" else []
    return CliRunner().invoke(cli, ["edit", facts, "--editors", method, *settings, *words])


def test_an_edit_is_saved_and_told(facts: str, tmp_path: Path) -> None:
    result = edit_command("--save", str(tmp_path / "out"), "--save-as", "adapter", facts=facts)
    assert result.exit_code == 0, result.output
    assert (
        "1 fact edited into tiny-llama by rome" in result.output
        and "ES" in result.output
        and "README.md" in result.output
    )
    assert (tmp_path / "out" / "adapter_config.json").is_file()


def test_json_is_one_value(facts: str, tmp_path: Path) -> None:
    result = edit_command("--save", str(tmp_path / "out"), "--json", facts=facts)
    report = json_value(result.stdout)
    assert report["saved_as"] == "model" and report["facts"] == 1 and report["files"].keys() == {"model.safetensors"}
    assert {"es", "ps"} <= {s["metric"] for s in report["scores"]}


@pytest.mark.parametrize(
    ("words", "method", "message"),
    [
        ((), "romme", "did you mean 'rome'"),
        (("--set", "no_such=1"), "ft", "no_such: unknown field"),
        ((), "ike", "'ike' learns from declared cases, which this command does not take"),
        ((), "mend", "learnt from shipped, which shares the subject 'Peru'"),
        (("--model", "another"), "mend", "scedit model train --editors mend"),
    ],
)
def test_refused_before_a_model_is_loaded(
    words: tuple[str, ...], method: str, message: str, facts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LM, "load", lambda name, **_: pytest.fail("loaded"))
    result = edit_command("--save", str(tmp_path / "out"), *words, facts=facts, method=method)
    assert isinstance(result.exception, UserError) and message in str(result.exception)
    assert not (tmp_path / "out").exists()


def test_a_taken_folder_is_refused_before_anything(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("kept")
    result = CliRunner().invoke(cli, ["edit", "absent.jsonl", "--editors", "ft", "--save", str(tmp_path / "out")])
    assert "something here already" in str(result.exception)
