from __future__ import annotations

import pytest

from evaluation.editors.hypernetwork.training_cases import document_text, document_training_cases, training_cases
from evaluation.editors.target_texts import TargetText
from evaluation.metrics.generation import DocumentChoice
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from tests.support.arithmetic import make_case
from tests.support.documents.records import document_case, make_document
from tests.support.editors.mend_doc import document_cases


def whole(lm: LM, text: TargetText) -> str:
    """Prompt and target as text."""
    return str(lm.tokenizer.decode([*text.ids, text.goals[-1]], skip_special_tokens=True))


def test_lessons_hold_what_follows_and_what_stays(tiny: LM) -> None:
    (lesson, _) = training_cases(tiny, [make_case("Land01"), make_case("Land02")])
    text = [whole(tiny, x) for x in lesson.paraphrases]
    assert text[0] == "The capital of Land01 is Oslo" and text[-1].endswith("(2)?\nStep 1: Fly to Oslo")
    texts = [tiny.tokenizer.decode(x.goals) for x in lesson.locality]
    assert len(lesson.paraphrases) == 5 and [k.strip() for k in texts] == ["Lima", "Lima"]
    with pytest.raises(UserError, match="1 case with a new object: too few"):
        training_cases(tiny, [make_case("Land01")])


def test_a_document_is_learnt_by_its_probes_and_apart_from_others(tiny: LM) -> None:
    cases = document_cases(4)
    found = document_training_cases(tiny, cases, DocumentChoice())
    decode = tiny.tokenizer.decode
    assert len(found) == 4
    for case, one in zip(cases, found, strict=True):
        assert whole(tiny, one.edit) == case.document.text and one.edit.end == 0
        texts = [whole(tiny, x) for x in one.paraphrases]
        assert texts[0].startswith("Directly answer the question.\n\nQuestion: Line") and len(texts) == len(case.probes)
        assert [decode(x.goals).strip() for x in one.paraphrases] == [p.answer for p in case.probes]
        assert len(one.locality) == 3 and not set(one.locality) & set(one.paraphrases)
        assert {x for x in one.locality} <= {x for other in found if other is not one for x in other.paraphrases}
    assert found == document_training_cases(tiny, cases, DocumentChoice()), "draws hang on keys alone"
    bare = document_training_cases(tiny, cases, DocumentChoice(instruction=""))
    assert whole(tiny, bare[0].paraphrases[0]).startswith("Question: ")


def test_questions_about_the_same_subject_need_not_stay(tiny: LM) -> None:
    """Documents of one name teach nothing about locality: what is said of it may well change."""
    cases = [case.model_copy(update={"document": case.document.model_copy(update={"entity": "Line"})}) for case in
             document_cases(3)]  # fmt: skip
    with pytest.raises(UserError, match="3 documents with probes that the model can read: too few.*different things"):
        document_training_cases(tiny, cases, DocumentChoice())


def test_what_cannot_be_read_is_left_out(tiny: LM) -> None:
    cases, long = document_cases(3), make_document(text="word " * 2999 + "word")
    cases[0] = document_case(document=long.model_copy(update={"key": "d/bridge"}))
    assert document_text(tiny, cases[0].document) is None or not tiny.limit
    assert document_text(tiny, make_document(text="a")) is None or len(tiny.token_ids("a")) > 1
    assert len(document_training_cases(tiny, cases, DocumentChoice())) == (2 if tiny.limit else 3)
    with pytest.raises(UserError, match="1 document with probes"):
        document_training_cases(tiny, cases[1:2], DocumentChoice())
