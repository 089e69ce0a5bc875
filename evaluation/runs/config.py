"""What a run is asked to do: one TOML file, checked, with overrides from the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from curation.case_sources.opening import SplitChoice
from curation.case_sources.support import SupportChoice
from evaluation.editors import EDITORS
from evaluation.metrics import METRICS
from evaluation.metrics.generation import DocumentChoice, EventChoice, GenerationChoice, SpecificityChoice
from evaluation.models.layout_choice import LayoutChoice
from evaluation.regimes.config import RegimeChoice
from evaluation.runs.validity_variants import CHAT, VARIANTS, Variant, asks_otherwise
from evaluation.simplify.base import SimplifyChoice
from schemas.core.config import Options, override, validate
from schemas.core.errors import UserError
from schemas.core.ids import slug
from schemas.core.registry import suggest

TEACHER_FORCED = ("es", "ps", "ns", "s_es", "s_ns", "s_bo")
WRITTEN = ("s_es_gen_question", "s_ns_gen_question", "script_format")
METRIC_SETS = {"teacher-forced": TEACHER_FORCED, "free-text": (*TEACHER_FORCED, *WRITTEN)}
"""Metrics by the name of a set: probabilities alone, or with scripts that the model writes from the question."""
ENDPOINT = "endpoint:"
"""How the name of a model behind an endpoint begins in a run's configuration."""
_Positive = Annotated[float, Field(gt=0)]


class EndpointChoice(Options):
    """How an endpoint is asked: the options of every command that asks a model, as a table of a run.

    Attributes:
        base_url: Address up to ``/v1``; that of OpenAI where it is not given.
        api_key_env: Environment variable with the key.
        concurrency: Calls in flight at once.
        rpm, tpm: Requests and tokens a minute at most.
        timeout: Seconds until a call is given up.
        max_cost, max_tokens: Budget of the run's journal, in US dollars and tokens.
        prices: A price table.
        attempts: Times to ask where a reply is empty or cut off.
        batch: Use the Batch API.
        journal: The stored replies; ``llm.jsonl`` in the run's folder where it is not given.
    """

    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    concurrency: Annotated[int, Field(ge=1, le=512)] = 8
    rpm: _Positive | None = None
    tpm: _Positive | None = None
    timeout: _Positive | None = None
    max_cost: Annotated[float, Field(ge=0)] | None = None
    max_tokens: Annotated[int, Field(ge=0)] | None = None
    prices: Path | None = None
    attempts: Annotated[int, Field(ge=1, le=10)] | None = None
    batch: bool = False
    journal: Path | None = None


class EditorChoice(Options):
    """An editing method and the parameters that differ from its preset; ``variant`` makes it a validity row.

    ``simplify``: how documents become facts for a method that edits these; a bare string names a strategy.
    """

    name: str
    params: dict[str, Any] = Field(default_factory=dict)
    variant: str | None = None
    simplify: SimplifyChoice | None = None

    @field_validator("variant")
    @classmethod
    def _known_variant(cls, variant: str | None) -> str | None:
        if variant is not None:
            try:
                VARIANTS.get(variant)
            except UserError as error:
                raise ValueError(str(error)) from None
        return variant

    @property
    def variant_made(self) -> Variant | None:
        """The variant itself."""
        return None if self.variant is None else VARIANTS.get(self.variant)()


class EngineChoice(Options):
    """How edits are made and scored; a bare string names an engine.

    Attributes:
        name: ``fast`` (many edits scored in one batch), ``simple`` (one edit at a time: the reference), ``ray`` (cases
            spread over processes and machines).
        address: ``ray``: the cluster; processes of this machine where it is not given.
        workers: ``ray``: how many processes.
        group: ``fast`` and ``ray``: cases whose edits are made together; chosen for the device where it is not given.
        batch_tokens: Most tokens of one forward pass; chosen for the device where it is not given.
    """

    name: Literal["fast", "simple", "ray"] = "fast"
    address: str | None = None
    workers: Annotated[int, Field(ge=1)] | None = None
    group: Annotated[int, Field(ge=1)] | None = None
    batch_tokens: Annotated[int, Field(ge=16)] | None = None

    @model_validator(mode="after")
    def _settings_of_the_engine(self) -> EngineChoice:
        users = {"address": ("ray",), "workers": ("ray",), "group": ("fast", "ray")}
        for setting, names in users.items():
            if getattr(self, setting) is not None and self.name not in names:
                engines = " or ".join(f"'{name}'" for name in names)
                raise ValueError(f"{setting} is for engine = {engines}, and this run's engine is '{self.name}'")
        return self


