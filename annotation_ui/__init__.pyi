# Types of the public names, which __init__.py imports when they are first used (tests/schemas/core/test_lazy.py).
from annotation_ui.agreement.report import agreement_report as agreement_report
from annotation_ui.ratings.database import RatingsDB as RatingsDB
from annotation_ui.tasks.base import RatingTask as RatingTask
from annotation_ui.tasks.base import TaskItem as TaskItem
from annotation_ui.tasks.forms import Answers as Answers
from annotation_ui.tasks.forms import Field as Field
from annotation_ui.tasks.forms import FieldOption as FieldOption
from annotation_ui.tasks.forms import Form as Form
from annotation_ui.tasks.forms import ShownText as ShownText

__all__ = [
    "Answers",
    "Field",
    "FieldOption",
    "Form",
    "RatingTask",
    "RatingsDB",
    "ShownText",
    "TaskItem",
    "agreement_report",
]
