"""What methods share that keep their edits beside one layer: where the layer is, and requests as lines of tokens."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field
from torch import nn

from evaluation.editors.base import Editor, FactFormat
from schemas.core.errors import ModelError


class MemoryLayer(FactFormat):
    """Where the memory stands.

    Attributes:
        layer: The layer, from 0.
        site: Map of its MLP whose output is changed: ``mlp_out``, the output projection; ``mlp_in``, the map into the
            inner width, where there is one (GPT-2's ``c_fc``).
    """

    layer: int = Field(ge=0)
    site: Literal["mlp_out", "mlp_in"] = "mlp_out"


class LayerMemoryEditor(Editor):
    """Changes the output of one map of a layer for prompts in the scope of its edits."""

    edits_mlp: ClassVar[bool] = True
    routes: ClassVar[bool] = True

    params: Any

    @property
    def module_name(self) -> str:
        """Name of the map whose output is changed.

        Raises:
            ModelError: it is to be the map into the inner width, and the MLP has several.
        """
        layer, layout = self.params.layer, self.lm.layout
        if self.params.site == "mlp_out":
            return layout.projection(layer)
        if len(layout.mlp_in) != 1:
            raise ModelError(
                f"'{self.name}' is to stand at the map into the MLP's inner width, and this model has "
                f"{len(layout.mlp_in)} of them",
                where=self.lm.name,
                fix='set site = "mlp_out"',
            )
        return f"{layout.block(layer)}.{layout.mlp_in[0]}"

    @property
    def module(self) -> nn.Module:
        """That map."""
        return self.lm.module(self.module_name)
