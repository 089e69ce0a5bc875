"""A judging that was begun with the parsed steps is finished with them; a new one reads what the model wrote."""

from __future__ import annotations

from pathlib import Path

from construction.llm.connection import Access
from curation.store.store import Store
from evaluation.judge.inputs import judge_inputs, newest_sources, rated_scripts
from evaluation.judge.judging import JudgeOptions
from evaluation.judge.session import run_judge
from schemas.generated_scripts import GeneratedScript
from schemas.ratings import Rating
from tests.support.judge import by_rubric, fill_store, parts
from tests.support.scripted_server import ScriptedServer


def judged(store: Path, journal: Path, number: int, profile: str = "paper", *, logprobs: bool = True) -> set[str]:
    """Judge the first scripts; returns the texts that the judge read."""
    with Store.open(store) as db:
        asks = judge_inputs(db)[:number]
    options = JudgeOptions(aspects=("coherence",), retest=0.0, profile=profile, logprobs=logprobs)
    with ScriptedServer(by_rubric) as server:
        access = Access(model="gpt-x", key_name="SCEDIT_NO_KEY", base_url=server.url, concurrency=1)
        run_judge(store, journal, asks, options, access, with_controls=False)
        return {parts(payload)["text"] for payload in server.requests}


def forms(store: Path) -> dict[str, int]:
    with Store.open(store) as db:
        result = [r.form for r in db.all(Rating)]
    return {f: result.count(f) for f in sorted(set(result))}


def test_a_resumed_judging_goes_on_with_its_own_prompts(tmp_path: Path, caplog) -> None:
    store, journal = tmp_path / "s.duckdb", tmp_path / "s.llm.jsonl"
    fill_store(store, facts=2, editors=("rome",))
    with Store.open(store, write=True) as db:
        db.put([s.model_copy(update={"text": f"Note: in Paris\n{s.text}"}) for s in db.all(GeneratedScript)])
    judged(store, journal, 1, "paper@1")
    texts = judged(store, journal, 2, logprobs=False)
    assert forms(store) == {"judge_coherence_paper@1": 2} and not any("Note" in text for text in texts)
    assert "goes on with them" in caplog.text and "paper@2" in caplog.text
    texts = judged(store, tmp_path / "new.llm.jsonl", 2)
    assert len(texts) == 2 and all(text.startswith("Note: in Paris\n") for text in texts)
    assert forms(store) == {"judge_coherence_paper@1": 2, "judge_coherence_paper@2": 2}, "told apart, none replaced"
    with Store.open(store) as db:
        scripts = rated_scripts(db)
    assert sorted({g.source for g in scripts}) == ["judge:gpt-x", "judge:gpt-x@steps"]
    assert newest_sources(scripts) == ["judge:gpt-x"]


def test_a_version_that_is_named_is_asked(tmp_path: Path) -> None:
    store, journal = tmp_path / "s.duckdb", tmp_path / "s.llm.jsonl"
    fill_store(store, facts=1, editors=("rome",))
    judged(store, journal, 1, "paper@1")
    judged(store, journal, 1, "paper@2")
    assert forms(store) == {"judge_coherence_paper@1": 1, "judge_coherence_paper@2": 1}
