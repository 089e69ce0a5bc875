"""The user's own prompts: a folder with ``questions.toml``, ``scripts.toml`` or both, in place of ours."""

from __future__ import annotations

from pathlib import Path

from construction.prompts.prompt_file import (
    TASKS,
    WriterPrompt,
    WriterPrompts,
    every_version,
    load_prompt,
    prompt_path,
    shipped,
)
from curation.files.atomic import write_text
from schemas.core.config import read_toml, validate
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
    if not folder.is_dir():
        raise UserError("there is no such folder of prompts", where=str(folder), fix=_HOW)
    prompts: dict[str, tuple[WriterPrompt, Path]] = {}
    for task in TASKS:
        paths = sorted(p for p in folder.glob(f"{task}*.toml") if p.name.split(".")[0] == task and "@" not in p.name)
        if len(paths) > 1:
            names = " and ".join(p.name for p in paths)
            raise UserError(f"two {task} prompts, {names}", where=str(folder), fix="leave one of them in the folder")
        if paths:
            prompts[task] = (_load(paths[0], task), paths[0])
    if not prompts:
        allowed = ", ".join(f"{task}.toml" for task in TASKS)
        raise UserError("the folder holds no prompt", where=str(folder), allowed=allowed, fix=_HOW)
    return prompts


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


def _load(path: Path, task: str) -> WriterPrompt:
    data = read_toml(path)
    if data.get("task", task) != task:
        raise UserError(f"task = '{data['task']}' in a file called '{path.name}'", where=str(path), allowed=task)
    prompt = validate(WriterPrompt, data, where=str(path))
    if not shipped(prompt) and prompt.name in {ours.name for ours in every_version(task)}:
        raise UserError(
            f"name = '{prompt.name}' is that of our own prompt, and this one differs from it",
            where=str(path),
            fix="give it another name, so that the lineage tells them apart",
        )
    return prompt
