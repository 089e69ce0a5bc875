"""Where texts to judge are: a store, or the folder of a run, whose texts are put into a store first."""

from __future__ import annotations

from pathlib import Path

from schemas.cases import FACT
from schemas.core.errors import UserError

RUN_STORE = "scripts.duckdb"  # the store of a run that fed none


def scripts_store(place: Path) -> Path:
    """The store that a path stands for: itself, or one with what a run's models wrote.

    A run's scripts go into the store that the run fed, else into ``scripts.duckdb`` in its folder, with the facts and
    questions of its split; so do the open answers of a run on events. Doing it again adds only what is new.

    Raises:
        UserError: a folder that is no run's, or a run without written scripts or open answers.
    """
    if not place.is_dir():
        return place
    from evaluation.runs.results import RUN_FILE, load_run

    if not (place / RUN_FILE).is_file():
        raise UserError("not the folder of a run (there is no run.json)", where=str(place), fix="name the store itself")
    from curation.store.store import Store
    from evaluation.judge.answers.from_run import store_answers
    from evaluation.runs.generated_scripts import generation_of, scripts_of_run, store_scripts
    from evaluation.runs.results import cases_by_key

    run = load_run(place)
    about_facts = run.split.type == FACT
    scripts = scripts_of_run(run) if about_facts else []
    config = run.about.get("config") or {}
    fed = config.get("feed") or (config.get("split") or {}).get("store")
    path = Path(fed) if fed else place / RUN_STORE
    with Store.open(path, create=True) as store:
        if not about_facts:
            store_answers(run, store)
            return path
        for case in cases_by_key(run).values():
            store.put([case.fact, *case.questions, case])
        store_scripts(scripts, store, generation_of(run))
    return path
