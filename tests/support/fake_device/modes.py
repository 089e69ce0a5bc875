"""The two modes of PyTorch that pretend: one answers for devices and moves, one looks at every operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tests.support.fake_device.memory import CPU, Memory
from tests.support.fake_device.rules import Counts, Located, computing_device

_REAL_DEVICE = Tensor.device.__get__  # type: ignore[attr-defined]
_ARRAYS = frozenset({Tensor.numpy, Tensor.__array__})


def full_name(device: Any) -> torch.device:
    """A device with its number: ``cuda`` is ``cuda:0``."""
    text = torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
    return torch.device("cuda", text.index or 0) if text.type == "cuda" else text


class Machine:
    """Pretended devices: where tensors lie, what was refused."""

    def __init__(self, memory: Memory) -> None:
        self.memory, self.counts = memory, Counts()

    def device_of(self, tensor: Tensor) -> torch.device:
        """Where a tensor lies."""
        real: torch.device = _REAL_DEVICE(tensor)
        return real if real.type != "cpu" else self.memory.device_of(tensor)

    def move(self, tensor: Tensor, device: torch.device) -> Tensor:
        """A copy on another device, through which slopes flow back to this one."""
        texts: Tensor = _Move.apply(tensor, self, device)
        return texts


class _Move(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, machine: Machine, device: torch.device) -> Tensor:
        ctx.machine, ctx.source = machine, machine.device_of(tensor)
        return _copy(tensor, machine, device)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> Any:
        return _copy(slopes[0], ctx.machine, ctx.source), None, None


def _copy(tensor: Tensor, machine: Machine, device: torch.device) -> Tensor:
    with torch._C._DisableTorchDispatch():  # type: ignore[attr-defined]  # the copy is made on no device in between
        out = tensor.clone()
    machine.memory.place(out, device)
    return out


class OperationMode(TorchDispatchMode):
    """Sees every operation, backward passes included: refuses, says where results lie."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self.machine = machine

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        counts, memory, more = self.machine.counts, self.machine.memory, dict(kwargs or {})
        tensors = [Located(t, self.machine.device_of(t)) for t in tree_leaves((args, more)) if isinstance(t, Tensor)]
        device = computing_device(func, args, tensors, counts)
        if device.type != "cuda":
            return func(*args, **more)
        generator = more.get("generator")
        if generator is not None and generator.device.type != "cuda":
            counts.refuse(f"Expected a 'cuda' device type for generator but found 'cpu' ({func})")
        out = func(*args, **more)
        _cdatas = {t.tensor.untyped_storage()._cdata for t in tensors}
        new_tensors = [
            t for t in tree_leaves(out) if isinstance(t, Tensor) and t.untyped_storage()._cdata not in _cdatas
        ]
        for tensor in new_tensors:
            memory.place(tensor, device)
        return out


class DeviceMode(TorchFunctionMode):
    """Answers ``.device`` and ``.is_cuda``; carries out moves and factories on fake devices."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self.machine = machine
        self._answers: dict[Any, Callable[..., Any]] = {
            Tensor.cpu: lambda x, *a, **k: self._moved(x, CPU),
            Tensor.cuda: lambda x, device="cuda", **k: self._moved(x, full_name("cuda" if device is None else device)),
            Tensor.to: self._to,
            Tensor.new_tensor: self._beside(Tensor.new_tensor),
            Tensor.__deepcopy__: self._beside(Tensor.__deepcopy__),
            Tensor.pin_memory: lambda x, *a, **k: x,
            Tensor.get_device: lambda x: self._index(x),
        }

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        more = dict(kwargs or {})
        if getattr(func, "__name__", "") == "__get__":
            caller = getattr(getattr(func, "__self__", None), "__name__", "")
            if caller == "device":
                return self.machine.device_of(args[0])
            if caller in ("is_cuda", "is_cpu"):
                return self.machine.device_of(args[0]).type == caller[3:]
        if func is torch.device and isinstance(args[0], int):
            return full_name(args[0])
        if func in _ARRAYS and self.machine.device_of(args[0]).type == "cuda":
            self.machine.counts.refuse("can't convert cuda:0 device type tensor to numpy")
        try:
            answer = self._answers.get(func)
        except TypeError:  # some callables cannot be hashed
            answer = None
        if answer is not None:
            return answer(*args, **more)
        if more.get("device") is not None:
            return self._made(func, args, more)
        return func(*args, **more)

    def _index(self, x: Tensor) -> int:
        device = self.machine.device_of(x)
        return device.index if device.type == "cuda" else -1

    def _beside(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """A function whose result lies where its first argument does, unless ``device`` says otherwise."""

        def answer(x: Tensor, *args: Any, **more: Any) -> Any:
            device = more.pop("device", None)
            out = func(x, *args, **more)
            self.machine.memory.place(out, self.machine.device_of(x) if device is None else full_name(device))
            return out

        return answer

    def _made(self, func: Any, args: Sequence[Any], more: dict[str, Any]) -> Any:
        """A factory with ``device=``."""
        device = full_name(more["device"])
        if device.type not in ("cpu", "cuda"):
            return func(*args, **more)
        more["device"] = "cpu"
        out = func(*args, **more)
        if not isinstance(out, Tensor) or self.machine.device_of(out) == device:
            return out
        if any(isinstance(a, Tensor) and a.untyped_storage()._cdata == out.untyped_storage()._cdata for a in args):
            return self.machine.move(out, device)  # as_tensor of a tensor
        self.machine.memory.place(out, device)
        return out

    def _to(self, x: Tensor, *args: Any, copy: bool = False, other: Tensor | None = None, **more: Any) -> Tensor:
        """``Tensor.to`` in all its spellings."""
        if args and isinstance(args[0], Tensor):
            other, args = args[0], args[1:]
        args = tuple(full_name(one) if type(one) is int else one for one in args)
        more = {name: full_name(one) if type(one) is int else one for name, one in more.items()}
        parse = torch._C._nn._parse_to  # type: ignore[attr-defined]
        device, dtype, _, layout = parse(*args, **more) if args or more else (None, None, False, None)
        if other is not None:
            device, dtype = self.machine.device_of(other), other.dtype
        if device is not None and full_name(device).type not in ("cpu", "cuda"):
            return x.to(device)
        if dtype is not None or copy or layout:
            x = Tensor.to(x, dtype or x.dtype, copy=copy, memory_format=layout or torch.preserve_format)
        return x if device is None else self._moved(x, full_name(device))

    def _moved(self, x: Tensor, device: torch.device) -> Tensor:
        return x if self.machine.device_of(x) == device else self.machine.move(x, device)
