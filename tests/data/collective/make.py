#!/usr/bin/env python3
"""Makes the cases of tests/data/collective.tar.zst: programs that several ranks run together, run by PyTorch's gloo.

  make.py OUT [PART]   needs torch 2.12 to 2.15 and safetensors; PART: only the cases with it in their names

Tensors are `rankR.callC.inK` and so on; every rank runs the program that rank 0 exported.
"""
import copy
import os
import sys
import tempfile
import warnings

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory  # defines the operators
import torch.multiprocessing as mp
from safetensors.torch import save_file
from torch.export import export

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from recorded import record, save_program, torch_version

warnings.filterwarnings("ignore")
group = "0"  # the name of the default group
ops = torch.ops._c10d_functional
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.uint8, torch.int8, torch.int32, torch.int64, torch.bool)


def all_reduce(x, op):
    return ops.wait_tensor(ops.all_reduce(x, op, group))


def all_gather(x, size):
    return ops.wait_tensor(ops.all_gather_into_tensor(x, size, group))


def reduce_scatter(x, op, size):
    return ops.wait_tensor(ops.reduce_scatter_tensor(x, op, size, group))


def all_to_all(x, given=None, taken=None, size=None):
    equal = [x.shape[0] // size] * size if size else None
    return ops.wait_tensor(ops.all_to_all_single(x, taken or equal, given or equal, group))


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


class Step(torch.nn.Module):
    """Data-parallel training: a rank's part of the batch, gradients averaged, AdamW without its classes' state."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(7)
        self.a, self.b = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3)
        for name, p in list(self.named_parameters()):
            self.register_buffer("m_" + name.replace(".", "_"), torch.zeros_like(p))
            p.requires_grad_(False)

    def forward(self, x, target):
        n = x.shape[0]
        hidden = torch.tanh(self.a(x))
        error = self.b(hidden) - target
        loss = (error * error).mean()
        # the gradients by hand: torch.export keeps no autograd
        g = error * (2.0 / (n * 3))
        grads = {"b.weight": g.t() @ hidden, "b.bias": g.sum(0)}
        g = (g @ self.b.weight) * (1 - hidden * hidden)
        grads |= {"a.weight": g.t() @ x, "a.bias": g.sum(0)}
        for name, p in self.named_parameters():
            m = getattr(self, "m_" + name.replace(".", "_"))
            m.mul_(0.9).add_(all_reduce(grads[name], "avg"))
            p.sub_(0.1 * m)
        return all_reduce(loss, "avg"), self.a(x)


class Loop(torch.nn.Module):
    """A collective in each iteration of a loop, whose end all ranks see at once."""

    def forward(self, x):
        def condition(i, v):
            return i < 3

        def body(i, v):
            return i + 1, all_reduce(v, "max") * 0.5 + 1

        return torch.ops.higher_order.while_loop(condition, body, (torch.tensor(0), x), ())


class Uneven(torch.nn.Module):
    """Each rank sends other numbers of rows: they come as tensors, as in layers of experts."""

    def forward(self, x, given, taken):
        given, taken = given.tolist(), taken.tolist()
        for n in (*given, *taken):
            torch._check(n >= 0)
        return all_to_all(x, given, taken) * 2


class InPlace(torch.nn.Module):
    """Collectives that write to their arguments, and to tensors of the caller."""

    def forward(self, x):
        y, z = x.clone(), x * 2
        ops.wait_tensor(ops.all_reduce_(y, "sum", group))
        ops.wait_tensor(ops.broadcast_(z, 0, group))
        return y, z


class Out(torch.nn.Module):
    """Collectives into buffers of the caller."""

    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self, x, whole, part):
        rows = ops.all_gather_into_tensor_out(x, self.size, group, out=whole)
        shares = ops.reduce_scatter_tensor_out(x, "sum", self.size, group, out=part)
        return ops.wait_tensor(rows) + 1, ops.wait_tensor(shares) + 1


class Beside(torch.nn.Module):
    """Products run while sums and rows are on their way, which are waited for in another order."""

    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self, x, w):
        total = ops.all_reduce(x, "sum", group)
        rows = ops.all_gather_into_tensor(x, self.size, group)
        y = torch.relu(x @ w)
        largest = ops.all_reduce(y, "max", group)
        z = torch.tanh(y @ w)
        rows = ops.wait_tensor(rows)
        z = z + ops.wait_tensor(largest) - ops.wait_tensor(total)
        return z @ w, rows * 2


class Symmetric(torch.nn.Module):
    """What torch.export takes of torch.ops.symm_mem. Hosts run none of it: `same` has what these operators mean."""

    def forward(self, x, a, b):
        s = torch.ops.symm_mem
        whole, (product,) = s.fused_all_gather_matmul(a, [b], 1, group)
        return (s.one_shot_all_reduce(x, "sum", group), s.one_shot_all_reduce_copy(torch.empty_like(x), x, "avg", group),
                whole, product, s.fused_matmul_reduce_scatter(a, b, "sum", 0, group),
                s._low_contention_all_gather(x, group), s._low_contention_reduce_scatter(x, "avg", group))

    @staticmethod
    def same(size):
        def forward(x, a, b):
            whole = all_gather(a.transpose(0, 1).contiguous(), size).transpose(0, 1).contiguous()
            return (all_reduce(x, "sum"), all_reduce(x, "avg"), whole, whole @ b, reduce_scatter(a @ b, "sum", size),
                    all_gather(x, size), reduce_scatter(x, "avg", size))
        return Function(forward)


class Mesh(torch.nn.Module):
    """Ranks in rows and columns: products of parts are added along a row, averages taken along a column."""

    def __init__(self, rows, columns, size):
        super().__init__()
        self.rows, self.columns, self.size = rows, columns, size

    def forward(self, x, a, b):
        y = torch.relu(x @ a.t()) @ b.t()
        total = ops.wait_tensor(ops.all_reduce(y, "sum", self.rows))
        mean = ops.all_reduce(total, "avg", self.columns)
        parts = ops.all_gather_into_tensor(y, self.size, self.rows)
        largest = ops.wait_tensor(ops.all_reduce(y, "max", group))
        return ops.wait_tensor(mean) + x, ops.wait_tensor(parts), largest


def steps(rank, dtype, *sizes):
    """Multiples of 0.5 whose sums and averages are exact in 16 bits, in any order."""
    generator = torch.Generator().manual_seed(rank + 1)
    return (torch.randint(-8, 9, sizes, generator=generator) / 2).to(dtype)


def numbers(rank, dtype, *sizes):
    generator = torch.Generator().manual_seed(rank + 1)
    if dtype == torch.bool:
        return torch.rand(sizes, generator=generator) > 0.4
    if not dtype.is_floating_point and not dtype.is_complex:
        return torch.randint(0 if dtype == torch.uint8 else -100, 100, sizes, generator=generator).to(dtype)
    wide = torch.complex128 if dtype.is_complex else torch.float64
    return torch.randn(sizes, generator=generator, dtype=wide).to(dtype)


def cases(size):
    """Name, module, and the calls of a rank."""
    floats = lambda *xs: [all_reduce(x, op) for x in xs for op in ("sum", "avg", "product", "min", "max")]
    integers = lambda *xs: [all_reduce(x, op) for x in xs
                            for op in ("sum", "product", "min", "max", "band", "bor", "bxor")]
    complexes = lambda *xs: [all_reduce(x, op) for x in xs for op in ("sum", "avg")]
    rows = lambda *xs: [y for x in xs for y in (all_gather(x, size), ops.wait_tensor(ops.broadcast(x, size - 1, group)))]
    parts = lambda *xs: [y for x in xs for y in (reduce_scatter(x, "sum", size), reduce_scatter(x, "max", size))]
    yield "all_reduce_floats", Function(floats), lambda r: [[numbers(r, t, 3, 7) for t in FLOATS[:2]]]
    # gloo's order of additions depends on the position: cancelling 16-bit sums would have no equal digits
    for name, t in (("half", torch.float16), ("bfloat16", torch.bfloat16)):
        yield f"all_reduce_{name}", Function(floats), lambda r, t=t: [[numbers(r, t, 3, 7).abs() + 0.25]]
    yield "all_reduce_integers", Function(integers), lambda r: [[numbers(r, t, 11) for t in INTEGERS]]
    yield "all_reduce_complex", Function(complexes), lambda r: [[numbers(r, t, 5) for t in (torch.complex64,)]]
    yield "gather_and_broadcast", Function(rows), lambda r: [
        [numbers(r, t, 3, 2) for t in (*FLOATS, *INTEGERS, torch.complex64)]]
    # cancelling 16-bit sums have other digits in another order
    exact = FLOATS if size == 2 else FLOATS[:2]
    yield "reduce_scatter", Function(parts), lambda r: [[numbers(r, t, 2 * size, 3) for t in (*exact, torch.int32)]]
    # columns of one product and rows of the next, as in tensor-parallel layers; views before and after
    tensor_parallel = lambda x, a, b: all_reduce(torch.relu(x @ a.t()) @ b.t(), "sum")[:, 1:] + x[:, 1:]
    yield "tensor_parallel", Function(tensor_parallel), lambda r: [
        [numbers(0, torch.float32, 4, 6), numbers(r, torch.float32, 5, 6), numbers(r + 9, torch.float32, 6, 5)]]
    # sharded weights, gathered on demand; gradients are scattered again
    sharded = lambda x, part: (x @ all_gather(part, size), reduce_scatter(x.t() @ x, "avg", size))
    yield "sharded_weights", Function(sharded), lambda r: [
        [numbers(r, torch.float32, 3, 2 * size), numbers(r + 5, torch.float32, 2, 4)]]
    yield "training", Step(), lambda r: [
        [numbers(10 * c + r, torch.float32, 5, 6), numbers(20 * c + r, torch.float32, 5, 3)] for c in range(3)]
    yield "loop", Loop(), lambda r: [[numbers(r, torch.float32, 4)]]
    each = lambda *xs: [all_to_all(x, size=size) for x in xs]
    yield "all_to_all", Function(each), lambda r: [
        # gloo has no other types here
        [numbers(r, t, 2 * size, 3) for t in (*FLOATS[:3], *INTEGERS[:4])]]
    yield "all_to_all_empty", Function(each), lambda r: [[numbers(r, torch.float32, 0, 3)]]
    rows_of = lambda r: [(r + q + 1) % 3 for q in range(size)]  # some parts are empty
    yield "all_to_all_uneven", Uneven(), lambda r: [
        [numbers(r, torch.float32, sum(rows_of(r)), 3), torch.tensor(rows_of(r)), torch.tensor(rows_of(r))]]
    lists = lambda x, y: [ops.wait_tensor(t) for t in (
        *ops.all_reduce_coalesced([x, y], "sum", group), *ops.all_gather_into_tensor_coalesced([x, y], size, group),
        *ops.reduce_scatter_tensor_coalesced([x, y], "max", size, group))]
    yield "lists", Function(lists), lambda r: [[numbers(r, torch.float32, size, 2), numbers(r + 7, torch.float32, size)]]
    # A list has a single wait; tensors have no elements, or fewer than the ranks.
    coalesced = lambda *xs: [t for ts in (
        ops.all_reduce_coalesced(list(xs), "sum", group), ops.all_reduce_coalesced_([x + 1 for x in xs], "max", group),
        ops.all_gather_into_tensor_coalesced(list(xs), size, group),
        ops.reduce_scatter_tensor_coalesced([x.repeat(size, 1) for x in xs], "sum", size, group))
        for t in ops.wait_tensors(ts)]
    lists = lambda *xs: [y for i in range(0, len(xs), 3) for y in coalesced(*xs[i:i + 3])]
    yield "wait_tensors", Function(lists), lambda r: [
        [steps(r + i, t, *sizes) for t in (torch.float32, *FLOATS[2:]) for i, sizes in enumerate(((3, 1), (5, 2), (0, 2)))]]
    shards = lambda *xs: [torch.ops._dtensor.shard_dim_alltoall(x, g, s, group) for x in xs
                          for g, s in ((0, 1), (1, 0), (2, 1))]
    yield "shard_dim", Function(shards), lambda r: [[numbers(r, t, 2 * size, size, 3) for t in (torch.float32, torch.int64)]]
    yield "out", Out(size), lambda r: [
        [numbers(r, torch.float32, 2 * size, 3), torch.zeros(2 * size * size, 3), torch.zeros(2, 3)]]
    # 16 bits: sums with an exact value in each order, of any number of elements
    sixteen = lambda *xs: [y for x in xs for y in (all_reduce(x, "sum"), all_reduce(x, "avg"), all_reduce(x, "min"),
                                                   all_gather(x, size))]
    yield "sixteen_bits", Function(sixteen), lambda r: [
        [steps(r, t, *sizes) for t in FLOATS[2:] for sizes in ((1,), (size + 1,), (0, 3), (7, 5))]]
    halves = lambda *xs: [y for x in xs for y in (reduce_scatter(x, "sum", size), reduce_scatter(x, "avg", size),
                                                  reduce_scatter(x, "max", size))]
    yield "sixteen_bits_scattered", Function(halves), lambda r: [
        [steps(r, t, rows * size, 3) for t in FLOATS[2:] for rows in (0, 1, 5)]]
    if size > 2:  # rank 1 sends nothing; the last rank receives nothing
        count = lambda r, q: 0 if r == 1 or q == size - 1 else (r + 2 * q) % 4
        yield "all_to_all_uneven_bfloat16", Uneven(), lambda r: [
            [numbers(r, torch.bfloat16, sum(count(r, q) for q in range(size)), 3),
             torch.tensor([count(r, q) for q in range(size)]), torch.tensor([count(q, r) for q in range(size)])]]
    yield "beside", Beside(size), lambda r: [[numbers(r, torch.float32, 6, 6), numbers(0, torch.float32, 6, 6)]]
    if size < 4:
        yield "symmetric_memory", Symmetric(), lambda r: [
            [numbers(r, torch.float32, 2 * size, 3), numbers(r, torch.float32, 2 * size, 3, 5),
             numbers(r + 9, torch.float32, 5, 4)]]
    yield "in_place", InPlace(), lambda r: [[numbers(r, torch.float32, 5)]]


def mesh_cases(size, rank):
    """As cases, with the ranks of each named group, which every rank makes under a name of its own."""
    if size < 4:
        return
    columns, rows = 2, size // 2
    mesh = dist.init_device_mesh("cpu", (columns, rows), mesh_dim_names=("dp", "tp"))
    names = [mesh.get_group(axis).group_name for axis in ("tp", "dp")]
    text = lambda groups: "/".join(",".join(map(str, g)) for g in groups)
    groups = f"{names[0]}={text(mesh.mesh.tolist())} {names[1]}={text(mesh.mesh.t().tolist())}"
    # another order of additions changes the last bits
    yield "mesh", Mesh(*names, rows), lambda r: [
        [numbers(r // rows, torch.float32, 4, 6), numbers(r, torch.float32, 5, 6), numbers(r + 9, torch.float32, 6, 5)]
    ], groups


def run(rank, size, out, rendezvous, part):
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=size)
    for name, module, calls, *groups in (*cases(size), *mesh_cases(size, rank)):
        name = f"{name}_{size}"
        if part not in name:
            continue
        if rank == 0:
            # An uneven call has sizes of its own rank: rows are dynamic.
            rows = torch.export.Dim.AUTO if isinstance(module, Uneven) else None
            dynamic = ({0: rows}, None, None) if rows else None
            program = export(copy.deepcopy(module), tuple(copy.deepcopy(calls(0)[0])), strict=False,
                             dynamic_shapes=dynamic)
            save_program(program, f"{out}/{name}.pt2")
        tensors = {}
        for c, args in enumerate(calls(rank)):
            tensors |= record(module.same(size) if isinstance(module, Symmetric) else module, args, f"rank{rank}.call{c}.")
        everything = [None] * size
        dist.all_gather_object(everything, tensors)
        if rank == 0:
            metadata = {"torch": torch_version(), "ranks": str(size)}
            if groups:
                metadata["groups"] = groups[0]
            if name.startswith("all_reduce_half_") and size > 2:
                metadata |= {"rtol": "0.002", "atol": "0"}  # two roundings in another order
            save_file({k: v for part in everything for k, v in part.items()}, f"{out}/{name}.safetensors", metadata)
            print(name)
    dist.destroy_process_group()


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    for ranks in (2, 3, 4, 8):
        with tempfile.TemporaryDirectory() as folder:
            part = sys.argv[2] if len(sys.argv) > 2 else ""
            mp.spawn(run, (ranks, sys.argv[1], f"{folder}/rendezvous", part), nprocs=ranks)
