"""Case by case against the published code's measured results (shared/reference) on SmolLM2-135M in float32.

Three cases a method in the default run, all twelve under ``slow``. The reference README names one blow-up, subject
"Soviet Union"; it is in none of these files, and would be listed apart: ``blow_up`` in an edit's notes says so.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from evaluation.cache import Cache
from evaluation.deltas import LowRankDelta
from evaluation.editors.presets import make_editor
from evaluation.edits import Edit
from evaluation.lm import LM
from evaluation.moments import Corpus, Moments, key_moments
from schemas.cases import ScoreProbe
from schemas.facts import Entity, Fact, Object, Relation, Source

pytestmark = pytest.mark.model

KINDS = ("rewrite", "paraphrase", "neighborhood")


class Case(NamedTuple):
    fact: Fact
    prompts: tuple[str, ...]
    before: tuple[float, ...]  # mean NLL a token: new and old object of the first prompt, then of the next ...
    after: tuple[float, ...]
    norms: tuple[float, ...]  # of the change, by edited weight


@pytest.fixture(scope="module")
def reference() -> Path:
    from tests.conftest import shared_folder

    folder = shared_folder()
    if folder is None or not (folder / "reference").is_dir():
        pytest.skip("the reference results are not here (shared/reference; set SCEDIT_SHARED)")
    return folder / "reference"


def cases(folder: Path, name: str) -> list[Case]:
    edits = {e["case_id"]: e for e in json.loads((folder / "reference_edits.json").read_text())}
    out = []
    for case in json.loads((folder / name).read_text())["cases"]:
        edit = edits[case["case_id"]]
        ask = edit["requested_rewrite"]
        fact = Fact(
            key=f"reference/{case['case_id']}",
            subject=Entity(text=ask["subject"]),
            relation=Relation(id=ask["relation_id"]),
            prompt=ask["prompt"],
            old=Object(text=ask["target_true"]["str"]),
            new=Object(text=ask["target_new"]["str"]),
            source=Source(name="reference", licence="tests only"),
        )
        prompts = (fact.fact_prompt, *edit["paraphrase_prompts"], *edit["neighborhood_prompts"])
        norms = tuple(found[0] for found in case["delta_norm_orignorm_maxabs"].values())
        out.append(Case(fact, prompts, _nlls(case["pre"]), _nlls(case["post"]), norms))
    return out


def _nlls(part: dict[str, Any]) -> tuple[float, ...]:
    rows = [row for kind in KINDS for row in part[f"{kind}_prompts_probs"]]
    return tuple(value for row in rows for value in (row["target_new"], row["target_true"]))


def nlls(lm: LM, case: Case) -> list[float]:
    assert case.fact.new is not None
    targets = (case.fact.new.text, case.fact.old.text)
    probes = [ScoreProbe(purpose="fact", item="x", prompt=p, targets=targets) for p in case.prompts]
    return [-target.value("mean") for answer in lm.score(probes) for target in answer.targets]


def check(lm: LM, case: Case, edit: Edit, *, within: float) -> None:
    with edit.on(lm):
        got = nlls(lm, case)
    assert max(abs(a - b) for a, b in zip(got, case.after, strict=True)) < within
    assert [delta.norm() for delta in edit.deltas or ()] == pytest.approx(list(case.norms), rel=1e-3)
    assert edit.notes["blow_up"] is False


THREE = [3, 4, 11]  # objects of one token and of several; subject in the middle and at the start
some = pytest.mark.parametrize(
    "number", [n if n in THREE else pytest.param(n, marks=pytest.mark.slow) for n in range(12)]
)

TUNING = {"ft": ("ft_layer21.json", {}), "ft_l": ("ft_l_layer21_eps2e-3.json", {"eps": 2e-3})}


@some
def test_before(number: int, embedded: LM, reference: Path) -> None:
    case = cases(reference, "ft_layer21.json")[number]
    assert nlls(embedded, case) == pytest.approx(case.before, abs=2e-4)


@some
@pytest.mark.parametrize("method", TUNING)
def test_fine_tuning(method: str, number: int, embedded: LM, reference: Path, tmp_path: Path) -> None:
    name, options = TUNING[method]
    case = cases(reference, name)[number]
    editor = make_editor(method, embedded, Cache(tmp_path), {"layer": 21, "steps": 25, "lr": 5e-4, **options})
    check(embedded, case, editor.edit([case.fact]), within=1e-3)


def published_moments(folder: Path) -> Moments:
    import numpy as np

    kept = np.load(folder / "covariance_layer5.npz")
    size = 1536
    second = torch.zeros(size, size)
    upper = torch.triu_indices(size, size)
    second[upper[0], upper[1]] = torch.from_numpy(kept["upper"])
    tokens = int(kept["count"])
    return Moments((second + second.triu(1).T) / tokens, tokens)  # the file holds the sum


@some
def test_rome(number: int, embedded: LM, reference: Path, tmp_path: Path) -> None:
    import numpy as np

    name = "rome_layer5_5templates"
    case, digest = cases(reference, f"{name}.json")[number], embedded.weights_digest()
    published_moments(reference).save(tmp_path / "moments.safetensors")
    told = json.loads((reference / f"{name}.json").read_text())["hparams"]
    options = {
        "layer": told["layers"][0],
        "steps": told["v_num_grad_steps"],
        "lr": told["v_lr"],
        "weight_decay": told["v_weight_decay"],
        "clamp": told["clamp_norm_factor"],
        "kl_weight": told["kl_factor"],
        "templates": json.loads((reference / "context_templates.json").read_text())["rome_5"],
        "moments": str(tmp_path / "moments.safetensors"),
    }
    edit = make_editor("rome", embedded, Cache(tmp_path), options).edit([case.fact])
    (delta,) = edit.deltas or ()
    assert isinstance(delta, LowRankDelta)
    vectors = np.load(reference / f"{name}.vectors.npz")
    for got, want in ((delta.right, "compute_u.0"), (delta.left, "compute_v.1")):
        expected = torch.from_numpy(vectors[f"case{number}.{want}"])
        assert (got[:, 0] - expected).norm() < 1e-3 * expected.norm()
    check(embedded, case, edit, within=0.02)
    assert embedded.weights_digest() == digest


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_rome_21_templates(number: int, embedded: LM, reference: Path, tmp_path: Path) -> None:
    case = cases(reference, "rome_layer5_21templates.json")[number]
    published_moments(reference).save(tmp_path / "moments.safetensors")
    texts = json.loads((reference / "context_templates.json").read_text())["rome_21"]
    options = {"layer": 5, "templates": texts, "moments": str(tmp_path / "moments.safetensors")}
    check(embedded, case, make_editor("rome", embedded, Cache(tmp_path), options).edit([case.fact]), within=0.02)


@pytest.mark.parametrize("number", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))])
def test_r_rome(number: int, embedded: LM, reference: Path, tmp_path: Path) -> None:
    case = cases(reference, "r_rome_layer5_5templates.json")[number]
    published_moments(reference).save(tmp_path / "moments.safetensors")
    texts = json.loads((reference / "context_templates.json").read_text())["rome_5"]
    options = {"layer": 5, "templates": texts, "moments": str(tmp_path / "moments.safetensors")}
    check(embedded, case, make_editor("r_rome", embedded, Cache(tmp_path), options).edit([case.fact]), within=0.02)


@pytest.fixture(scope="module")
def measured(embedded: LM, reference: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the reference's corpus and a cache of its second moments: some minutes."""
    folder = tmp_path_factory.mktemp("measured")
    documents = json.loads((reference / "covariance_corpus.json").read_text())
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"text": one["text"]}) + "\n" for one in documents))
    key_moments(embedded, range(4, 9), Corpus([folder / "corpus.jsonl"]), cache=Cache(folder / "cache"), cap=1024)
    return folder


