"""Two methods that change weights: a rank-one change in closed form, and a change that is trained."""

import torch
from torch.func import functional_call
from torch.nn.functional import cross_entropy

from evaluation import DenseDelta, Editor, LowRankDelta, WeightEdit
from schemas import Options


class RankOne(Editor):
    """Where a layer reads the last token of the fact prompt, it adds the new object's direction of the output head."""

    name, version, about = "rank_one", 1, "a rank-one change towards the new object"
    costs = "one pass a fact"

    class Params(Options):
        """Which layer, and how much is added (the model's hidden states have norms of some hundreds there)."""

        layer: int = 20
        scale: float = 400.0

    def edit(self, requests):
        """One change for each fact, together one edit."""
        lm, layer, deltas = self.lm, self.params.layer, []
        for fact in requests:
            encoded, seen = lm.encode(fact.fact_prompt, fact.new_object.text), []
            with lm.projection(layer).register_forward_pre_hook(lambda _, inputs, seen=seen: seen.append(inputs[0])):
                lm.model(torch.tensor([encoded.ids[: encoded.first]], device=lm.device))
            key = seen[0][0, -1].detach()  # [in]: what the map reads at the last token
            towards = lm.model.get_output_embeddings().weight[encoded.target[0]]
            left = self.params.scale * towards / towards.norm()  # [out]: what it is to add there
            weight = lm.layout.projection(layer) + ".weight"
            deltas.append(LowRankDelta(weight, left[:, None].float(), (key / key.norm() ** 2)[:, None].float()))
        return WeightEdit(tuple(deltas))


class Trained(Editor):
    """A few steps of Adam on one weight matrix; the model itself stays as it is."""

    name, version, about = "trained", 1, "one weight matrix, trained on the fact prompts"
    costs = "some steps of training"

    class Params(Options):
        """Which layer, and how it is trained."""

        layer: int = 20
        steps: int = 10
        rate: float = 1e-3

    def edit(self, requests):
        """One change that makes all facts more probable."""
        lm, name = self.lm, self.lm.layout.projection(self.params.layer) + ".weight"
        weight = lm.model.get_parameter(name)
        change = torch.zeros_like(weight, requires_grad=True)  # as the model stores it: [in, out] in GPT-2's Conv1D
        adam = torch.optim.Adam([change], lr=self.params.rate)
        prompts = [lm.encode(fact.fact_prompt, fact.new_object.text) for fact in requests]
        for _ in range(self.params.steps):
            with torch.enable_grad():
                loss = torch.zeros((), device=lm.device)
                for prompt in prompts:
                    ids = torch.tensor([prompt.ids], device=lm.device)
                    logits = functional_call(lm.model, {name: weight + change}, (ids,)).logits[0]
                    loss = loss + cross_entropy(logits[prompt.first - 1 : -1], ids[0, prompt.first :])
            adam.zero_grad()
            loss.backward()
            adam.step()
        linear = isinstance(lm.projection(self.params.layer), torch.nn.Linear)
        value = change.detach().float() if linear else change.detach().float().T  # [out, in]
        return WeightEdit((DenseDelta(name, value),), notes={"loss": loss.item()})
