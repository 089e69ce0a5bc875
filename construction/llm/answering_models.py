"""Which model answers: some endpoints answer with another one than they were asked for."""

from __future__ import annotations

import logging

from construction.llm.reply_cache import StoredOutcome
from schemas.core.errors import ModelError

logger = logging.getLogger(__name__)


class AnsweringModels:
    """The models that answered for one that was asked, in cached replies and new ones; each is reported once.

    Args:
        asked: Name of the model that is asked.
        where: The endpoint, for errors.
        strict: A second one is an error instead of a warning.
    """

    def __init__(self, asked: str, *, where: str, strict: bool = False) -> None:
        self._asked, self._where, self._strict = asked, where, strict
        self._seen: list[str] = []

    def who_answered(self, outcome: StoredOutcome) -> str | None:
        """Who gave a reply, for the lineage; None where it is the model that was asked, or the endpoint names none.

        Raises:
            ModelError: it is a second model, and that is to be an error. The reply is stored.
        """
        name, another = outcome.answering_model, outcome.served != self._asked
        if name is None:
            return None
        if name not in self._seen:
            if self._seen:
                self._report_second(self._seen[-1], name)
            elif another:
                logger.warning("%s: %s is asked, and %s answers; lineage names both", self._where, self._asked, name)
            self._seen.append(name)
        return name if another or outcome.fingerprint else None

    def _report_second(self, before: str, name: str) -> None:
        text = f"{self._asked} is asked, and after {before} now {name} answers"
        if self._strict:
            fix = "ask for a model by its dated name with a journal of its own (--journal), or leave --strict out"
            raise ModelError(text, where=self._where, fix=fix)
        logger.warning("%s: %s; the lineage of each record names its own", self._where, text)
