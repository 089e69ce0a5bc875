"""Prompt files: the wording of every model call, one TOML file a prompt, each with a name and a version.

A file ``TASK.PROFILE.toml`` holds the wording of one task for one kind of model: ``paper`` for capable models,
``embedded`` for the small model that comes with the ``local`` extra. A placeholder such as ``{subject}`` is filled
once, in one pass, so braces inside a fact stay as they are.

A changed wording gets a higher version, which is part of what is asked for: its replies are other ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, Field, field_validator, model_validator

from construction.llm.prompt_text import fill, refuse_unknown_places, require_places
from construction.llm.step import Message, Request
from curation.files.local_models import LOCAL_LABEL
from curation.files.model_packages import EMBEDDED_LABEL
from schemas.core.config import Options, read_toml, validate
from schemas.core.errors import UserError
from schemas.core.ids import content_id, seed
from schemas.core.registry import suggest
from schemas.lineage import SMOKE_TEST

SMALL_MODELS = frozenset({EMBEDDED_LABEL, LOCAL_LABEL})
"""Models that we know to be small, as records name them."""
SMALL_PROFILES = frozenset({"embedded", "local"})
"""Profiles of prompts that a small model needs: a task for each question, a fixed form for each script."""


MOST_ATTEMPTS = 50
NO_SAMPLING = ("model", "messages", "response_format", "stream", "n")
"""Parts of a request that no prompt file may set: what is asked of whom, and what is paid for, would be another."""
SAMPLES = 1000  # samples of one version: a raised version asks anew, and what version 1 asked keeps its journal keys


class FewShotExample(Options):
    """A few-shot example: what we ask, what a good reply is."""

    user: str
    assistant: str


class PromptFile(Options):
    """What every prompt file holds; the writers, the verifier and the judge each add their own fields.

    Attributes:
        name: Name of the prompt, as lineage and ratings give it.
        version: A changed wording gets a higher one.
        seeded: Send a seed drawn from the item, so that the same machine gives the same reply.
        quality: What to call the output, where model and profile do not say (``quality_of``).
        parameters: Sampling parameters as the endpoint takes them.
        system: The system turn.
        user: The user's turn, with placeholders.
        examples: Turns shown between the two.
    """

    name: str
    version: int = Field(ge=1)
    seeded: bool = False
    quality: str | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    system: str
    user: str
    examples: tuple[FewShotExample, ...] = ()

    @field_validator("parameters")
    @classmethod
    def _only_sampling(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        if other := [name for name in NO_SAMPLING if name in parameters]:
            raise ValueError(f"'{other[0]}' is no sampling parameter")
        return parameters

    @property
    def label(self) -> str:
        """``name@version``."""
        return f"{self.name}@{self.version}"

    @property
    def digest(self) -> str:
        """Hash of everything in the file."""
        return content_id("wording", self.model_dump(mode="json"))

    def chat(self, values: Mapping[str, str], *, user: str | None = None) -> list[Message]:
        """The chat: system, examples, then the filled-in question.

        Args:
            values: Text for each placeholder.
            user: Another user's turn than ``self.user``.
        """
        turns = [Message(role="system", content=fill(self.system, values).strip())]
        for example in self.examples:
            turns += [
                Message(role="user", content=example.user.strip()),
                Message(role="assistant", content=example.assistant.strip()),
            ]
        return [*turns, Message(role="user", content=fill(user or self.user, values).strip())]

    def sampling(self, *names: str) -> dict[str, Any]:
        """The sampling parameters; where the file asks for a seed, it is drawn from the label and these names."""
        parameters = dict(self.parameters)
        if self.seeded:
            parameters["seed"] = seed(self.label, *names) % 2**31
        return parameters


class ProfilePrompt(PromptFile):
    """A prompt file of a writer, made for one task and one kind of model.

    Attributes:
        fills: Placeholders that are filled, by task; all of them have to stand in the file, unless a class says other.
        task: What is asked.
        profile: Kind of model it is written for.
        attempts: Samples taken at most, until one passes the checks; rejected ones are kept with their verdicts.
    """

    fills: ClassVar[Mapping[str, frozenset[str]]]
    task: str
    profile: str = "paper"
    attempts: int = Field(default=1, ge=1, le=MOST_ATTEMPTS)

    @model_validator(mode="after")
    def _placeholders(self) -> ProfilePrompt:
        refuse_unknown_places({"system": self.system, "user": self.user}, self.fills[self.task])
        require_places("user or system", f"{self.user}\n{self.system}", self.fills[self.task])
        return self

    def quality_of(self, model: str) -> str | None:
        """The quality that lineage states of a text that a model writes with this prompt; None where none is.

        A small model writes a smoke test whatever it is asked with, and so does any model that is asked with prompts
        for small ones; of all else, a prompt of the user's own may name a quality.
        """
        return SMOKE_TEST if model in SMALL_MODELS or self.profile in SMALL_PROFILES else self.quality


P = TypeVar("P", bound=PromptFile)


class PromptFolder(Generic[P]):
    """A folder of shipped prompt files, ``TASK.PROFILE.toml``.

    Args:
        model: Type of the files.
        package: Package that ships them.
        folder: Name of the folder in it.
        tasks: Tasks that a profile has a file for, each and every one.
        reader: Who uses the prompts, for messages ("the judge").
        shared: Those of them that all profiles have the wording ``paper`` for.
        fix: How to come by a copy of ours, for messages.
    """

    def __init__(
        self,
        model: type[P],
        *,
        package: str,
        folder: str,
        tasks: Sequence[str],
        reader: str,
        shared: Sequence[str] = (),
        fix: str = "",
    ) -> None:
        self._model, self._package, self._folder = model, package, folder
        self.tasks, self._reader, self.shared, self._fix = tuple(tasks), reader, tuple(shared), fix

    def path(self) -> Path:
        """The folder."""
        return Path(str(files(self._package).joinpath(self._folder)))

    def profiles(self) -> list[str]:
        """Profiles that have a prompt for every task; sorted."""
        names = {path.name for path in self.path().glob("*.toml")}
        known = {name.split(".")[1] for name in names}
        own = [task for task in self.tasks if task not in self.shared]
        return sorted(p for p in known if all(f"{task}.{p}.toml" in names for task in own))

    def file(self, task: str, profile: str) -> Path:
        """The file of a task in a profile.

        Raises:
            UserError: no such profile.
        """
        known = self.profiles()
        if profile not in known:
            near = suggest(profile, known)
            fix = f"did you mean '{near}'?" if near else None
            raise UserError(f"{self._reader} has no profile '{profile}'", allowed=", ".join(known), fix=fix)
        return self.path() / f"{task}.{'paper' if task in self.shared else profile}.toml"

    def load(self, task: str, profile: str) -> P:
        """The prompt of a task in a profile.

        Raises:
            UserError: no such profile, or a broken file.
        """
        return read_prompt(self._model, self.file(task, profile))

    def load_all(self, profile: str, folder: Path | None = None) -> dict[str, P]:
        """The prompt of every task in a profile, replaced by what a folder of the user's own holds: ``TASK.toml``.

        Raises:
            UserError: no such profile or folder, or a broken file.
        """
        custom = {} if folder is None else self.custom(folder)
        return {task: custom[task][0] if task in custom else self.load(task, profile) for task in self.tasks}

    def shipped(self, task: str) -> list[P]:
        """Our prompts of a task, of all profiles."""
        return [self.load(task, profile) for profile in self.profiles()]

    def custom(self, folder: Path) -> dict[str, tuple[P, Path]]:
        """The user's own prompts in a folder by task, each with its file.

        A file is ``TASK.toml``, or ``TASK.NAME.toml`` where there is only one such.

        Raises:
            UserError: no such folder, no prompt in it, two for one task, a broken one, or one that passes for ours.
        """
        fix = self._fix or f"begin with copies of the files in {self.path()}"
        if not folder.is_dir():
            raise UserError("there is no such folder of prompts", where=str(folder), fix=fix)
        prompts: dict[str, tuple[P, Path]] = {}
        for task in self.tasks:
            paths = sorted(p for p in folder.glob(f"{task}*.toml") if p.name.split(".")[0] == task)
            if len(paths) > 1:
                names = " and ".join(p.name for p in paths)
                raise UserError(
                    f"two {task} prompts, {names}", where=str(folder), fix="leave one of them in the folder"
                )
            if paths:
                prompts[task] = (self._load_custom(paths[0], task), paths[0])
        if not prompts:
            allowed = ", ".join(f"{task}.toml" for task in self.tasks)
            raise UserError("the folder holds no prompt", where=str(folder), allowed=allowed, fix=fix)
        return prompts

    def unused(self, folder: Path) -> list[str]:
        """Names of files in a folder of the user's own that look like prompts and are none of these; sorted."""
        names = sorted(path.name for path in folder.glob("*.toml"))
        return [name for name in names if name.split(".")[0] not in self.tasks]

    def _load_custom(self, path: Path, task: str) -> P:
        data = {"task": task, **read_toml(path)}
        if data["task"] != task:
            raise UserError(f"task = '{data['task']}' in a file called '{path.name}'", where=str(path), allowed=task)
        prompt = validate(self._model, data, where=str(path))
        ours = self.shipped(task)
        alike = [one for one in ours if one.name == prompt.name and one.version <= prompt.version]
        if alike and prompt.digest not in {one.digest for one in ours}:  # an earlier version of ours is ours
            raise UserError(
                f"name = '{prompt.name}' is that of our own prompt, and this one differs from it",
                where=str(path),
                fix="give it another name, so that the lineage tells them apart",
            )
        return prompt