class RunConfig(Options):
    """A run: which cases, which model, which methods, which metrics.

    Attributes:
        split: Where the cases come from; a bare string names a shipped split or one in a store given beside.
        support: Cases that methods may learn from, none of them evaluated; a bare string names shipped ones.
        model: ``embedded``, a folder, a hub name, or ``endpoint:NAME`` for a model behind an endpoint.
        endpoint: How that endpoint is asked.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:1`` ...
        dtype: ``float32``, ``bfloat16``, ``float16``, or ``tf32``: float32 whose products a CUDA device rounds.
        attention: ``eager`` or ``sdpa``; as transformers chooses where it is not given. Another one than that is part
            of a run's identity, because figures differ.
        layout: Names of the model's parts, for a model type that the table of families does not have.
        deterministic: Have a CUDA device add in a fixed order, so that the same command repeats its results there, at a
            cost in time; an operation that cannot is named by a warning.
        editors: Methods by label, the name the tables show. In TOML a list of names or of tables also serves.
        metrics: Names of metrics, or of a set: ``teacher-forced`` or ``free-text``. Left out or empty, it is
            ``free-text`` for a model that can write, which is one with a chat template; ``teacher-forced`` for others;
            and for a model behind an endpoint those of the texts alone. A metric may be added to a finished run, only
            what it asks anew is computed.
        generation: How texts are written, for metrics that ask for them.
        events: How questions about events are asked and read.
        documents: How probes of documents are asked.
        specificity: Questions that the model must still answer after every edit, for ``em_spec`` and ``ppl_spec``.
        chat: ``auto`` adds a row ``method [chat]`` to every method, in which all probes are asked in the model's chat
            template, where it has one; ``never`` is the published setting.
        normalisation: ``mean`` (per token, as the published code) or ``sum`` (as the paper's formula).
        kinds: Kinds of edit to take: how facts change, types and topics of events; all of them where it is not given.
        limit: Take so many cases, or so many of each kind; the first of an order drawn from the split's digest.
        answers_from: Folder of a run on another version of the split: answers after the same edit are taken over, and a
            limit keeps that run's cases.
        regime: How many edits stand in the model when it is asked: ``single``, or a table such as
            ``{ name = "batch", size = 10 }`` or ``{ name = "sequential", size = [1, 10, 100], score = "both" }``.
        engine: How edits are made and scored; a bare string names an engine.
        part: ``i/n``: only every n-th case from the i-th on, for array jobs; ``scedit results merge`` joins
            the folders.
        feed: A store that gets the results too; a store that the split came from gets them anyway.
        out: Folder of the run; finished cases found in it are not computed again.
        max_failures: Stop a method when more than this share of its cases failed (after ten).
    """

    split: SplitChoice
    support: SupportChoice | None = None
    model: str = "embedded"
    endpoint: EndpointChoice | None = None
    device: str = "auto"
    dtype: Literal["float32", "tf32", "bfloat16", "float16"] = "float32"
    attention: Literal["eager", "sdpa"] | None = None
    layout: LayoutChoice | None = None
    deterministic: bool = False
    editors: dict[str, EditorChoice]
    metrics: tuple[str, ...] = ()
    generation: GenerationChoice = GenerationChoice()
    events: EventChoice = EventChoice()
    documents: DocumentChoice = DocumentChoice()
    specificity: SpecificityChoice | None = None
    chat: Literal["auto", "never"] = "never"
    normalisation: Literal["mean", "sum"] = "mean"
    kinds: tuple[str, ...] = ("counterfactual", "temporal")
    limit: Annotated[int, Field(ge=1)] | dict[str, Annotated[int, Field(ge=0)]] | None = None
    answers_from: Path | None = None
    regime: RegimeChoice = RegimeChoice()
    engine: EngineChoice = EngineChoice()
    feed: Path | None = None
    part: Annotated[str, Field(pattern=r"[1-9]\d*/[1-9]\d*")] | None = None
    out: Path
    max_failures: Annotated[float, Field(gt=0, le=1)] = 0.5

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        data = expand_short_forms(data)
        if data.get("chat") == "auto" and isinstance(editors := data.get("editors"), dict):
            data["editors"] = with_chat_rows(editors)
        return data

    @field_validator("editors")
    @classmethod
    def _some_editor(cls, editors: dict[str, EditorChoice]) -> dict[str, EditorChoice]:
        if not editors:
            raise ValueError("name at least one method, such as 'none'")
        if "none" in editors and (editors["none"].name != "none" or editors["none"].variant):
            raise ValueError("the label 'none' is kept for the unedited model")
        return editors

    @model_validator(mode="after")
    def _variants_here(self) -> RunConfig:
        if self.engine.name == "ray" and any(e.variant for e in self.editors.values()):
            raise ValueError("validity rows are not spread over workers: use engine = 'fast'")
        if self.engine.name == "ray" and any(e.simplify for e in self.editors.values()):
            raise ValueError("simplified documents are not spread over workers: use engine = 'fast'")
        if self.engine.name == "ray" and self.regime.name != "single":
            name = self.regime.name
            raise ValueError(
                f"in the regime '{name}' edits build on each other, so cases cannot be spread: use engine = 'fast'"
            )
        return self

    @model_validator(mode="after")
    def _part_here(self) -> RunConfig:
        if self.part is None:
            return self
        number, of = self.part_numbers
        if number > of:
            raise ValueError(f"part {self.part}: there is no part {number} of {of}")
        if self.regime.name in ("batch", "sequential"):
            raise ValueError(f"in the regime '{self.regime.name}' edits build on each other: leave part out")
        return self

    @model_validator(mode="after")
    def _earlier_run_here(self) -> RunConfig:
        if self.answers_from is not None and self.regime.name != "single":
            raise ValueError(
                f"no answers are taken over in the regime '{self.regime.name}', where edits build on each other: "
                "leave answers_from out"
            )
        return self

    @property
    def part_numbers(self) -> tuple[int, int]:
        """Number of the part and how many there are; 1 of 1 for a whole run."""
        number, _, of = (self.part or "1/1").partition("/")
        return int(number), int(of)

    @property
    def metric_names(self) -> tuple[str, ...]:
        """Names of its metrics; where it names none, those of a model that can write."""
        return self.metrics or (WRITTEN if self.behind_endpoint else METRIC_SETS["free-text"])

    @property
    def behind_endpoint(self) -> bool:
        """Whether the model is one behind an endpoint, without weights here."""
        return self.model.startswith(ENDPOINT)

    @model_validator(mode="after")
    def _endpoint_here(self) -> RunConfig:
        if not self.behind_endpoint:
            if self.endpoint is not None:
                raise ValueError(f"the table endpoint is for model = 'endpoint:NAME', this run's is '{self.model}'")
            return self
        if self.engine.name == "ray":
            raise ValueError("a model behind an endpoint is not spread over workers: set endpoint.concurrency")
        if self.regime.name != "single":
            raise ValueError(
                "a model behind an endpoint is edited one case at a time: use regime = 'single'; to look among all "
                "edits, set memory = 'split' of bm25 or dense"
            )
        return self

    @field_validator("metrics")
    @classmethod
    def _known_metrics(cls, metrics: tuple[str, ...]) -> tuple[str, ...]:
        for name in metrics:
            try:
                METRICS.get(name)
            except UserError as error:
                near = suggest(name, list(METRIC_SETS))
                raise ValueError(f"unknown metric '{name}'; did you mean '{near}'?" if near else str(error)) from None
        return tuple(dict.fromkeys(metrics))


