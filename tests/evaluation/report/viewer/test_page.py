"""The viewer's page: nothing lost on the way into it, small enough, safe to open, one split only."""

from __future__ import annotations

import base64
import gzip
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from curation.splits.split_file import make_split
from evaluation.analysis.written_texts import answer_entries
from evaluation.report.viewer.page import LARGEST, viewer_page
from evaluation.runs.results import Run
from schemas.answers import Answer
from schemas.core.errors import UserError
from tests.support.arithmetic import ArithmeticLM, make_case, make_cases
from tests.support.report.read_report import Reader
from tests.support.report.texts_run import ThinkingLM, finished

METRICS = ["es_gen", "s_es_gen", "s_es_gen_question"]


def data_of(page: str) -> dict[str, Any]:
    packed = re.search(r'id="data">([^<]*)<', page)
    assert packed is not None
    data: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed.group(1))))
    return data


def test_every_text_is_in_it(tmp_path: Path) -> None:
    run = finished(tmp_path, METRICS)
    data, entries = data_of(viewer_page([run])), answer_entries(run)
    rows = data["rows"]
    assert len(rows) == len(entries) and data["methods"] == ["none", "push"]
    for row, entry in zip(rows, entries, strict=True):
        _, case, place, asked, method, edited, text, ended, tokens, first, gap, ratings, thought = row
        shown = {"case": data["cases"][case][0], "place": data["places"][place], "asked": data["asked"][asked]}
        shown |= {"label": data["methods"][method], "edited": bool(edited), "text": data["texts"][text]}
        shown |= {"ended": ended, "tokens": tokens, "first": first}
        assert {name: entry[name] for name in shown} == shown and (gap, ratings, thought) == (None, [], [])


def test_thoughts_stand_beside_their_answers(tmp_path: Path) -> None:
    run = finished(tmp_path, METRICS, lm=ThinkingLM(), generation={"thought": {}})
    data, entries = data_of(viewer_page([run])), answer_entries(run)
    kinds = set()
    for row, entry in zip(data["rows"], entries, strict=True):
        if not entry["thought"]:
            assert row[12] == []
            continue
        text, last, unfinished = row[12]
        assert (data["texts"][text], bool(unfinished)) == (entry["thought"], entry["unfinished"])
        assert last == entry["reading"].last
        kinds.add((last, unfinished))
    assert kinds == {("old", 0), ("new", 1)}


class Hostile(ArithmeticLM):
    def _text(self, probe: Any, prompt: str) -> Answer:
        answer = super()._text(probe, prompt)
        assert answer.written is not None
        text = "</script><img src=x onerror=alert(1)>\u202e\x1b[2J <!--"
        return answer.model_copy(update={"written": answer.written.model_copy(update={"text": text})})


def test_what_models_write_is_text_and_nothing_is_loaded(tmp_path: Path) -> None:
    page = viewer_page([finished(tmp_path, METRICS, lm=Hostile())])
    reader = Reader()
    reader.feed(page)
    assert reader.stack == [] and not reader.loads and "onerror" not in page
    assert "default-src 'none'" in page and "http:" not in page and "https:" not in page
    (text,) = data_of(page)["texts"]
    assert text.startswith("</script>") and "\u202e" not in text and "\x1b" not in text, "read as text, written out"
    assert ".innerHTML" not in page and "eval(" not in page


def many(run: Run, methods: int, words: int) -> Run:
    """The run with so many methods, each with other texts of so many words."""
    draw = random.Random(1)
    vocabulary = ["".join(draw.choices("abcdefghijklmnoprstuvw", k=draw.randint(2, 9))) for _ in range(3000)]

    def other(answer: Answer) -> Answer:
        if answer.written is None:
            return answer
        text = " ".join(draw.choices(vocabulary, k=words))
        return answer.model_copy(update={"written": answer.written.model_copy(update={"text": text})})

    base, push = run.editors
    made = []
    for n in range(methods):
        results = {k: r.model_copy(update={"answers": tuple(map(other, r.answers))}) for k, r in push.results.items()}
        made.append(push._replace(label=f"method{n}", manifest=push.manifest, results=results))
    return run._replace(editors=(base, *made))


def test_58_cases_under_20_methods_stay_below_five_megabytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two scripts of 180 words a case (256 tokens and more), the rest of two steps and a fact: 116 kB a method."""
    monkeypatch.setattr("evaluation.report.viewer.page.merge_runs", list)
    run = many(finished(tmp_path, ["s_es_gen_question"], split=make_cases(40, 18)), 20, 180)
    assert len(run.cases) == 58 and len(run.editors) == 21
    page = viewer_page([run])
    assert len(data_of(page)["rows"]) == 58 * 21 * 2
    assert 500_000 < len(page.encode()) < LARGEST


def test_refusals_are_one_sentence(tmp_path: Path) -> None:
    run = finished(tmp_path / "a", METRICS)
    other = finished(tmp_path / "b", METRICS, split=make_split("other", [make_case("Peru")]))
    with pytest.raises(UserError, match="the runs are on different splits"):
        viewer_page([run, other])
    with pytest.raises(UserError, match="no text was written in these runs"):
        viewer_page([finished(tmp_path / "c", ["es"])])


def test_runs_of_two_models_keep_their_own_texts_before(tmp_path: Path) -> None:
    runs = [finished(tmp_path / n, METRICS, lm=ArithmeticLM(revision=n)) for n in ("1", "2")]
    data = data_of(viewer_page(runs))
    assert len(data["parts"]) == 2 and {row[0] for row in data["rows"]} == {0, 1}
