"""One rank's shards of the weights, gradients and moments.

FSDP2 (torch's `fully_shard`) gathers a layer's weights while the layer computes, and gives each
rank its shard of the summed gradient. Conversations are drawn with whole weights in the original
model, since gathering each layer for each token would be thousands of transfers per turn. See
docs/decisions/2026-11-26-sharded-weights.md.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor, Shard, distribute_tensor

from harness.config.run import AlgorithmConfig
from harness.policy import huggingface
from harness.train.objective.loss_batch import LossBatch, LossResult, LossSettings
from harness.train.objective.micro_batches import computes_again
from harness.train.ranks.links import Links
from harness.train.ranks.work import RankWork, rounded_to

MOMENTS = ("exp_avg", "exp_avg_sq")
"""Keys of a weight's moments in AdamW's state."""


class Shards:
    """A rank's shards. All ranks must call the methods that gather or scatter together."""

    def __init__(self, work: RankWork, links: Links) -> None:
        """Shard the learner's weights, which are the same on all ranks.

        The learner has no weights until `gather`. Raises RuntimeError.
        """
        self._work, self._learner = work, work.learner
        mesh, self._dtype = links.world(), rounded_to(work.config.policy, work.learner.device.type)
        self._judge = None if work.judge is None else ParkedModel(work.judge, mesh, self._dtype)
        self.model = sharded(work.learner, mesh)
        """The model that computes gradients; its parameters are shards."""
        self._parts = dict(self.model.named_parameters())
        self._linear = linear_weights(work.learner)
        self.optimiser: Any = None
        """The optimiser of the shards; on rank 0 it is TRL's."""
        self.is_whole = True
        """Whether the learner has all weights."""
        self.release()

    def make_optimiser(self) -> None:
        """Make the optimiser of a rank other than rank 0, with the settings of TRL's."""
        self.optimiser = adamw(self.model, self._work.config.algorithm)

    @torch.no_grad()
    def gather(self) -> None:
        """Give the learner and the judge all weights, one weight at a time.

        Weights of linear layers are rounded as forward passes round them.
        """
        parameters = dict(self._learner.named_parameters())
        for name, part in self._parts.items():
            dtype = self._dtype if name in self._linear else None
            parameters[name].data = gather_weight(part, dtype)
        if self._judge is not None:
            self._judge.gather()
        self.is_whole = True

    def release(self) -> None:
        """Free the learner's and the judge's weights."""
        empty_weights(self._learner)
        if self._judge is not None:
            self._judge.release()
        self.is_whole = False

    @torch.no_grad()
    def exact(self, keep: bool = False) -> dict[str, Tensor]:
        """Gather all weights unrounded, one by one, and return them on the CPU if `keep`."""
        weights = {}
        for name, part in self._parts.items():
            weight = part.full_tensor()
            if keep:
                weights[name] = weight.cpu()
        return weights

    @contextmanager
    def holding(self, weights: Mapping[str, Tensor]) -> Iterator[None]:
        """Return a context in which the learner has the given weights."""
        parameters = dict(self._learner.named_parameters())
        previous = {name: parameters[name].data for name in weights}
        try:
            for name, weight in weights.items():
                parameters[name].data = weight
            yield
        finally:
            for name, data in previous.items():
                parameters[name].data = data

    def cut(self, lengths: Sequence[int]) -> list[list[int]]:
        """Return the conversation numbers of each micro-batch; see `TokenLimit.cut`."""
        with self._work.precision():
            return self._work.limit.cut(self.model, lengths)

    def learn(
        self, batch: LossBatch, settings: LossSettings, cut: Sequence[list[int]]
    ) -> LossResult:
        """Compute this rank's shard of the gradient over all ranks' batches in the shards' `grad`.

        `cut`: this rank's micro-batches, as many as on other ranks; the last ones may be empty.
        Raises ShardedOutOfMemory.
        """
        self.model.train(computes_again(self.model))
        return self._work.learn_cut(self.model, batch, settings, cut)

    def square(self) -> float:
        """Return the sum of squares of this rank's shard of the gradient."""
        squares = [grad.to_local().double().square().sum() for grad in self._grads()]
        return float(torch.stack(squares).sum())

    @property
    def rate(self) -> float:
        """The learning rate of the next step."""
        return float(self.optimiser.param_groups[0]["lr"])

    def scale(self, factor: float) -> None:
        """Multiply this rank's shard of the gradient."""
        for grad in self._grads():
            grad.to_local().mul_(factor)

    def step(self, rate: float) -> None:
        """Step this rank's shard of the weights and free the gradient."""
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.step()
        self.forget()

    def forget(self) -> None:
        """Free the gradient."""
        self.model.zero_grad(set_to_none=True)

    def names(self) -> list[str]:
        """Return the parameters' names in the order of this rank's optimiser."""
        by_part = {id(part): name for name, part in self._parts.items()}
        groups = self.optimiser.param_groups
        return [by_part[id(part)] for group in groups for part in group["params"]]

    @torch.no_grad()
    def moments(self, names: Sequence[str], keep: bool = False) -> list[dict[str, Tensor]]:
        """Gather the moments of the parameters `names` and return them on the CPU if `keep`."""
        collected = []
        for name in names:
            state = self.optimiser.state[self._parts[name]]
            whole = {key: state[key].full_tensor() for key in MOMENTS}
            if keep:
                collected.append({key: tensor.cpu() for key, tensor in whole.items()})
        return collected

    @torch.no_grad()
    def parted(
        self, names: Sequence[str], moments: Sequence[Mapping[str, Tensor]] | None = None
    ) -> list[dict[str, Tensor]]:
        """Scatter rank 0's moments of the parameters `names` and return this rank's shards.

        `moments`: the moments on rank 0; None on other ranks.
        """

        def part(template: Any, tensor: Tensor) -> Any:
            on_device = tensor.to(template.to_local().device)
            return distribute_tensor(on_device, template.device_mesh, template.placements)

        parts = []
        for index, name in enumerate(names):
            template = self._parts[name]
            shape = torch.empty(template.shape)
            tensors = dict.fromkeys(MOMENTS, shape) if moments is None else moments[index]
            parts.append({key: part(template, tensors[key]) for key in MOMENTS})
        return parts

    def take_moments(self, names: Sequence[str], steps: Sequence[float]) -> None:
        """Load this rank's shards of rank 0's moments; `steps`: step count of each parameter."""
        moments = dict(zip(names, self.parted(names), strict=True))
        for name, count in zip(names, steps, strict=True):
            moments[name]["step"] = torch.tensor(count)
        state = dict(enumerate(moments[name] for name in self.names()))
        groups = self.optimiser.state_dict()["param_groups"]
        self.optimiser.load_state_dict({"state": state, "param_groups": groups})

    def _grads(self) -> list[Any]:
        return [part.grad for part in self._parts.values() if part.grad is not None]


