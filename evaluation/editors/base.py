"""What every editing method is: options, preparation, and an edit for given requests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import torch
from torch import nn
from typing_extensions import override

from evaluation.edits.edit import Edit
from evaluation.edits.weight_deltas import WeightDelta
from schemas.cases import EditRequest
from schemas.core.config import Options
from schemas.core.errors import UserError
from schemas.facts import Fact

if TYPE_CHECKING:
    from curation.case_sources.support import TrainingData
    from curation.files.artifact_cache import Cache
    from evaluation.models.language_model import LM

DIVERGENCE_RATIO = 1.0
"""An edit whose change has a larger norm than the weight itself is noted as diverged (``blow_up``)."""


class FactFormat(Options):
    """How fact prompts are read while an edit is computed from them.

    Attributes:
        edit_format: ``raw``, as published; ``chat``: in the chat template, as a user asks an instruct model for them.
    """

    edit_format: Literal["raw", "chat"] = "raw"


class Editor(ABC):
    """An editing method, set up for one model.

    Attributes:
        name: As in the table ``EDITORS``.
        version: Raised when the same options would give other edits.
        takes: Kinds of request it takes: ``fact``, ``event``, ``document``. A run of others is refused before the model
            is loaded.
        about: One line for lists.
        needs: What must be at hand beside the model.
        costs: What an edit costs, in words.
        alternatives: Options that exclude each other: one that is given takes the place of the preset's other one.
        learns_from: Types of cases that its support is made of: ``fact``, ``event``.
        trainable: Whether it has a ``train`` method, for ``scedit model train``.
        trains_without_model: Whether its training needs no language model; its ``lm`` is None then.
        edits_mlp: Whether it changes the MLP's output projection, which mixtures of experts have not.
        routes: Whether its edits are switched on prompt by prompt, so that no weights or adapter can hold them.

    Args:
        params: Its options.
        lm: The model to edit; left unchanged.
        cache: Where it keeps what is expensive to compute.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    takes: ClassVar[tuple[str, ...]] = ("fact",)
    about: ClassVar[str]
    needs: ClassVar[str] = "nothing"
    costs: ClassVar[str] = "no pass through the model"
    alternatives: ClassVar[tuple[tuple[str, ...], ...]] = ()
    learns_from: ClassVar[tuple[str, ...]] = ("fact",)
    trainable: ClassVar[bool] = False
    trains_without_model: ClassVar[bool] = False
    edits_mlp: ClassVar[bool] = False
    routes: ClassVar[bool] = False

    params: Any  # an instance of the class's own Params

    class Params(Options):
        """Options; a method without any refuses all.

        Before a model is loaded, layers that it does not have (fields ``layer`` or ``layers``) and missing files (a
        property ``files``) are refused.
        """

    def __init__(self, params: Params, lm: LM, cache: Cache) -> None:
        self.params, self.lm, self.cache = params, lm, cache

    @classmethod
    def wants_support(cls, options: Mapping[str, Any]) -> bool:
        """Whether edits with these options depend on the run's support; a run without one is then refused.

        ``prepare`` is given no support otherwise.
        """
        return False

    @classmethod
    def wants_split(cls, options: Mapping[str, Any]) -> bool:
        """Whether edits with these options depend on all edits of the split; ``read_split`` is then called first."""
        return False

    @classmethod
    def wants_statements(cls, options: Mapping[str, Any]) -> bool:
        """Whether edits of documents with these options read statements made of them (``simplify``) beside the text.

        Their requests are then ``StatedDocument``; a run that names no simplification is refused.
        """
        return False

    def read_split(self, requests: Sequence[EditRequest]) -> None:  # noqa: B027 - optional, not forgotten
        """Told all edits of the split, whichever of them the run takes, before any edit is made."""

    @classmethod
    def training_data(cls, options: Mapping[str, Any]) -> TrainingData | None:
        """What a file that the options name was trained on; a run whose split shares anything with it is refused."""
        return None

    @property
    def components(self) -> Mapping[str, str]:
        """What else its edits depend on, by name: digests of files that options only point to. Part of a run's id."""
        return {}

    @property
    def edited_layers(self) -> tuple[int, ...]:
        """The blocks that its options name, counted from 0; none where they name none. The model must have them."""
        return layers_of(self.params)

    @property
    def first_layer(self) -> int | None:
        """The lowest block that its edits change, where its options tell.

        Only a hint: what the unedited model computes below is then kept for scoring, where memory permits.
        """
        return min(self.edited_layers, default=None)

    @property
    def bytes_an_edit(self) -> int:
        """Bytes that one of its edits takes where the model computes, from its making until it is scored.

        Engines choose by it how many edits they make before those are scored. Here: a change of rank one a layer, with
        the copy that rows of a batch read; a method whose edits weigh more says so.
        """
        layout = self.lm.layout
        return 2 * 4 * (layout.width + layout.inner) * len(self.edited_layers)

    def facts_in(self, request: Any) -> int:
        """Facts that one request is to the method: engines make so many fewer edits together. Here: one.

        Args:
            request: Of a kind that the method takes.
        """
        return 1

    def prepare(self, support: Sequence[Any]) -> None:  # noqa: B027 - optional, not forgotten
        """Compute what all edits need: statistics, training, demonstrations. Optional; ``edit`` does it when needed.

        Args:
            support: Cases to learn from; never evaluated ones.
        """

    @abstractmethod
    def edit(self, requests: Sequence[Any]) -> Edit:
        """ONE edit that makes all requests true; they are of the kinds that the method takes."""

    def edit_after(self, requests: Sequence[Any], earlier: Sequence[Edit]) -> Edit:
        """``edit`` in a sequence, on a model that carries the edits ``earlier``, all made by this method.

        The model is that of the moment anyway; a method overrides this where its mathematics also asks what was edited.
        """
        return self.edit(requests)

    def edit_each(self, requests: Sequence[Any]) -> list[Edit]:
        """Independent edits, one a request; methods override it where many at once are faster."""
        return [self.edit([request]) for request in requests]

    def edit_groups(self, groups: Sequence[Sequence[Any]]) -> list[Edit]:
        """Independent edits, one a group of requests that it makes true together; none of the groups is empty.

        Equal to ``edit`` of each; methods override it where many at once are faster.
        """
        return [self.edit(group) for group in groups]


