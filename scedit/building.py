"""From facts to a frozen split: questions, scripts and prompts by a language model, then the rule's choice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from scedit.facts import Facts, frame_of, python_errors, read
from scedit.progress import ConstructionBar
from schemas.core.errors import UserError

if TYPE_CHECKING:
    from pandas import DataFrame

    from construction.pipeline.cost_estimate import ConstructionEstimate
    from construction.pipeline.job import PreparedJob
    from curation.splits.split_file import Split


class Build:
    """What was constructed: the store with every record and verdict.

    Attributes:
        store: The store's file; every command of the toolkit takes it.
        funnel: What is kept, unsure and left out, with the reasons, as ``scedit store funnel`` counts it.
    """

    def __init__(self, store: Path | str) -> None:
        from construction.report.store_funnel import store_yield

        self.store = Path(store)
        self.funnel = store_yield(self.store)

    def __repr__(self) -> str:
        """The store, and what became of the prompts."""
        prompts = self.funnel.stage("prompts")
        counts = f"{prompts.kept} kept, {prompts.unsure} unsure, {prompts.dropped} left out"
        return f"Build({str(self.store)!r}: prompts: {counts})"

    def reasons(self) -> DataFrame:
        """Why items are left out or wait for people: a row for every kind of item, check and label, with an example."""
        names = ("count", "kind", "check", "label", "key", "reason", "example")
        return frame_of([(r.count, r.kind, r.check, r.label, *r.examples[0]) for r in self.funnel.reasons], names)

    @python_errors
    def freeze(self, name: str, *, version: str = "1.0.0", out: Path | str | None = None, **rule: Any) -> Split:
        """The kept items as a split, as ``scedit split freeze`` makes it.

        Args:
            name: Name of the split; the store keeps it.
            version: Its version.
            out: A file to write it to as well.
            rule: Settings of the selection rule, such as ``unsure="keep"``.

        Returns:
            The split, with all cases in memory.

        Raises:
            UserError: nothing is kept, the name is taken by other cases, or an unknown setting.
        """
        from curation.rules.release import freeze_with_report, rule_for
        from curation.splits.split_file import Extras, write_split
        from curation.store.store import Store

        with Store.open(self.store, write=True) as store:
            found = freeze_with_report(store, name, rule_for(store, rule, where="freeze"), version=version)
            frozen = found.split  # it reads in the store, which is closed here
            split = frozen._replace(all_cases=tuple(frozen.all_cases), extras=Extras(frozen.extras))
        if out is not None:
            write_split(split, Path(out))
        return split


@python_errors
def construct(
    facts: Any,
    author: str = "embedded",
    *,
    store: Path | str | None = None,
    verify: str | bool | None = None,
    progress: bool = True,
    **options: Any,
) -> Build:
    """Have a language model write questions, scripts and prompts for facts, as ``scedit construct`` does.

    Every reply is kept beside the store before it is used: the same call again goes on where this one ended, and no
    reply is paid for twice.

    Args:
        facts: What ``scedit.read`` returns or takes.
        author: Who writes: a model of OpenAI, ``NAME@ADDRESS`` or ``NAME@ADDRESS@KEY_VARIABLE`` for another endpoint
            (address up to ``/v1``, key in an environment variable), or on this machine ``embedded``, ``local``,
            ``gguf:PATH``, ``hf:OWNER/REPOSITORY/FILE``.
        store: The DuckDB file, made if absent; ``facts.duckdb``, or called after the facts' file, where left out.
        verify: Who reads every prompt: a model named as for ``author``, or False for nobody. Left out, a model behind
            an endpoint reads what it wrote, and what a model on this machine wrote stays unsure.
        progress: Show a bar.
        options: What the command takes: ``questions``, ``scripts``, ``neighbours``, ``limit``, ``max_cost`` (US
            dollars), ``max_tokens``, ``concurrency`` ... (``scedit construct --help``).

    Raises:
        UserError: unusable facts, an unknown option, no key, an endpoint that does not answer, the budget is used up;
            what is finished is kept.
    """
    from curation.store.import_sources import ConflictError

    there = read(facts)  # a table's file lives as long as this
    prepared = _prepare(there, author, store=store, verify=verify, **options)
    try:
        prepared.import_facts()
    except ConflictError as error:
        fix = "name another store: construct(..., store='other.duckdb'); or give the changed facts keys of their own"
        raise UserError(error.what, where=error.where, fix=fix) from None
    live: Any = ConstructionBar(len(prepared.work.edits) + len(prepared.work.others), shown=progress)
    done = prepared.run(live=live)
    if done.unfinished:
        raise UserError(f"{done.unfinished} facts are unfinished: calls went unanswered", fix="call construct again")
    return Build(prepared.job.store)


@python_errors
def estimate(
    facts: Any,
    author: str = "embedded",
    *,
    store: Path | str | None = None,
    verify: str | bool | None = None,
    **options: Any,
) -> ConstructionEstimate:
    """Calls, tokens and price of ``construct`` with the same arguments; nothing is asked or written.

    Raises:
        UserError: as ``construct``.
    """
    there = read(facts)
    return _prepare(there, author, store=store, verify=verify, **options).estimate()


@python_errors
def load_split(name: str | Path) -> Split:
    """A shipped split (``mini``, ``open``, ``open:dev``, ``open:test``, ``events``, ``documents``, ``hops``) or a file.

    Its cases are ``split.cases`` (``split.all_cases`` where edits are no facts).

    Raises:
        UserError: no such split, or a file that is none or was changed.
    """
    from curation.shipped import SPLITS, named_split
    from schemas.core.registry import check_choice

    if not isinstance(name, str | Path):
        raise UserError(f"a {type(name).__name__} names no split", allowed="a name, a file")
    if not Path(name).suffix and not Path(name).exists():
        check_choice(str(name), SPLITS, "split")
    return named_split(str(name))


def _prepare(
    facts: Facts, author: str, *, store: Path | str | None, verify: str | bool | None, **options: Any
) -> PreparedJob:
    """The job of the command, with its facts read."""
    from construction.llm.endpoint import Access
    from construction.pipeline.author_models import script_authors
    from construction.pipeline.job import ConstructionJob, prepare
    from schemas.core.config import validate
    from schemas.core.registry import check_choice

    if not isinstance(author, str):
        raise UserError(f"a {type(author).__name__} names no author", allowed="a name such as 'gpt-4o' or 'embedded'")
    if not isinstance(verify, str | bool | None):
        raise UserError(f"a {type(verify).__name__} names no reader", where="verify", allowed="a name, False")
    if not options.get("skip_bad"):
        facts.require()
    given = {"facts", "access", "model", "base_url", "format_name", "reader_name", "unverified"}  # by the arguments
    known = {*ConstructionJob.model_fields, *Access.model_fields, "author", "verify"} - given
    for option in options:
        check_choice(option, sorted(known), "option")
    limits = {name: options.pop(name) for name in list(options) if name in Access.model_fields}
    base = validate(Access, limits, where="construct")
    data = {
        "facts": facts.path,
        "format_name": None if facts.path == "shipped" else facts.loaded.format,
        "store": store or Path(f"{Path(facts.path).stem}.duckdb"),
        "access": script_authors([author], base, "paper")[0].access,
        "reader_name": verify if isinstance(verify, str) else None,
        "unverified": verify is False,
        **options,
    }
    prepared = prepare(validate(ConstructionJob, data, where="construct"), on_progress=lambda line: None)
    if prepared is None:
        raise UserError("none of the facts has a new object: there is nothing to edit", fix="give them in column 'new'")
    return prepared
