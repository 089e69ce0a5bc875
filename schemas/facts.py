"""Facts, the entities in them, where they come from, and facts that an edit must leave alone."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import model_validator

from schemas.core.errors import UserError
from schemas.core.plain_text import plain_text
from schemas.core.records import Frozen, Key, Language, PromptText, Record, Text


class Entity(Frozen):
    """A subject or an object: its text, the other names it goes by, its Wikidata id where that is known.

    Example:
        >>> Entity(text="United States", aliases=("USA", "America")).names
        ('United States', 'USA', 'America')
    """

    text: Text
    aliases: tuple[Text, ...] = ()
    wikidata: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The text, then the aliases."""
        return (self.text, *self.aliases)

    @property
    def compared_names(self) -> set[str]:
        """What two mentions of the same entity share: its names without case and punctuation, and its Wikidata id.

        Example:
            >>> sorted(Entity(text="São Paulo", aliases=("Sampa",), wikidata="Q174").compared_names)
            ['Q174', 'sampa', 'sao paulo']
        """
        return {plain_text(name) for name in self.names} | ({self.wikidata} if self.wikidata else set())


class Object(Entity):
    """The object of a fact; ``datatype`` is other than ``entity`` for literals such as dates and quantities."""

    datatype: str = "entity"


class Relation(Frozen):
    """A relation: Wikidata property id where there is one (else a name), and a label."""

    id: Key
    label: str = ""


class Source(Frozen):
    """Where a record comes from and what may be done with it."""

    name: Text
    licence: Text
    url: str | None = None
    item: str | None = None
    date: str | None = None


class Fact(Record):
    """(subject, relation, old object), and the new object where the fact is to be edited.

    Attributes:
        prompt: Fact prompt with exactly one ``{}`` for the subject; the object follows after one space.
        paraphrases: Other fact prompts, filled in; the object follows.
        neighbour_prompts: Plain prompts of other subjects that have the same old object, where the source gives them.
        change: ``counterfactual``, ``temporal`` (both objects true in their time) or ``none`` (not to be edited).
        language: Language of prompt and paraphrases.
        changed_on: ISO date of a temporal change, as exact as it is known ("2021", "2021-12", "2021-12-08").
    """

    kind: ClassVar[str] = "fact"
    subject: Entity
    relation: Relation
    prompt: PromptText
    old: Object
    new: Object | None = None
    paraphrases: tuple[Text, ...] = ()
    neighbour_prompts: tuple[Text, ...] = ()
    change: Literal["counterfactual", "temporal", "none"] = "counterfactual"
    changed_on: str | None = None
    language: Language = "en"
    source: Source

    @model_validator(mode="after")
    def _objects(self) -> Fact:
        if self.new is not None and self.new.text.casefold() == self.old.text.casefold():
            raise ValueError(f"old and new object are equal ({self.old.text!r}): nothing would be edited")
        if (self.new is None) != (self.change == "none"):
            raise ValueError("a fact has a new object exactly when its change is counterfactual or temporal")
        return self

    @property
    def fact_prompt(self) -> str:
        """The prompt with the subject filled in."""
        return self.prompt.replace("{}", self.subject.text)

    @property
    def new_object(self) -> Object:
        """The object that an edit is to make true.

        Raises:
            UserError: the fact has no new object.
        """
        if self.new is None:
            raise UserError("the fact has no new object: there is nothing to edit", where=self.key)
        return self.new


class Neighbour(Record):
    """A link: editing ``edit`` must not move ``fact``.

    Attributes:
        edit: Key of the edited fact.
        fact: Key of the neighbour fact.
        how: ``same_object`` (same relation and old object: S-NS, Eq. 3) or ``near_subject`` (another object: S-BO,
            Eq. 4).
        distance: For near subjects, the distance that chose it (unit stated by ``measure``), else None.
    """

    kind: ClassVar[str] = "neighbour"
    edit: Key
    fact: Key
    how: Literal["same_object", "near_subject"]
    distance: float | None = None
    measure: str | None = None