def with_part(config: RunConfig, part: str | None) -> RunConfig:
    """One part of a run, with a folder of its own inside the run's folder.

    Args:
        config: The whole run.
        part: ``i/n``; None: the whole run.

    Raises:
        UserError: no such part, or a regime in which cases depend on each other.
    """
    if part is None:
        return config
    out = config.out / f"part-{part.replace('/', '-of-')}"
    return validate(RunConfig, config.model_dump(mode="json") | {"part": part, "out": str(out)}, where="--part")


def with_variants(config: RunConfig, names: Sequence[str]) -> RunConfig:
    """A row more for every method under each validity variant; for the unedited model where cases are asked otherwise.

    Raises:
        UserError: an unknown variant.
    """
    if not names:
        return config
    data = config.model_dump(mode="json")
    return RunConfig.model_validate(data | {"editors": data["editors"] | variant_rows(data["editors"], names)})


def with_chat_rows(editors: Mapping[str, Any]) -> dict[str, Any]:
    """The methods by label, each with its row in the chat format behind it, that of the unedited model first."""
    rows = {label: row for label, row in variant_rows(editors, [CHAT]).items() if label not in editors}
    out = {label: row for label, row in rows.items() if row["name"] == "none"}
    for label, one in editors.items():
        out[label] = one
        out |= {f"{label} [{CHAT}]": row for row in [rows.get(f"{label} [{CHAT}]")] if row is not None}
    return out


