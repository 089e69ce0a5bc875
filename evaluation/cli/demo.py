"""The command ``demo``: every step of the pipeline, by the commands that a user would type."""

from __future__ import annotations

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


@click.command(epilog="Example: scedit demo --out demo")
@click.option("--out", default="demo", show_default=True, help="Folder for everything that the demo makes.")
@click.option("--model", default="embedded", show_default=True, help="Model that writes: embedded, or local (1.5B).")
@click.pass_context
def demo(context: click.Context, out: str, model: str) -> None:
    """Run the full pipeline with models on this machine: construct, curate, run, report.

    Each step is a command that you can run yourself; it is shown before it runs. Interrupted, the demo resumes where it
    stopped. No key, GPU or network is needed; the model 'local' is fetched first, once (1.06 GB). The numbers show the
    machinery, not how methods rank on large models.
    """
    store = f"{out}/store.duckdb"
    _write_inputs(out)
    root = context.find_root().command

    def step(*args: str) -> None:
        click.secho("$ scedit " + " ".join(args), fg="cyan")
        root.main(args=list(args), standalone_mode=False)
        click.echo()

    if model == LOCAL:
        step("model", "fetch", LOCAL)
    click.secho(f"1  Construct: the {model} model writes script questions and scripts for 6 facts", bold=True)
    step("construct", f"{out}/facts.jsonl", "--store", store, "--model", model, "--limit", "6")
    click.secho("2  Curate: freeze what was kept, add the hand-written split mini", bold=True)
    try:
        step(
            *("split", "freeze", "constructed", "--store", store),
            *("--set", "prefix=facts/", "--out", f"{out}/split.jsonl"),
        )
    except UserError as error:
        click.echo(f"   Nothing to freeze: {error}")
    step("split", "add", "mini", "--store", store)
    click.secho("3  Run: edit SmolLM2-135M with four methods, score 12 cases of mini", bold=True)
    step("run", f"{out}/run.toml")
    click.secho("4  Report", bold=True)
    step("report", f"{out}/run", "--store", store, "--out", out)
    click.echo(END.format(out=out))


def _write_inputs(out: str) -> None:
    """The facts to construct from (and those that neighbours are drawn from), and the run's configuration."""
    from curation.files.atomic import write_text
    from curation.loaders import load

    folder = Path(out)
    table = load("shipped").facts
    chosen = [f for f in table if f.key in FACTS]
    groups = {(f.relation.id, f.old.text) for f in chosen}
    chosen += [f for f in table if (f.relation.id, f.old.text) in groups and f not in chosen]
    facts = "".join(f.model_dump_json() + "\n" for f in chosen)
    if (folder / "facts.jsonl").exists() and (folder / "facts.jsonl").read_bytes() != facts.encode():
        raise UserError("these facts are not the demo's", where=str(folder / "facts.jsonl"), fix="name another --out")
    write_text(folder / "facts.jsonl", facts, "the facts")
    if not (folder / "run.toml").exists():
        write_text(folder / "run.toml", RUN.format(out=out), "the configuration")
