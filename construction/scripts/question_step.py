"""Script questions: "How ..." questions whose scripts depend on a fact (ScEdit Appendix B.1, Figure 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Annotated, Any

from pydantic import BaseModel, StringConstraints, field_validator, model_validator
from typing_extensions import override

from construction.llm.prompt_file import PromptStep
from construction.llm.prompt_text import tidy
from construction.llm.step import Message, Request, StrictReply
from construction.prompts.prompt_file import WriterPrompt
from schemas.core.ids import content_id
from schemas.facts import Fact
from schemas.scripts import ScriptQuestion

LONGEST = 600  # characters; a longer "question" is no question
LIMITED = 10  # questions that a prompt's limit on the reply is meant for


@dataclass(frozen=True, kw_only=True)
class QuestionAsk:
    """One call for questions about a fact.

    Attributes:
        count: How many questions to ask for; 1 where the prompt takes one a call.
        index: Number of this call for the fact, from 0.
        edited: Whether the new object is shown; a fact that only serves as a neighbour is asked about as it is.
    """

    fact: Fact
    count: int = 4
    index: int = 0
    edited: bool = True


class ReasonedQuestions(StrictReply):
    """The reply of a capable model: a short thought, which leaves a strict schema room to think, then all questions."""

    why: str
    questions: list[str]

    @model_validator(mode="before")
    @classmethod
    def _drop_why(cls, data: Any) -> Any:  # a default in the schema is what strict endpoints refuse
        return {"why": "", **data} if isinstance(data, dict) else data

    @field_validator("questions")
    @classmethod
    def _check_not_empty(
        cls, questions: list[str]
    ) -> list[str]:  # not in the JSON schema, which not every endpoint takes whole
        if not any(tidy(q) for q in questions):
            raise ValueError("at least one question is needed")
        if any(len(q) > LONGEST for q in questions):
            raise ValueError(f"a question has at most {LONGEST} characters")
        return questions


class OneQuestion(StrictReply):
    """The reply of the embedded model: one short question."""

    question: Annotated[str, StringConstraints(min_length=8, max_length=110)]


_REPLIES: Mapping[str, type[BaseModel]] = {
    "why_list": ReasonedQuestions,
    "one": OneQuestion,
}


def relation_words(fact: Fact) -> str:
    """What a writer is told of the relation: its label, else its id; a label that is a prompt loses its gap.

    Example:
        >>> from schemas.facts import Entity, Fact, Object, Relation, Source
        >>> source = Source(name="example", licence="CC0-1.0")
        >>> relation = Relation(id="P103", label="The mother tongue of {} is")
        >>> subject, old = Entity(text="Ann"), Object(text="Welsh")
        >>> relation_words(Fact(key="f", subject=subject, relation=relation, prompt="{} speaks", old=old, change="none",
        ...                     source=source))
        'The mother tongue of ... is'
    """
    return (fact.relation.label or fact.relation.id).replace("{}", "...")


def question_key(fact: Fact, text: str) -> str:
    """Key of a question: its fact and its words, case and spacing aside."""
    return f"{fact.key}/q-{content_id('words', tidy(text).casefold())[:8]}"


class QuestionStep(PromptStep[QuestionAsk, ScriptQuestion, WriterPrompt]):
    """Asks for script questions.

    Args:
        prompt: The wording; its ``shape`` decides the reply: ``why_list`` for all questions, ``one`` for one a call.
    """

    def __init__(self, prompt: WriterPrompt) -> None:
        super().__init__(prompt)
        self.reply = _REPLIES[prompt.shape]

    def calls(self, fact: Fact, *, count: int, edited: bool) -> list[QuestionAsk]:
        """The calls that bring ``count`` questions about a fact."""
        if self.wording.shape != "one":
            return [QuestionAsk(fact=fact, count=count, edited=edited)]
        return [QuestionAsk(fact=fact, count=1, index=i, edited=edited) for i in range(count)]

    def sample(self, item: QuestionAsk, *names: str, attempt: int) -> Request:
        """As of every step; where many questions are asked for, the limit on the reply grows with them."""
        request = super().sample(item, *names, attempt=attempt)
        if self.wording.shape == "why_list" and item.count > LIMITED and "max_tokens" in request.parameters:
            token_limit = request.parameters["max_tokens"] * ceil(item.count / LIMITED)
            request = request._replace(parameters={**request.parameters, "max_tokens": token_limit})
        return request

    def prompt(self, item: QuestionAsk) -> list[Message]:
        """The messages for one call; the new object is in them only where the fact is edited."""
        fact = item.fact
        values = {
            "subject": fact.subject.text,
            "statement": fact.fact_prompt,
            "relation": relation_words(fact),
            "old": fact.old.text,
            "count": str(item.count),
            "situation": self.wording.situation(fact.relation.id, item.index),
        }
        edited = item.edited and fact.new is not None
        if fact.new is not None and edited:
            values["new"] = fact.new.text
        return self.wording.messages(values, edited=edited)

    @override
    def usual(self, item: QuestionAsk) -> BaseModel:
        named = item.fact.subject.text
        first = item.index + 2
        texts = [f"How can a group of {n} plan a day with {named}?" for n in range(first, first + item.count)]
        if self.reply is OneQuestion:
            return OneQuestion.model_construct(question=texts[0])
        return self.reply.model_construct(why="people travel there", questions=texts)

    def parse(self, item: QuestionAsk, reply: BaseModel) -> list[ScriptQuestion]:
        """The questions, each once, at most as many as asked for."""
        assert isinstance(reply, ReasonedQuestions | OneQuestion)
        texts = reply.questions if isinstance(reply, ReasonedQuestions) else [reply.question]
        questions: dict[str, ScriptQuestion] = {}
        for text in map(tidy, texts):
            if text:
                key = question_key(item.fact, text)
                questions.setdefault(
                    key, ScriptQuestion(key=key, fact=item.fact.key, language=item.fact.language, text=text)
                )
        return list(questions.values())[: item.count]