class ParkedModel:
    """A frozen model that is sharded while it is not used."""

    def __init__(self, model: Any, mesh: Any, dtype: torch.dtype | None) -> None:
        """Shard a model that all ranks have; it has no weights until `gather`.

        `dtype`: the dtype that forward passes round linear weights to, and in which they are kept.
        """
        self._model, linear = model, linear_weights(model)
        self._parts: dict[str, Any] = {}
        for name, parameter in model.named_parameters():
            weight = parameter.data.to(dtype) if dtype and name in linear else parameter.data
            # each rank takes its shard of its own copy, without communication
            part = distribute_tensor(weight, mesh, [Shard(0)], src_data_rank=None)
            # clone: a view would keep the whole tensor in memory
            self._parts[name] = DTensor.from_local(
                part.to_local().clone(), mesh, part.placements, shape=part.shape,
                stride=part.stride(),
            )  # fmt: skip
        self.release()

    @torch.no_grad()
    def gather(self) -> None:
        """Give the model all weights."""
        for name, parameter in self._model.named_parameters():
            parameter.data = gather_weight(self._parts[name])

    def release(self) -> None:
        """Free the model's weights."""
        empty_weights(self._model)


def linear_weights(model: Any) -> frozenset[str]:
    """Return the parameters that forward passes in a lower precision round: the weights of linear
    layers except the head, whose logits are computed in float32.
    """
    head = model.get_output_embeddings()
    linear = [
        f"{name}.weight"
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and module is not head
    ]
    return frozenset(linear)


def gather_weight(part: Any, dtype: torch.dtype | None = None) -> Tensor:
    """Return a whole weight from all ranks' shards, rounded before the transfer if `dtype`."""
    weight: Tensor = (part if dtype is None else part.to(dtype)).full_tensor()
    return weight


def empty_weights(model: Any) -> None:
    """Replace a model's weights by a single nan, expanded to their shape."""
    for parameter in model.parameters():
        parameter.data = parameter.data.new_full((1,), math.nan).expand(parameter.shape)


def adamw(model: Any, config: AlgorithmConfig) -> torch.optim.AdamW:
    """Return an optimiser with the settings of `trl_adapter.arguments`."""
    return torch.optim.AdamW(
        model.parameters(),
        lr=config.learning_rate,
        betas=(config.adam_beta1, config.adam_beta2),
        eps=config.adam_epsilon,
        weight_decay=0.0,
        fused=True,
    )


def sharded(learner: Any, mesh: Any) -> Any:
    """Return a copy of the learner with sharded weights, without copying the weights."""
    memo = {id(p): torch.nn.Parameter(p.data, p.requires_grad) for p in learner.parameters()}
    model = copy.deepcopy(learner, memo)
    for block in huggingface.blocks(model):
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh, reshard_after_forward=False)
    for module in model.modules():
        if isinstance(module, FSDPModule):  # sum gradients over ranks, no mean
            module.set_gradient_divide_factor(1.0)
            module.set_force_sum_reduction_for_comms(True)
    decoder = model.get_decoder()
    model.decode = lambda **arguments: decoder(**arguments)  # gathers the head's weight too
    register_fsdp_forward_method(model, "decode")
    model.get_decoder = lambda: model.decode
    return model
