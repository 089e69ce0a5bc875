"""What people say: filtering and rating tasks, campaigns, agreement."""

from schemas.core.lazy import lazy_names

_PUBLIC = {
    "Answers": "annotation_ui.tasks.forms:Answers",
    "Field": "annotation_ui.tasks.forms:Field",
    "FieldOption": "annotation_ui.tasks.forms:FieldOption",
    "Form": "annotation_ui.tasks.forms:Form",
    "RatingTask": "annotation_ui.tasks.base:RatingTask",
    "RatingsDB": "annotation_ui.ratings.database:RatingsDB",
    "ShownText": "annotation_ui.tasks.forms:ShownText",
    "TaskItem": "annotation_ui.tasks.base:TaskItem",
    "agreement_report": "annotation_ui.agreement.report:agreement_report",
}
__all__ = list(_PUBLIC)
__getattr__, __dir__ = lazy_names(__name__, _PUBLIC)
