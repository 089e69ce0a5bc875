from pathlib import Path

import pytest

from evaluation.editors import EDITORS
from evaluation.runs.config import METRIC_SETS, TEACHER_FORCED, WRITTEN, RunConfig, load_config, parse_config
from schemas.core.errors import UserError
from tests.support import ROOT

GOOD = {"split": "mini", "editors": ["none", "ft"], "out": "runs/x"}


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.toml")), ids=lambda p: p.name)
def test_shipped_configurations_are_sound(path):
    config = load_config(path)
    assert config.split.shipped or config.split.file == Path("runs/sequences.jsonl")  # which a command above it makes
    for editor in config.editors.values():
        assert editor.name in EDITORS.names()


def test_a_shipped_configuration_is_read_in_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load_config(Path("configs/demo.toml")) == load_config(ROOT / "configs" / "demo.toml")
    with pytest.raises(UserError, match="no such configuration file"):
        load_config(Path("configs/dem.toml"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"editor": ["rome"]}, "did you mean 'editors'", id="unknown key with the nearest"),
        pytest.param({"metrics": ["s_ess"]}, "did you mean 's_es'", id="unknown metric"),
        pytest.param({"editors": []}, "at least one method", id="no editor"),
        pytest.param({"editors": ["ft", "ft"]}, "two editors are called 'ft'", id="twice the same label"),
        pytest.param({"editors": [3]}, "an editor is a name or a table", id="editor of a wrong kind"),
        pytest.param({"editors": [{"name": "ft", "parms": {}}]}, "editors.ft.parms", id="unknown key in an editor"),
        pytest.param({"editors": [{"name": "ft", "label": "none"}]}, "kept for the unedited", id="label none"),
        pytest.param({"split": "real"}, "nor a file; for one in a store", id="named split without a store"),
        pytest.param({"split": {}}, "mini", id="no split"),
        pytest.param({"split": {"file": "a", "name": "b"}}, "not both", id="file and name"),
        pytest.param({"dtype": "float8"}, "dtype", id="precision"),
        pytest.param({"normalisation": "median"}, "normalisation", id="normalisation"),
        pytest.param({"limit": 0}, "limit", id="limit"),
        pytest.param({"out": None}, "out", id="no folder"),
    ],
)
def test_mistakes_are_one_sentence(changes, message):
    with pytest.raises(UserError) as error:
        parse_config({**GOOD, **changes}, where="run.toml")
    text = str(error.value)
    assert text.startswith("run.toml: ")
    assert message in text
    assert "\n" not in text