class GroupEditor(Editor):
    """A method that makes many independent edits together: it defines ``edit_groups``."""

    @abstractmethod
    def edit_groups(self, groups: Sequence[Sequence[Any]]) -> list[Edit]:
        """See ``Editor``."""

    @override
    def edit(self, requests: Sequence[Any]) -> Edit:
        return self.edit_groups([requests])[0]

    @override
    def edit_each(self, requests: Sequence[Any]) -> list[Edit]:
        return self.edit_groups([[request] for request in requests])


def layers_of(params: Any) -> tuple[int, ...]:
    """The blocks that options name as ``layer`` or ``layers``, counted from 0, in order; none where they name none."""
    named = getattr(params, "layers", getattr(params, "layer", None))
    if named is None:
        return ()
    return (named,) if isinstance(named, int) else tuple(sorted(set(named)))


def norm_notes(model: nn.Module, edits: Sequence[Sequence[WeightDelta]]) -> list[dict[str, Any]]:
    """``norm_ratio`` and ``blow_up`` of edits that change the same weights; fetched from the device together.

    Args:
        model: Holds the weights.
        edits: Changes of each edit.
    """
    if not edits:
        return []
    weights = [model.get_parameter(delta.weight).detach() for delta in edits[0]]
    home = edits[0][0].squared_norm().device
    sizes = torch.stack([weight.float().norm().to(home) for weight in weights])
    norms = torch.stack([delta.squared_norm().to(home) for deltas in edits for delta in deltas]).sqrt()
    ratios = (norms.view(len(edits), -1) / sizes).amax(1).tolist()
    return [{"norm_ratio": ratio, "blow_up": not ratio <= DIVERGENCE_RATIO} for ratio in ratios]


def by_size(groups: Sequence[Sequence[Any]], make: Callable[[list[list[Any]]], Sequence[Edit]]) -> list[Edit]:
    """Edits of groups in their order, made of all groups of one size together.

    Args:
        groups: Requests, those of an edit in a group.
        make: Makes edits of groups that are of one size.
    """
    edits: dict[int, Edit] = {}
    for size in sorted({len(group) for group in groups}):
        places = [n for n, group in enumerate(groups) if len(group) == size]
        edits.update(zip(places, make([list(check_requests(groups[n])) for n in places]), strict=True))
    return [edits[n] for n in range(len(groups))]


Request = TypeVar("Request", bound=EditRequest)


def check_requests(requests: Sequence[Request]) -> Sequence[Request]:
    """The requests; facts among them have a new object.

    Raises:
        UserError: there are none, or a fact is not to be edited.
    """
    if not requests:
        raise UserError("there is no edit to make")
    for request in requests:
        if isinstance(request, Fact):
            _ = request.new_object
    return requests
