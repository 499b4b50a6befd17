"""capture(): a PyTorch module becomes a program, together with the derivatives that its code takes."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tern._describe import describe
from tern._flex_attention import with_plain_attention

if TYPE_CHECKING:
    from tern._programs import ExportedProgram, Module


def _holds_transforms(program) -> bool:
    """True if a node calls torch.func's bookkeeping of a transform. PyTorch cannot save most such programs."""
    modules = [m for m in program.graph_module.modules() if hasattr(m, "graph")]
    return any(
        node.op == "call_function" and "functorch" in (getattr(node.target, "__module__", None) or "")
        for module in modules
        for node in module.graph.nodes
    )


def _with_derivatives(module, args, kwargs, mode):
    """A copy of `module`, with the same parameters and buffers, whose forward holds operators alone: make_fx has
    replaced each derivative by the operators that compute it. `mode` is make_fx's tracing_mode."""
    torch = import_module("torch")
    tree = import_module("torch.utils._pytree")
    make_fx = import_module("torch.fx.experimental.proxy_tensor").make_fx
    shapes = import_module("torch.fx.experimental._config")
    leaves, spec = tree.tree_flatten((args, kwargs))
    tensors = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def run(parameters, buffers, values):
        changed = list(leaves)
        for i, value in zip(tensors, values):
            changed[i] = value
        a, k = tree.tree_unflatten(changed, spec)
        with torch.enable_grad():
            result = torch.func.functional_call(module, (parameters, buffers), a, k)
        return tree.tree_map_only(torch.Tensor, lambda t: t.detach(), result)

    states = dict(module.named_parameters()), dict(module.named_buffers())
    # Equal sizes of the example stay independent sizes.
    with shapes.patch(use_duck_shape=False):
        traced = make_fx(run, tracing_mode=mode)(*states, [leaves[i] for i in tensors])

    kind = type(module)

    @functools.wraps(kind.forward)
    def forward(self, *a, **k):
        flat, _ = tree.tree_flatten((a, k))
        values = [leaf for leaf in flat if isinstance(leaf, torch.Tensor)]
        return traced(dict(self.named_parameters()), dict(self.named_buffers()), values)

    replaced = copy.copy(module)
    replaced.__class__ = type(kind.__name__, (kind,), {"forward": forward, "__module__": kind.__module__})
    return replaced


def capture(
    module: Module,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
) -> ExportedProgram:
    """The program of `module(*args, **kwargs)`: a torch.export.ExportedProgram, for export() or torch.export.save.

    module          a torch.nn.Module
    args, kwargs    examples of its arguments
    dynamic_shapes  sizes that vary, as torch.export.export takes them

    A module may take derivatives: torch.autograd.grad, and grad, vjp, jvp, jacfwd, jacrev, hessian, linearize and vmap
    of torch.func. torch.export refuses such modules, or makes programs that cannot be saved. capture() then replaces
    each derivative by the operators that compute it. Parameters and buffers keep their names. PyTorch's tracer refuses
    some nestings of vmap around hessian. Plain attention replaces flex_attention, which torch.export.save refuses.

    Raises what torch.export.export raises.
    """
    torch = import_module("torch")
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"a {describe(module)} is not a torch.nn.Module: write a module whose forward calls it")
    if isinstance(args, torch.Tensor):
        raise TypeError("args is a tensor: pass a tuple of arguments, as in args=(x,)")
    args, kwargs = tuple(args), dict(kwargs or {})

    def exported(m):
        with torch.no_grad():
            program = torch.export.export(m, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False)
            return with_plain_attention(program)

    def exported_with_derivatives():
        if dynamic_shapes is not None:
            return exported(_with_derivatives(module, args, kwargs, "symbolic"))
        try:
            return exported(_with_derivatives(module, args, kwargs, "fake"))
        except Exception:  # fake tensors do not support each nesting of vmap and hessian
            return exported(_with_derivatives(module, args, kwargs, "real"))

    try:
        program = exported(module)
    except Exception as refused:
        try:
            return exported_with_derivatives()
        except Exception:
            raise refused from None
    return exported_with_derivatives() if _holds_transforms(program) else program
