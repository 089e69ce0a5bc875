"""The command ``demo``: every step of the pipeline, for facts, events or documents, by the commands of a user."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import click

from curation.files.local_models import LOCAL
from schemas.core.errors import UserError

FACTS = (
    "facts/cf/P36/italy",
    "facts/cf/P36/japan",
    "facts/cf/P37/brazil",
    "facts/cf/P103/leo-tolstoy",
    "facts/cf/P17/colosseum",
    "facts/cf/P17/mount-fuji",
)
RUN = """# The demo's run. Change it and run it again: scedit run {out}/run.toml
model = "embedded"            # SmolLM2-135M-Instruct; or a folder, or a hub name
editors = ["none", "prompt", "ft", "rome"]
metrics = "teacher-forced"     # "free-text": the model writes scripts, too, which takes ten times as long
split = {{ store = "{out}/store.duckdb", name = "mini" }}
limit = {{ counterfactual = 9, temporal = 3 }}
out = "{out}/run"
"""
END = """
Done. Open {out}/report.html: the table, its intervals, the example cases side by side, what was rejected and why.
  store    {out}/store.duckdb    scedit store stats --store {out}/store.duckdb
  split    {out}/split.jsonl     one whole case a line, with a digest
  journals {out}/run/            one line per finished case; the same command resumes from there
Next: more cases (take 'limit' out of {out}/run.toml, then scedit run {out}/run.toml), your own facts
(scedit construct --help), another model (--set model=...)."""

EVENT_INPUTS = {"templates.toml": "demo_templates.toml", "facts.jsonl": "demo_facts.jsonl"}
EVENT_RUN = """# The demo's run on events. Change it and run it again: scedit run {out}/run.toml
model = "embedded"            # SmolLM2-135M-Instruct; or a folder, or a hub name
split = "events"              # 24 hand-written events; ELKEN: {{ file = "elken.jsonl" }}
limit = {limit}
metrics = [
  "ev_fact", "ev_fact_edit", "ev_known", "ev_unknown", "ev_background", "ev_fact_local",
  "ev_choice", "ev_choice_edit", "ev_choice_local", "ev_choice_sway",
]
out = "{out}/run"

[editors.placebo]             # control method: another event before each question
[editors.ice]                 # the event itself before each question
[editors.bm25]                # the nearest event by words, of all 24
params = {{ memory = "split" }}
[editors.serac]               # a trained router: the event that fits, or none
params = {{ checkpoint = "shipped:serac-fact-events.safetensors" }}
"""
EVENT_END = """
Done. Open {out}/report.html: facts, tendencies, routing, locality beside the placebo's, and what was constructed.
  store    {out}/events.duckdb   scedit store funnel --store {out}/events.duckdb
  split    {out}/split.jsonl     the constructed events, one a line, with a digest
  journals {out}/run/            one line per finished event; the same command resumes from there
Next: all 24 events (take 'limit' out of {out}/run.toml, then scedit run {out}/run.toml), your own templates
(scedit data construct-events --help), another model (--set model=...)."""

DOCUMENT_RUN = """# The demo's run on documents. Change it and run it again: scedit run {out}/run.toml
model = "embedded"            # SmolLM2-135M-Instruct; or a folder, or a hub name
split = "documents"           # 24 hand-written documents; MULFE: {{ file = "mulfe.jsonl" }}
limit = {limit}
metrics = [
  "em_1", "em_2", "em_3", "em", "em_new", "ppl_1", "ppl_2", "ppl_3", "ppl", "ppl_edit", "em_spec", "ppl_spec",
]
specificity = {{ file = "{out}/known.json", number = {number} }}
out = "{out}/run"

[editors.swapped]             # control method: another document before each question
[editors.ice]                 # the document itself before each question
[editors.lora]                # adapters trained on the document's text, at the published rate: raise it and watch both
params = {{ rank = 16, alpha = 16.0, steps = 25, lr = 1e-4 }}
[editors.mend_doc]            # a network that learnt from documents made of shipped facts comes with the program
"""
DOCUMENT_MEMIT = """[editors.memit]               # a method for facts, on statements of the document: a short search
simplify = "ner_qg"
params = { templates = ["{}"], steps = 10 }
"""
DOCUMENT_END = """
Done. Open {out}/report.html: EM and perplexity by level, efficacy against specificity, what was constructed.
  store    {out}/documents.duckdb   scedit store funnel --store {out}/documents.duckdb
  split    {out}/split.jsonl        the constructed probes, a document a line, with a digest
  journals {out}/run/               one line per finished document; the same command resumes from there
