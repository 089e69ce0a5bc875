"""The user's own prompts: a folder with ``questions.toml``, ``scripts.toml`` or both, in place of ours."""

from __future__ import annotations

from pathlib import Path

from construction.prompts.prompt_file import FILES, TASKS, WriterPrompt, WriterPrompts, load_prompt, prompt_path
from curation.files.atomic import write_text
from schemas.core.errors import UserError

_HOW = "write a copy to change with: scedit prompts --profile paper --write DIR"


def load_prompts(profile: str, folder: Path | None = None) -> WriterPrompts:
    """The prompts of a construction: those of the profile, replaced by what the folder holds.

    Raises:
        UserError: no such profile or folder, or a file that is no prompt.
    """
    custom = {} if folder is None else custom_prompts(folder)
    return WriterPrompts(*(custom[task][0] if task in custom else load_prompt(task, profile) for task in TASKS))


def custom_prompts(folder: Path) -> dict[str, tuple[WriterPrompt, Path]]:
    """The prompts in a folder by task, each with its file.

    A file is ``questions.toml``, or ``questions.NAME.toml`` where there is only one such; likewise ``scripts``.

    Raises:
        UserError: no such folder, no prompt in it, two for one task, a broken one, or one that passes for ours.
    """
    return FILES.custom(folder, fix=_HOW)


def copy_prompts(profile: str, folder: Path) -> list[Path]:
    """Copy a profile's prompts into a folder, to be changed there; files that are there already are left alone.

    Raises:
        UserError: a file is in the way, or the folder cannot be written.
    """
    targets = {task: folder / f"{task}.toml" for task in TASKS}
    there = [str(p) for p in targets.values() if p.exists()]
    if there:
        raise UserError("the file is there already", where=there[0], fix="name another folder")
    for task, target in targets.items():
        write_text(target, prompt_path(task, profile).read_text(encoding="utf-8"), "the prompt")
    return list(targets.values())