def read_prompt(model: type[P], path: Path) -> P:
    """A prompt file.

    Raises:
        UserError: the file is missing, broken, or no prompt of this type.
    """
    return validate(model, read_toml(path), where=str(path))


R = TypeVar("R")
W = TypeVar("W")


class PromptStep(Generic[R, W, P]):
    """What to ask of an item, in the words of a prompt file, and what the reply means; its methods are pure.

    A check done by a model is a step with ``W = Verdict``, the judge is one with ``W = Rating``.

    Args:
        wording: The prompt file.

    Attributes:
        reply: Type of the reply; the endpoint is given its JSON schema.
    """

    reply: type[BaseModel]

    def __init__(self, wording: P) -> None:
        self.wording, self.version = wording, wording.version

    @property
    def label(self) -> str:
        """``name@version``, as lineage keeps it."""
        return self.wording.label

    def prompt(self, item: R) -> Sequence[Message]:
        """The messages that ask about an item."""
        raise NotImplementedError

    def parse(self, item: R, reply: BaseModel) -> list[W]:
        """What the reply says of the item."""
        raise NotImplementedError

    def request(self, item: R, *, parameters: dict[str, Any], sample: int = 0) -> Request:
        """The whole request for an item."""
        return Request(tuple(self.prompt(item)), self.reply, parameters, sample, usual=partial(self.usual, item))

    def usual(self, item: R) -> BaseModel | None:
        """A reply as a good model gives it, for estimates; None where nobody estimates this step."""
        return None

    def sample(self, item: R, *names: str, attempt: int) -> Request:
        """The request for one attempt at an item, seeded from the item's names where the wording asks for it.

        The sample number holds the prompt's version, so the same words under a higher version are asked again.
        """
        parameters = self.wording.sampling(*names, str(attempt))
        return self.request(item, parameters=parameters, sample=SAMPLES * (self.version - 1) + attempt)
