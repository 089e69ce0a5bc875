"""MULFE's specificity questions (Apache-2.0): one file a base model, which is one set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from curation.loaders.base import LoadResult, LocatedRecord, Problem, Row
from curation.loaders.fields import text_of
from curation.loaders.reading import rows
from curation.loaders.sources import MULFE_SPECIFICITY
from schemas.core.config import explain
from schemas.core.ids import canonical_json, digest
from schemas.documents.specificity import SpecificityQuestion, SpecificitySet


class SpecificityLoader:
    """A file of questions as one ``SpecificitySet``; the model is that of the file's name.

    Two sets of one model (the published random 400 and the 400 of lowest perplexity have files of one name) have
    different keys, made of their content. Which prompts and which weights they were chosen with is not published.
    """

    format = "mulfe-specificity"

    def __call__(self, path: Path, named: Path | None = None) -> LoadResult:
        """The set, and what cannot be read; ``named`` as for ``stream``."""
        items = list(self.stream(path, named))
        problems = tuple(item for item in items if isinstance(item, Problem))
        located = [item for item in items if isinstance(item, LocatedRecord)]
        sets = tuple(item.record for item in located if isinstance(item.record, SpecificitySet))
        return LoadResult((), problems, self.format, places={i.record.key: i.where for i in located}, sets=sets)

    def stream(self, path: Path, named: Path | None = None) -> Iterator[LocatedRecord | Problem]:
        """The set, after all problems.

        Args:
            path: The file.
            named: Another file's name, which says the model.
        """
        questions: list[SpecificityQuestion] = []
        names: set[str] = set()
        for row in rows(path):
            read = row if isinstance(row, Problem) else _question(row)
            if isinstance(read, Problem):
                yield read
            elif read.item in names:
                assert isinstance(row, Row)
                yield row.problem("duplicate", f"the question '{read.item}' is there twice")
            else:
                names.add(read.item)
                questions.append(read)
        if not questions:
            return
        model = model_of(named or path)
        content = digest(canonical_json(question.model_dump(mode="json")) for question in questions)[:10]
        key = f"specificity/{model}/{content}"
        questions_set = SpecificitySet(
            key=key, model=model, questions=tuple(questions), source=MULFE_SPECIFICITY.source()
        )
        yield LocatedRecord(str(path), questions_set, main=True)


def model_of(path: Path) -> str:
    """The model that a published file is about: the first underscore of its name stands for a slash.

    Example:
        >>> model_of(Path("EleutherAI_gpt-j-6B.json")), model_of(Path("gpt2-xl.json"))
        ('EleutherAI/gpt-j-6B', 'gpt2-xl')
    """
    return path.stem.replace("_", "/", 1)


def file_name(model: str) -> str:
    """The published file's name of a model's set."""
    return f"{model.replace('/', '_', 1)}.json"


def _question(row: Row) -> SpecificityQuestion | Problem:
    try:
        data: dict[str, Any] = row.data
        measured = data.get("metrics") or {}
        return SpecificityQuestion(
            item=text_of(data, "id"),
            query=text_of(data, "query"),
            answer=text_of(data, "answer"),
            nll=measured.get("nll"),
            ppl=measured.get("ppl"),
        )
    except ValidationError as error:
        return row.problem("invalid", explain(error))
    except KeyError as error:
        return row.problem("malformed", f"the field '{error.args[0]}' is missing")
    except (ValueError, TypeError, AttributeError) as error:
        return row.problem("malformed", str(error))


load_specificity = SpecificityLoader()
