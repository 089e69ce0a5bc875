"""Validity rows: what is changed and what is not, the rows of a run, what is refused."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from curation.splits.split_file import make_split
from evaluation.analysis.comparison import compare
from evaluation.metrics.generation import load_metrics
from evaluation.report.further_tables import chat_table
from evaluation.report.narrative import opening
from evaluation.report.sections import make_sections
from evaluation.report.write import write_report
from evaluation.runs.config import RunConfig, with_variants
from evaluation.runs.frame import score_run, unedited_run
from evaluation.runs.generated_scripts import generation_of
from evaluation.runs.results import load_run
from evaluation.runs.validity_variants import (
    VARIANTS,
    ChatFormat,
    MaskedSubject,
    RandomObject,
    ShuffledSteps,
    asked_case,
    variant_of,
)
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.probes import GenerateProbe
from schemas.scripts import ScriptPrompt
from schemas.text.mentions import find
from tests.support.arithmetic import ArithmeticEditor, ArithmeticLM, answers, go, make_case, make_config, make_prompt
from tests.support.small import small_split

LONG = "How to reach Peru?\nStep 1: Pack\nStep 2: Book\nStep 3: Wait\nStep 4: Fly to"


def long_case() -> Case:
    case = make_case("Peru")
    return case.model_copy(update={"prompts": (make_prompt("p", case.fact.key, LONG, "Lima", "Oslo"),)})


@pytest.mark.parametrize("name", VARIANTS.names())
def test_variants_leave_valid_cases_and_what_is_not_theirs(name: str) -> None:
    variant = VARIANTS.get(name)()
    assert variant.name == name and variant.version >= 1 and variant.about
    cases = small_split().cases[:6]
    for case in cases:
        probes = variant.asks(case)
        assert probes == variant.asks(case), "the same every time"
        assert (probes.key, probes.fact, probes.neighbours) == (case.key, case.fact, case.neighbours)
        assert [p.key for p in probes.prompts] == [p.key for p in case.prompts]
        assert [p.targets for p in probes.prompts] == [p.targets for p in case.prompts]
        for prompt in probes.prompts:
            assert ScriptPrompt.model_validate(prompt.payload()) == prompt, "the offset follows the text"
        request = variant.request(case.fact, cases)
        assert request.key == case.fact.key and request.old == case.fact.old and request.subject == case.fact.subject


def test_the_unedited_model_has_a_row_where_it_is_asked_otherwise(tmp_path: Path) -> None:
    """Another edit is asked the same questions, so the unedited model has answered them already."""
    for name, more in (("masked", ["none [masked]"]), ("shuffled", ["none [shuffled]"]), ("random_object", [])):
        rows = with_variants(make_config(tmp_path, editors=["none", "push"]), [name]).editors
        assert list(rows) == ["none", "push", *more, f"push [{name}]"]
        cases = small_split().cases[:6]
        assert bool(more) == any(VARIANTS.get(name)().asks(case) != case for case in cases)


def test_masked_hides_the_subject() -> None:
    for case in small_split().cases[:10]:
        probes = MaskedSubject().asks(case)
        assert not any(find(t.text, case.fact.subject) for t in (*probes.prompts, *probes.questions))
    assert MaskedSubject().asks(long_case()).prompts[0].text.startswith("How to reach X?\nStep 1: Pack\n")


def test_shuffled_moves_finished_steps_only() -> None:
    case = long_case()
    (prompt,) = ShuffledSteps().asks(case).prompts
    head, *parts, cut = prompt.text.split("\n")
    assert (head, cut) == ("How to reach Peru?", "Step 4: Fly to")
    assert [s[:7] for s in parts] == ["Step 1:", "Step 2:", "Step 3:"]
    assert sorted(s[8:] for s in parts) == ["Book", "Pack", "Wait"] and prompt.text != LONG
    short = make_case("Peru")
    assert ShuffledSteps().asks(short) == short, "nothing can change places"


def test_random_object_is_another_cases() -> None:
    cases = [make_case("Peru", new="Oslo"), make_case("Chile", new="Rome"), make_case("Cuba", old="Rome", new="Lima")]
    request = RandomObject().request(cases[0].fact, cases)
    assert request.new is not None and request.new.text == "Rome", "neither its own nor the old object"
    with pytest.raises(UserError, match="random_object: no other case of the split .* take a larger split"):
        RandomObject().request(cases[0].fact, cases[:1])


def test_the_object_is_the_same_however_many_cases_are_run(tmp_path: Path) -> None:
    """A longer run goes on in the folder of a shorter one, so both must write the same objects."""
    lands = {"Peru": "Oslo", "Chile": "Bern", "Cuba": "Kyiv", "Chad": "Rome", "Mali": "Riga", "Togo": "Baku"}
    split = make_split("tiny", [long_case_of(land, new) for land, new in lands.items()])
    written = {}
    for limit in (3, 6):
        run_config = with_variants(make_config(tmp_path), ["random_object"])
        editors = {k: v.model_dump(mode="json") for k, v in run_config.editors.items()}
        outcomes, _ = go(tmp_path / str(limit), split=split, editors=editors, metrics=["s_es_gen"], limit=limit)
        row = outcomes["push [random_object]"]
        written[limit] = (row.manifest.key, answers(row.folder))
    assert written[3][0] == written[6][0] and len(written[3][1]) == 3, "one run"
    assert {k: written[6][1][k] for k in written[3][1]} == written[3][1]


def run(out: Path, names: list[str]):
    split = make_split("tiny", [make_case("Peru", new="Oslo"), make_case("Chile", new="Bern"), long_case_of("Cuba")])
    run_config = with_variants(make_config(out, metrics=["es", "s_es", "s_es_gen"]), names)
    editors = {k: v.model_dump(mode="json") for k, v in run_config.editors.items()}
    outcomes, lm = go(out, split=split, editors=editors, metrics=["es", "s_es", "s_es_gen"])
    return outcomes, lm, load_run(out)


def long_case_of(land: str, new: str = "Kyiv") -> Case:
    case = make_case(land, new=new)
    prompt = make_prompt(f"{case.fact.key}/p", case.fact.key, LONG.replace("Peru", land), "Lima", new)
    return case.model_copy(update={"prompts": (prompt,)})


def test_rows_stand_beside_their_method_and_are_scored_as_asked(tmp_path: Path) -> None:
    outcomes, _, results = run(tmp_path, ["masked", "random_object"])
    labels = ["none", "push", "none [masked]", "push [masked]", "push [random_object]"]
    assert list(outcomes) == labels and len({o.manifest.key for o in outcomes.values()}) == 5
    assert outcomes["push [masked]"].manifest.components["variant"] == "masked@1"
    metrics = load_metrics(["es", "s_es", "s_es_gen"])
    scores = score_run(results, metrics, "mean")
    for label in labels:
        value = [i for m in scores.by_editor[label].values() for s in m.values() for i in s.items]
        assert value and all(i.value is not None for i in value), "every row finds the answers to what it asked"
    assert scores.means("push", "es") == scores.means("push [masked]", "es"), "the fact prompt is asked as it is"
    assert set(scores.means("push", "s_es_gen").values()) == {1.0}
    assert set(scores.means("push [random_object]", "s_es_gen").values()) == {0.0}, "another object was written"
    repeat, lm, _ = run(tmp_path, ["masked", "random_object"])
    assert not lm.calls and all(o.computed == 0 for o in repeat.values())


def test_the_plain_rows_are_those_of_a_run_without(tmp_path: Path) -> None:
    with_rows, _, _ = run(tmp_path / "a", ["shuffled"])
    plain, _, _ = run(tmp_path / "b", [])
    assert {k: o.manifest for k, o in plain.items()} == {k: with_rows[k].manifest for k in plain}


def test_a_manifest_says_how_a_case_was_asked() -> None:
    case = long_case()
    assert variant_of({}) is None and asked_case(case, {"scorer": "1"}) is case
    assert asked_case(case, {"variant": "masked@1"}) == MaskedSubject().asks(case)


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="unknown variant 'maskd'.*did you mean 'masked'"):
        with_variants(make_config(tmp_path), ["maskd"])
    base = {"split": "mini", "out": str(tmp_path)}
    with pytest.raises(ValueError, match="not spread over workers"):
        RunConfig.model_validate({**base, "engine": "ray", "editors": [{"name": "rome", "variant": "masked"}]})
    with pytest.raises(ValueError, match="kept for the unedited model"):
        RunConfig.model_validate({**base, "editors": [{"name": "none", "variant": "masked"}]})


CHAT_ROWS = ["none", "none [chat]", "push", "push [chat]"]


def chat_run(out: Path, *, chat: str = "auto", has_chat: bool = True, **changes: Any):
    split = make_split("tiny", [make_case(land, new="Oslo") for land in ("Peru", "Chile", "Cuba")])
    lm = ArithmeticLM(has_chat=has_chat)
    settings = {"metrics": ["es", "s_es", "s_bo", "s_es_gen"], **changes}
    outcomes, _ = go(out, split=split, lm=lm, chat=chat, **settings)
    return outcomes, lm, load_run(out)


def test_every_method_has_a_row_in_the_chat_format_behind_it(tmp_path: Path) -> None:
    outcomes, _, results = chat_run(tmp_path)
    assert list(outcomes) == CHAT_ROWS and outcomes["push [chat]"].manifest.components["variant"] == "chat@1"
    scores = score_run(results, load_metrics(["es", "s_es", "s_es_gen"]), "mean")
    for label in CHAT_ROWS:
        found = [i for m in scores.by_editor[label].values() for s in m.values() for i in s.items]
        assert found and all(i.value is not None for i in found), label
    stored = {label: answers(outcome.folder) for label, outcome in outcomes.items()}
    for case, (mine, *_) in stored["none"].items():
        theirs = stored["none [chat]"][case][0]
        assert [a.probe for a in mine] == [a.probe for a in theirs], "an answer is that of the probe itself"
        assert mine[0].targets != theirs[0].targets
    repeat, lm, _ = chat_run(tmp_path)
    assert not lm.calls and all(o.computed == 0 for o in repeat.values())


@pytest.mark.parametrize("regime", ["single", {"name": "sequential", "size": [1, 3]}, {"name": "batch", "size": 2}])
def test_rows_of_the_same_edits_make_them_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, regime: Any) -> None:
    made: list[str] = []
    real = ArithmeticEditor.edit

    def edit(self: ArithmeticEditor, requests: Any) -> Any:
        made.extend(f.subject.text for f in requests if self.name == "push")
        return real(self, requests)

    monkeypatch.setattr(ArithmeticEditor, "edit", edit)
    together, _, _ = chat_run(tmp_path / "together", regime=regime)
    edits = len(made)
    _, _, _ = chat_run(tmp_path / "apart", regime=regime, chat="never")
    assert len(made) == 2 * edits, "the form in which probes are asked costs no edit"
    apart, _, _ = chat_run(tmp_path / "apart", regime=regime)
    assert len(made) == 3 * edits, "asked for later it does"
    assert apart.keys() == together.keys()
    for label, outcome in together.items():
        assert answers(outcome.folder) == answers(apart[label].folder), label
        assert (outcome.computed, outcome.failed) == (apart[label].computed + apart[label].resumed, 0)


def test_a_failed_edit_is_a_result_of_every_row(tmp_path: Path) -> None:
    push = {"push": {"name": "push", "params": {"fail": ["Chile"]}}}
    outcomes, _, _ = chat_run(tmp_path, editors=push, max_failures=1.0)
    assert [outcomes[label].failed for label in ("push", "push [chat]")] == [1, 1]
    seconds = [outcomes[label].folder.results()["case/peru"].seconds_edit for label in ("push", "push [chat]")]
    assert seconds[0] == seconds[1], "it is the same edit"


def test_before_and_after_are_asked_in_the_same_form(tmp_path: Path) -> None:
    _, _, results = chat_run(tmp_path)
    of = {e.label: unedited_run(results, e).label for e in results.editors}
    assert of == {"none": "none", "none [chat]": "none [chat]", "push": "none", "push [chat]": "none [chat]"}
    (table,) = compare(results, score_run(results, metrics := load_metrics(["es", "s_es"]), "mean"), metrics)
    means = {row.label: row.summaries["es"].mean for row in table.rows}
    gains = {row.label: row.gain["es"].mean for row in table.rows}
    assert gains["push [chat]"] == pytest.approx(means["push [chat]"] - means["none [chat]"])
    assert gains["none [chat]"] is None and [row.baseline for row in table.rows] == [True, True, False, False]


@pytest.mark.usefixtures("no_pictures")
def test_both_forms_are_side_by_side_in_the_report(tmp_path: Path) -> None:
    _, _, results = chat_run(tmp_path)
    metrics = load_metrics(["es", "s_es"])
    scores = score_run(results, metrics, "mean")
    (table,) = compare(results, scores, metrics)
    shown = chat_table(table, metrics, scores, results)
    assert [row[:2] for row in shown.rows] == [(m, label) for m in ("ES", "S-ES") for label in ("none", "push")]
    for title, label, raw, chat, gap in shown.rows:
        name = {"ES": "es", "S-ES": "s_es"}[str(title)]
        means = [fmean(scores.means(f"{label}{form}", name).values()) for form in ("", " [chat]")]
        assert [raw.mean, chat.mean] == pytest.approx(means) and gap.mean == pytest.approx(means[1] - means[0])
    write_report(tmp_path)
    assert "Raw prompts and the chat format" in (tmp_path / "report.html").read_text(encoding="utf-8")
    plain = table._replace(rows=tuple(row for row in table.rows if not row.variant))
    assert not chat_table(plain, metrics, scores, results).rows


def test_rows_are_tested_against_those_in_the_same_form(tmp_path: Path) -> None:
    editors = ["push", {"name": "push", "label": "weak", "params": {"strength": 0.2}}]
    _, _, results = chat_run(tmp_path, metrics=["es"], editors=editors)
    metrics = load_metrics(["es"])
    scores = score_run(results, metrics, "mean")

    def pairs(against: str | None = None) -> set[tuple[str, str]]:
        (table,) = compare(results, scores, metrics, tests=True, against=against)
        return {(test.first, test.second) for family in table.families for test in family.pairs}

    raw = {("push", "weak"), ("push", "none"), ("weak", "none")}
    assert pairs() == raw | {(f"{first} [chat]", f"{second} [chat]") for first, second in raw}
    assert ("push", "push [chat]") in pairs("push") and ("push", "none") in pairs("push")


def test_the_summary_is_of_raw_prompts_alone(tmp_path: Path) -> None:
    chat_run(tmp_path, metrics=["es", "s_es", "s_es_gen_question"])
    (part,), _ = make_sections([load_run(tmp_path)], None, None)
    text = {"ended": "length", "text": "Step 1: Go", "unfinished": True}
    shown = opening(part, [{"answers": [{"method": name, **text} for name in ("push", "push [chat]")]}])
    sentences = " ".join([shown["edited"], *(text for _, text in shown["findings"])])
    assert "Against S-ES" in sentences and "[chat]" not in sentences
    assert "1 of 1 script (100 %) were cut off" in sentences, "both rows have one text"


@pytest.mark.usefixtures("no_pictures")
def test_the_report_says_which_figure_is_in_which_form(tmp_path: Path) -> None:
    _, _, results = chat_run(tmp_path, metrics=["es", "s_es_gen_question", "script_format"])
    metrics = load_metrics(["es", "s_es_gen_question", "script_format"], generation_of(results))
    scores = score_run(results, metrics, "mean")
    (table,) = compare(results, scores, metrics)
    shown = chat_table(table, metrics, scores, results)
    assert {row[0] for row in shown.rows} == {"ES"}, "scripts are written in the chat template in both rows"
    assert shown.caption.endswith("Asked in the chat format in all rows: S-ES-gen (question), Format.")
    assert "computed on raw prompts. " in shown.caption
    rows = tuple(row._replace(params={**row.params, "edit_format": "chat"}) for row in table.rows)
    caption = chat_table(table._replace(rows=rows), metrics, scores, results).caption
    assert "computed on raw prompts, those of none, push in the chat format." in caption


@pytest.mark.parametrize(
    ("more", "rows"),
    [
        ({"metrics": ["es"], "regime": {"name": "batch", "size": [1, 3]}}, ["push (batch of 1)", "push (batch of 3)"]),
        ({"metrics": ["s_es_gen_question"], "generation": {"chat": "never"}}, ["none", "push"]),
    ],
    ids=["every size of a batch", "scripts of a run without the template"],
)
def test_what_has_both_forms(tmp_path: Path, more: dict[str, Any], rows: list[str]) -> None:
    _, _, results = chat_run(tmp_path, **more)
    metrics = load_metrics(more["metrics"], generation_of(results))
    scores = score_run(results, metrics, "mean")
    (table,) = compare(results, scores, metrics)
    assert [row[1] for row in chat_table(table, metrics, scores, results).rows] == rows


def test_a_model_without_a_template_has_no_such_rows(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    outcomes, _, _ = chat_run(tmp_path, has_chat=False)
    assert list(outcomes) == ["none", "push"]
    assert "arithmetic has no chat template: the rows [chat] are left out" in caplog.text


def test_no_row_repeats_what_is_asked_in_the_template_anyway(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    outcomes, _, _ = chat_run(tmp_path, metrics=["s_es_gen_question", "script_format"])
    assert list(outcomes) == ["none", "push"]
    assert "all metrics ask in chat format in any row: the rows [chat] are left out" in caplog.text


def test_texts_are_asked_for_with_an_instruction_to_go_on() -> None:
    text = GenerateProbe(purpose="script_continued", item="i", prompt="Step 1: Go to")
    asked = ChatFormat().probe(text)
    assert asked.chat == "always" and asked.instruction.startswith("The text below is a script that was cut off")
    question = text.model_copy(update={"purpose": "script_question", "chat": "auto", "instruction": "Write steps."})
    assert ChatFormat().probe(question) == question, "it is in the template already"