def test_settings_reach_one_editor(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('split = "mini"\neditors = ["none", "rome"]\nout = "x"\n[[more]]\n')
    with pytest.raises(UserError, match="more"):
        load_config(path)
    path.write_text(
        'split = "mini"\nout = "x"\n[[editors]]\nname = "rome"\nlabel = "rome late"\nparams = {layer = 3}\n'
    )
    config = load_config(path, ["editors.rome late.params.layer=17", "limit=4"])
    assert config.editors["rome late"].params == {"layer": 17}
    assert config.editors["rome late"].name == "rome"
    assert config.limit == 4


def test_settings_can_add_a_method_and_beat_the_command():
    config = parse_config(GOOD, ["editors.rome.params.layer=9", "out=elsewhere"], where="x")
    assert (config.editors["rome"].name, config.out) == ("rome", Path("elsewhere"))


@pytest.mark.parametrize(
    ("text", "message"), [(b"split = ", "not readable as TOML"), (b"\xff\xfe", "line 1: not UTF-8")]
)
def test_unreadable_toml(tmp_path, text, message):
    path = tmp_path / "run.toml"
    path.write_bytes(text)
    with pytest.raises(UserError, match=message):
        load_config(path)


@pytest.mark.parametrize(("metrics", "near"), [("teacher", "teacher-forced"), ("free_text", "free-text")])
def test_a_mistyped_set_of_metrics_is_told_the_set(metrics: str, near: str) -> None:
    with pytest.raises(UserError, match=f"unknown metric '{metrics}'; did you mean '{near}'"):
        parse_config({**GOOD, "metrics": metrics}, where="x")
    assert parse_config({**GOOD, "metrics": [near, "es"]}, where="x").metrics == METRIC_SETS[near]


@pytest.mark.parametrize("metric", [["es"], {"name": "es"}, 3])
def test_a_metric_that_is_no_name_is_told(metric: object) -> None:
    with pytest.raises(UserError, match=r"metrics\.1: Input should be a valid string"):
        parse_config({**GOOD, "metrics": ["es", metric]}, where="x")


def test_round_trip():
    config = parse_config({**GOOD, "limit": {"temporal": 2}}, where="x")
    assert RunConfig.model_validate(config.model_dump(mode="json")) == config


ENGINE = '[engine]\nname = "ray"\nworkers = 3\ngroup = 5\nbatch_tokens = 512\naddress = "ray://x:1"\n'


def written(folder: Path, engine: str) -> Path:
    path = folder / "run.toml"
    path.write_text(f'split = "mini"\neditors = ["none"]\nout = "x"\n{engine}')
    return path


@pytest.mark.parametrize(
    ("engine", "base", "settings", "wanted"),
    [
        ("", {}, [], {"name": "fast"}),
        ('engine = "simple"\n', {}, [], {"name": "simple"}),
        (ENGINE, {}, ["engine.workers=7"], {"name": "ray", "workers": 7, "group": 5}),
        (ENGINE, {"workers": 8}, [], {"name": "ray", "workers": 8, "address": "ray://x:1"}),
        (ENGINE, {"name": "ray"}, [], {"name": "ray", "workers": 3}),
        (ENGINE, {"name": "simple"}, [], {"name": "simple", "workers": None, "group": None, "address": None}),
        ("", {"name": "ray", "workers": 2}, ["engine.group=4"], {"name": "ray", "workers": 2, "group": 4}),
    ],
)
def test_the_engine_is_one_table_under_the_options_of_the_command(tmp_path, engine, base, settings, wanted):
    config = load_config(written(tmp_path, engine), settings, base={"engine": base or None})
    assert config.engine.model_dump().items() >= wanted.items()
    assert RunConfig.model_validate(config.model_dump(mode="json")) == config, "what a run's folder holds is read back"


@pytest.mark.parametrize(
    ("engine", "settings", "message"),
    [
        ("[engine]\ngroop = 4\n", [], "engine.groop: unknown field, did you mean 'group'?"),
        ("group = 3\n", [], "group: unknown field"),
        ("[engine]\nzzz = 4\n", [], "engine.zzz: unknown field; allowed: name, address, workers, group, batch_tokens"),
        ("[engine]\nname = 'quick'\n", [], "engine.name: Input should be 'fast', 'simple' or 'ray'"),
        ("[engine]\nname = 'ray'\nworkers = 0\n", [], "workers: Input should be greater than or equal to 1"),
        ("[engine]\nworkers = 2\n", [], "workers is for engine = 'ray', and this run's engine is 'fast'"),
        ("", ["engine.groop=4"], "engine.groop: unknown field, did you mean 'group'?"),
        ("", ["engine.group=many"], "group: Input should be a number, not a text"),
        ("engine = 3\n", [], "engine: "),
        ('regime = { name = "batch", size = 2 }\nengine = "ray"\n', [], "edits build on each other"),
    ],
)
def test_a_bad_engine_is_one_sentence(tmp_path, engine, settings, message):
    with pytest.raises(UserError) as error:
        load_config(written(tmp_path, engine), settings)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_metrics_by_the_name_of_a_set(tmp_path: Path) -> None:
    base = {"split": "mini", "editors": ["none"], "out": str(tmp_path)}
    assert RunConfig.model_validate({**base, "metrics": "teacher-forced"}).metrics == TEACHER_FORCED
    texts = RunConfig.model_validate({**base, "metrics": "free-text, es_gen"}).metrics
    assert texts[-4:] == ("s_es_gen_question", "s_ns_gen_question", "script_format", "es_gen")
    with pytest.raises(ValueError, match="unknown metric 'free-texts'"):
        RunConfig.model_validate({**base, "metrics": "free-texts"})


def test_a_run_that_names_no_metrics_has_those_of_a_model_that_writes(tmp_path: Path) -> None:
    base = {"split": "mini", "editors": ["none"], "out": str(tmp_path)}
    assert RunConfig.model_validate(base).metric_names == (*TEACHER_FORCED, *WRITTEN)
    assert RunConfig.model_validate({**base, "model": "endpoint:gpt"}).metric_names == WRITTEN
    assert RunConfig.model_validate({**base, "metrics": ["es"]}).metric_names == ("es",)
