"""What people say: filtering and rating tasks, campaigns, agreement."""

from schemas.core.lazy import lazy_names

_PUBLIC = {
    "Answers": "annotation_ui.tasks.forms:Answers",
    "Choice": "annotation_ui.tasks.forms:Choice",
    "Field": "annotation_ui.tasks.forms:Field",
    "Form": "annotation_ui.tasks.forms:Form",
    "Item": "annotation_ui.tasks.base:Item",
    "RatingsDB": "annotation_ui.ratings.database:RatingsDB",
    "Shown": "annotation_ui.tasks.forms:Shown",
    "Task": "annotation_ui.tasks.base:Task",
    "agreement_report": "annotation_ui.agreement.report:report",
    "verdicts": "annotation_ui.tasks.base:verdicts",
}
__all__ = list(_PUBLIC)
__getattr__, __dir__ = lazy_names(__name__, _PUBLIC)
