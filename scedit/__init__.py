"""The toolkit from Python: read facts, build a split, edit a model, evaluate methods.

    facts = scedit.read(frame)
    split = scedit.construct(facts, "gpt-4o").freeze("mine")
    run = scedit.evaluate("Qwen/Qwen2.5-1.5B-Instruct", split, ["rome", "ft"])
    run.summary()

Each function does what the command of its name does, with the same records, journals and digests.
"""

from scedit.hidden import refuse_hidden

refuse_hidden()  # before anything of ours is imported

from scedit.building import Build, construct, estimate, load_split
from scedit.editing import ModelEdit, edit
from scedit.evaluating import Evaluation, evaluate, load_run
from scedit.facts import Facts, read
from schemas.core.errors import UserError

__all__ = [
    "Build",
    "Evaluation",
    "Facts",
    "ModelEdit",
    "UserError",
    "construct",
    "edit",
    "estimate",
    "evaluate",
    "load_run",
    "load_split",
    "read",
]