Next: all 24 documents (take 'limit' out of {out}/run.toml, then scedit run {out}/run.toml), your own documents
(scedit data construct-documents --help), another model (scedit data specificity --help, then --set model=...)."""
WORDED_EVENTS = ("--topic", "Transportation", "--events-per-topic", "2", "--in-scope", "2", "--out-of-scope", "1")
"""What the model words beside the templates' events."""
DOCUMENTS = 2
"""Shipped documents that the model writes probes about."""
WRITTEN_PROBES = ("--min-probes", "4", "--max-probes", "8")
"""Probes that the model writes about each."""
POOL_STEP, KNOWN, ASKED = 5, 30, 20
"""Every so many questions of the shipped pool are asked; of those known so many are drawn, of these asked per edit."""


@click.command(epilog="Example: scedit demo --out demo")
@click.option("--out", help="Folder for all that the demo makes: demo, demo-events or demo-documents, unless given.")
@click.option("--model", default="embedded", show_default=True, help="Model that writes: embedded, or local (1.5B).")
@click.option("--events", is_flag=True, help="The pipeline for edits that are events.")
@click.option("--documents", is_flag=True, help="The pipeline for edits that are documents.")
@click.option(
    "--limit",
    type=click.IntRange(1, 24),
    default=8,
    show_default=True,
    help="Take at most this many: of the 24 shipped events or documents, with --events or --documents.",
)
@click.pass_context
def demo(context: click.Context, out: str | None, model: str, *, events: bool, documents: bool, limit: int) -> None:
    """Run the full pipeline with models on this machine: construct, curate, run, report.

    Each step is a command that you can run yourself; it is shown before it runs. Interrupted, the demo resumes where it
    stopped. No key, GPU or network is needed; the model 'local' is fetched first, once (1.06 GB). The numbers show the
    machinery, not how methods rank on large models.

    With --events, the model words two events from templates and two from a topic; with --documents, it writes probes
    about two documents. The run itself uses hand-written ones.
    """
    if events and documents:
        raise click.UsageError("give --events or --documents, not both")
    step = _steps(context)
    if model == LOCAL:
        step("model", "fetch", LOCAL)
    if documents:
        _demo_of_documents(step, out or "demo-documents", model, limit)
    elif events:
        _demo_of_events(step, out or "demo-events", model, limit)
    else:
        _demo_of_facts(step, out or "demo", model)


def _demo_of_facts(step: Callable[..., None], out: str, model: str) -> None:
    store = f"{out}/store.duckdb"
    _write_inputs(out)
    click.secho(f"1  Construct: the {model} model writes script questions and scripts for 6 facts", bold=True)
    step("construct", f"{out}/facts.jsonl", "--store", store, "--model", model, "--limit", "6", "--no-verify")
    click.secho("2  Curate: freeze what was kept, add the shipped split mini", bold=True)
    _freeze(step, "constructed", "--store", store, "--set", "prefix=facts/", "--out", f"{out}/split.jsonl")
    step("split", "add", "mini", "--store", store)
    click.secho("3  Run: edit SmolLM2-135M with four methods, score 12 cases of mini", bold=True)
    _run_and_report(step, "4  Report", store, out)
    click.echo(END.format(out=out))


def _demo_of_events(step: Callable[..., None], out: str, model: str, limit: int) -> None:
    store = f"{out}/events.duckdb"
    _write_event_inputs(out, limit)
    click.secho(f"1  Construct: events of two templates and a topic, questions by the {model} model", bold=True)
    step(
        *(
            "data",
            "construct-events",
            f"{out}/templates.toml",
            "--facts-from",
            f"{out}/facts.jsonl",
            "--events-per-template",
            "1",
        ),
        *WORDED_EVENTS,
        *("--licence", "CC0-1.0", "--store", store, "--model", model),
    )
    click.secho("2  Freeze what was kept", bold=True)
    _freeze(step, "constructed", "--store", store, "--out", f"{out}/split.jsonl")
    click.secho(f"3  Run: {limit} hand-written events, five methods, SmolLM2-135M", bold=True)
    _run_and_report(step, "4  Report", store, out)
    click.echo(EVENT_END.format(out=out))


