"""Reads ``updates`` files: a JSON object a line, with the fields ``about``, ``says``, ``was`` and ``now``."""

from collections.abc import Iterator

from curation import FormatReader, Loader, Problem, Row
from schemas import Entity, Fact, Object, Record, Relation, Source


class Updates(FormatReader):
    """One fact a line; ``says`` holds the subject and ends before the object."""

    def make(self, row: Row) -> Iterator[Record | Problem]:
        """The fact of one line. A KeyError or ValueError becomes a problem with the line's number."""
        subject, sentence = row.data["about"], row.data["says"]
        if sentence.count(subject) != 1:
            raise ValueError(f"the subject {subject!r} must stand once in {sentence!r}")
        prompt = sentence.replace(subject, "{}")
        yield Fact(
            key=f"updates/{self.path.stem}/{row.number}",
            subject=Entity(text=subject),
            relation=Relation(id="updates"),
            prompt=prompt,
            old=Object(text=row.data["was"]),
            new=Object(text=row.data["now"]),
            source=Source(name=self.path.name, licence="not stated"),
        )


load_updates = Loader("updates", Updates)
