"""Uses every part of the plug-in, as installed, in the folder it is started from. Needs the extra ``eval``."""

import subprocess
import sys
from pathlib import Path

from annotation_ui.tasks import TASKS
from construction.checks import CHECKS
from curation import CheckContext, Store, load_facts, mini_split
from curation.checks.store_checks import STORE_CHECKS, run_check
from schemas import ScriptQuestion, Verdict

HERE = Path(__file__).parent
RUN = """
split = "mini"
editors = ["none", "reminder", { name = "reminder", label = "reminder, plain", params = { deny = false } }]
metrics = ["es", "s_es", "s_all"]
limit = 2
out = "runs"
"""


def main() -> None:
    """Loader, check, task, then method and metric in a run of the embedded model."""
    loaded = load_facts(HERE / "updates.jsonl", "updates")
    assert [fact.prompt for fact in loaded.facts] == ["The capital of {} is", "The city of {} is"]
    assert "line 3" in loaded.problems[0].where, loaded.problems
    print("loader: 2 facts, 1 problem with its line")

    case = mini_split().cases[0]
    assert "long_question" in CHECKS.names()
    with Store.open("plugin.duckdb", create=True) as store:
        store.put([case.fact, *case.questions])
        check = STORE_CHECKS.get("long_question")()
        run_check(store, check, around=CheckContext(store))
        said = [v for v in store.all(Verdict) if v.by == "long_question@1"]
        assert len(said) == len(case.questions) and all(v.unit == "words" for v in said)
        print(f"check: {len(said)} verdicts")

        task = TASKS.get("would_ask")()
        items = list(task.items(store))
        assert len(items) == sum(1 for _ in store.all(ScriptQuestion))
        store.put(task.records(items[0], {"asked": "no", "comment": "too odd"}, person="ann"))
        assert any(v.label == "drop" and v.reason.endswith("too odd") for v in store.all(Verdict))
        print(f"task: {len(items)} items, one answered")

    if "--no-model" in sys.argv:
        return
    Path("run.toml").write_text(RUN, encoding="utf-8")
    for arguments in (["run", "run.toml"], ["report", "runs"]):
        subprocess.run([sys.executable, "-m", "scedit", *arguments], check=True, stdout=subprocess.DEVNULL)
    table = Path("runs/results.csv").read_text(encoding="utf-8")
    assert "reminder" in table and "s_all" in table, table
    print("method and metric: run and report")


if __name__ == "__main__":
    main()