def _demo_of_documents(step: Callable[..., None], out: str, model: str, limit: int) -> None:
    store = f"{out}/documents.duckdb"
    methods = _write_document_inputs(out, limit)
    click.secho(f"1  Construct: the {model} model writes probes about {DOCUMENTS} documents", bold=True)
    step(
        *("data", "construct-documents", f"{out}/documents.jsonl", "--store", store, "--model", model),
        *WRITTEN_PROBES,
    )
    click.secho("2  Freeze what was kept", bold=True)
    _freeze(step, "constructed", "--store", store, "--out", f"{out}/split.jsonl")
    click.secho("3  Specificity: questions that SmolLM2-135M answers before any edit", bold=True)
    step("data", "specificity", "--pool", f"{out}/pool.jsonl", "--size", str(KNOWN), "--out", f"{out}/known.json")
    click.secho(f"4  Run: {limit} hand-written documents, {methods} methods, SmolLM2-135M", bold=True)
    _run_and_report(step, "5  Report", store, out)
    click.echo(DOCUMENT_END.format(out=out))


def _run_and_report(step: Callable[..., None], title: str, store: str, out: str) -> None:
    step("run", f"{out}/run.toml")
    click.secho(title, bold=True)
    step("report", f"{out}/run", "--store", store, "--out", out)


def _steps(context: click.Context) -> Callable[..., None]:
    """What shows a command and runs it."""
    root = context.find_root().command

    def step(*args: str) -> None:
        click.secho("$ scedit " + " ".join(args), fg="cyan")
        root.main(args=list(args), standalone_mode=False)
        click.echo()

    return step


def _freeze(step: Callable[..., None], *args: str) -> None:
    """Freeze a split of what was constructed, or say why there is none."""
    try:
        step("split", "freeze", *args)
    except UserError as error:
        click.echo(f"   Nothing to freeze: {error}")


def _write_document_inputs(out: str, limit: int) -> int:
    """Documents, a pool of questions and the run's configuration; returns the number of methods of a fresh one.

    MEMIT takes part where statements can be made of documents: its parser is a package of its own.
    """
    import json

    from curation.loaders import load
    from curation.shipped import shipped_split
    from curation.shipped.from_facts import pool_from_facts
    from evaluation.simplify.parsing import parser_is_there
    from schemas.cases import DocumentCase

    cases = [case for case in shipped_split("documents").all_cases if isinstance(case, DocumentCase)]
    texts = [{"key": c.document.key, "text": c.document.text, "licence": "CC0-1.0"} for c in cases[-DOCUMENTS:]]
    pool = [question._asdict() for question in pool_from_facts(load("shipped").require())[::POOL_STEP]]
    parser = parser_is_there()
    if not parser:
        click.echo("MEMIT is left out: statements of documents need spaCy (pip install 'scedit[parse]') and its model.")
    inputs = {
        "documents.jsonl": "".join(json.dumps(text, ensure_ascii=False) + "\n" for text in texts),
        "pool.jsonl": "".join(json.dumps(question, ensure_ascii=False) + "\n" for question in pool),
        "run.toml": DOCUMENT_RUN.format(out=out, limit=limit, number=ASKED) + (DOCUMENT_MEMIT if parser else ""),
    }
    _write_new(out, inputs)
    return 6 if parser else 5


def _write_event_inputs(out: str, limit: int) -> None:
    """Templates and facts to construct from, and the run's configuration."""
    shipped = files("curation.shipped") / "events"
    texts = {name: (shipped / source).read_text(encoding="utf-8") for name, source in EVENT_INPUTS.items()}
    _write_new(out, {**texts, "run.toml": EVENT_RUN.format(out=out, limit=limit)})


def _write_new(out: str, texts: dict[str, str]) -> None:
    """Write the inputs of a demo; a file that is there stays as the user changed it."""
    from curation.files.atomic import write_text

    for name, text in texts.items():
        if not (Path(out) / name).exists():
            write_text(Path(out) / name, text, "the demo's inputs")


def _write_inputs(out: str) -> None:
    """The facts to construct from (and those that neighbours are drawn from), and the run's configuration."""
    from curation.loaders import load

    table = load("shipped").facts
    chosen = [f for f in table if f.key in FACTS]
    groups = {(f.relation.id, f.old.text) for f in chosen}
    chosen += [f for f in table if (f.relation.id, f.old.text) in groups and f not in chosen]
    facts = "".join(f.model_dump_json() + "\n" for f in chosen)
    path = Path(out) / "facts.jsonl"
    if path.exists() and path.read_bytes() != facts.encode():
        raise UserError("these facts are not the demo's", where=str(path), fix="name another --out")
    _write_new(out, {"facts.jsonl": facts, "run.toml": RUN.format(out=out)})
