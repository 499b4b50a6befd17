"""Programs and tensors of cases, for the make.py of each folder; needs torch."""
import copy

import torch
from torch.utils._pytree import tree_leaves


def save_program(program, path):
    """Without stack traces: they hold paths of the machine that made the case."""
    for part in program.graph_module.modules():
        if isinstance(part, torch.fx.GraphModule):
            for node in part.graph.nodes:
                node.meta.pop("stack_trace", None)
    torch.export.save(program, path)


def plain(x):
    """A tensor of its own memory, row-major, without lazy conjugation and negation."""
    return x.detach().resolve_conj().resolve_neg().clone().contiguous() if isinstance(x, torch.Tensor) else torch.tensor(x)


def record(module, args, prefix):
    """The tensors of one call by the names of a case: inK, outK, and mutK where the module changes its input."""
    before = [x for x in tree_leaves(args) if isinstance(x, torch.Tensor)]
    given = copy.deepcopy(args)
    with torch.no_grad():
        results = module(*given)
    after = [x for x in tree_leaves(given) if isinstance(x, torch.Tensor)]
    tensors = {}
    for i, (x, y) in enumerate(zip(before, after)):
        tensors[f"{prefix}in{i}"] = plain(x)
        if not torch.equal(x, y):
            tensors[f"{prefix}mut{i}"] = plain(y)
    return tensors | {f"{prefix}out{i}": plain(x) for i, x in enumerate(tree_leaves(results))}


def torch_version():
    return torch.__version__.split("+")[0]


def ramp(*sizes, dtype=torch.float32):
    return torch.arange(torch.Size(sizes).numel(), dtype=dtype).reshape(sizes)