LAMBDAS = [(100, number) for number in range(10)] + [(15000, number) for number in range(6)]


@pytest.mark.slow
@pytest.mark.parametrize(("lam", "number"), LAMBDAS)
def test_memit(lam: int, number: int, embedded: LM, reference: Path, measured: Path) -> None:
    case = cases(reference, f"memit_layers4-8_lambda{lam}.json")[number]
    texts = json.loads((reference / "context_templates.json").read_text())["memit"]
    options = {
        "layers": [4, 5, 6, 7, 8],
        "lam": lam,
        "lr": 0.5,
        "clamp": 4.0,
        "templates": [text for kind in texts for text in kind],
        "corpus": str(measured / "corpus.jsonl"),
        "cap": 1024,
    }
    editor = make_editor("memit", embedded, Cache(measured / "cache"), options)
    check(embedded, case, editor.edit([case.fact]), within=0.02)


@pytest.mark.slow
def test_moments(embedded: LM, reference: Path, measured: Path) -> None:
    corpus = Corpus([measured / "corpus.jsonl"])
    got = key_moments(embedded, [5], corpus, cache=Cache(measured / "cache"), cap=1024)[5]
    want = published_moments(reference)
    assert got.tokens == want.tokens
    assert (got.second - want.second).norm() < 1e-4 * want.second.norm()