def variant_rows(editors: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Rows of methods under validity variants by label.

    Args:
        editors: The methods by label, as a configuration has them; their own variant rows get none.
        names: The variants.
    """
    plain = {"none": {"name": "none"}} | {k: v for k, v in editors.items() if isinstance(v, dict)}
    own = [label for label, one in plain.items() if not one.get("variant")]
    rows = [(x, label) for x in names for label in own if label != "none" or asks_otherwise(VARIANTS.get(x)())]
    return {f"{label} [{name}]": {**plain[label], "variant": name} for name, label in rows}


def expand_short_forms(data: dict[str, Any]) -> dict[str, Any]:
    """Short forms written out: a split, regime or engine as a string, metrics by a set, editors as a list.

    Example:
        >>> editors = ["ft", {"name": "ft", "label": "long", "params": {"steps": 9}}]
        >>> expand_short_forms({"split": "mini", "editors": editors})
        {'split': {'name': 'mini'}, 'editors': {'ft': {'name': 'ft'}, 'long': {'name': 'ft', 'params': {'steps': 9}}}}
    """
    out = dict(data)
    for name in ("split", "regime", "engine"):
        if isinstance(out.get(name), str):
            out[name] = {"name": out[name]}
    if isinstance(metrics := out.get("metrics"), str | list | tuple):
        named = [name.strip() for name in metrics.split(",") if name.strip()] if isinstance(metrics, str) else metrics
        out["metrics"] = [metric for name in named for metric in METRIC_SETS.get(str(name), (name,))]
    editors = out.get("editors")
    if isinstance(editors, str):
        editors = [editors]
    if isinstance(editors, (list, tuple)):
        table: dict[str, Any] = {}
        for entry in editors:
            one = {"name": entry} if isinstance(entry, str) else dict(entry) if isinstance(entry, dict) else None
            if one is None or not isinstance(one.get("name"), str):
                raise ValueError("an editor is a name or a table with a name")
            label = str(one.pop("label", one["name"]))
            if label in table:
                raise ValueError(f"two editors are called '{label}': give one of them a label")
            table[label] = one
        out["editors"] = table
    elif isinstance(editors, dict):
        out["editors"] = {k: {"name": k, **v} if isinstance(v, dict) else v for k, v in editors.items()}
    return out


def load_config(path: Path | str, settings: Sequence[str] = (), *, base: dict[str, Any] | None = None) -> RunConfig:
    """Read a run's TOML file and apply ``--set`` overrides, such as ``editors.rome.params.layer=17``.

    Args:
        path: The file.
        settings: ``name=value`` overrides, applied last.
        base: Values that stand above the file's and below ``settings`` (the command's own options); None is skipped.
            An engine of another name takes the place of the file's with all its settings.

    Raises:
        UserError: no such file, an unknown key, a value of the wrong kind; one sentence that names the place.
    """
    from curation.shipped import read_config

    data = _spelt_out(read_config(Path(path)), where=str(path))
    wanted = {k: v for k, v in (base or {}).items() if v is not None}
    engine, there = wanted.pop("engine", {}), data.get("engine", {})
    if engine and isinstance(there, dict):
        same = engine.get("name") in (None, there.get("name", "fast"))
        wanted["engine"] = {**there, **engine} if same else engine
    return parse_config({**data, **wanted}, settings, where=str(path))


def parse_config(data: dict[str, Any], settings: Sequence[str] = (), *, where: str) -> RunConfig:
    """A run's configuration from plain values.

    Raises:
        UserError: as ``load_config``.
    """
    data = override(_spelt_out(data, where=where), settings)
    return validate(RunConfig, data, where=where)


def config_of(data: Mapping[str, Any], settings: Sequence[str] = ()) -> RunConfig:
    """A run's configuration without a file; its folder is called after split and model where ``out`` is not given.

    Args:
        data: Fields of ``RunConfig``; None is skipped.
        settings: ``name=value`` overrides.

    Raises:
        UserError: as ``load_config``.
    """
    given = _spelt_out({name: value for name, value in data.items() if value is not None}, where="options")
    split = given["split"]
    given.setdefault("out", str(default_out(split.get("name") or Path(split["file"]).stem, given["model"])))
    return parse_config(given, settings, where="options")


def default_out(split: str, model: str) -> Path:
    """The folder of a run for which none is named.

    Example:
        >>> default_out("mini", "openai-community/gpt2-xl").as_posix()
        'runs/mini-gpt2-xl'
    """
    return Path("runs", f"{slug(split)}-{slug(Path(model).name)}")


def _spelt_out(data: dict[str, Any], *, where: str) -> dict[str, Any]:
    try:
        return expand_short_forms(data)
    except ValueError as error:
        raise UserError(str(error), where=where) from None


def select_editors(config: RunConfig, names: Sequence[str]) -> RunConfig:
    """The configuration with these editors only: its own labels, or names of methods with their presets.

    Raises:
        UserError: an unknown name.
    """
    if not names:
        return config
    editors = {}
    for name in names:
        if name not in config.editors:
            EDITORS.get(name)
        editors[name] = config.editors.get(name) or {"name": name}
    data = config.model_dump(mode="json") | {
        "editors": {k: v if isinstance(v, dict) else v.model_dump(mode="json") for k, v in editors.items()}
    }
    return RunConfig.model_validate(data)
