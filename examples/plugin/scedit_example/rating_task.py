"""A rating task: would anybody ask this question?"""

from collections.abc import Iterator

from annotation_ui import Field, Form, RatingTask, ShownText, TaskItem
from curation import Store
from schemas import ScriptQuestion


class WouldAsk(RatingTask):
    """One yes/no question about every script question of a store."""

    about = "Judge whether people would ask a script question"
    form = Form(
        name="would_ask",
        version=1,  # raise it when people would answer otherwise
        title="Would anybody ask this?",
        intro="Read the question. Say whether somebody could ask it in daily life. A no needs a comment.",
        shows=(ShownText(name="question", title="Script question"),),
        fields=(
            Field(name="asked", kind="yes_no", asks="Could somebody ask this question in daily life?"),
            Field(name="comment", kind="text", asks="Comment", required=False),
        ),
        comment_on_no=True,
    )

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every script question, in order of keys."""
        for question in store.all(ScriptQuestion):
            yield TaskItem(id=question.id, case=question.fact, shown={"question": question.text})
