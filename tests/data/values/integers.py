"""Integers at the ends of their types: overflow, the least number divided by -1, shifts by more than the width, negative powers."""
import torch

KINDS = {"i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "u8": torch.uint8}


def make(case):
    for kind, dtype in KINDS.items():
        least, most, bits = torch.iinfo(dtype).min, torch.iinfo(dtype).max, torch.iinfo(dtype).bits
        signed = least < 0
        x = torch.tensor([least, least + 1, most, most - 1, 0, 1, 2, 3, 7, most // 2] + [-1, -2, -3, -7] * signed, dtype=dtype)
        a, b = (v.reshape(-1).clone() for v in torch.meshgrid(x, x, indexing="ij"))
        a, d = a[b != 0], b[b != 0]
        modes = (None, "floor", "trunc")[1:]
        case(f"integers_overflow_{kind}", lambda x, y: (x + y, x - y, x * y, x.abs(), -x, x.square(), x.sum(), x.prod(), x.cumsum(0)),
             (a, d), exact=True)
        # The least number by -1 kills a process of PyTorch.
        some = ~((a == least) & (d == -1)) if signed else torch.ones_like(a, dtype=torch.bool)
        case(f"integers_quotients_{kind}", lambda x, y: (x // y, x % y, torch.fmod(x, y), *(torch.div(x, y, rounding_mode=m) for m in modes)),
             (a[some], d[some]), exact=True)
        # An error in PyTorch, on CPUs.
        zero = torch.zeros_like(x)
        case(f"integers_by_zero_{kind}",
             lambda x, y: (x // y, x % y, torch.fmod(x, y), *(torch.div(x, y, rounding_mode=m) for m in modes), x // 0, x % 0), (x, zero),
             exact=True, results=[zero.clone() for _ in range(7)])
        if signed:
            case(f"integers_minus_one_{kind}", lambda x: (x // -1, x % -1), (x,), exact=True)
            case(f"integers_least_{kind}", lambda x, y: (torch.div(x, y, rounding_mode="trunc"), torch.fmod(x, y)), (x[:1], -torch.ones_like(x[:1])),
                 exact=True, results=[x[:1].clone(), torch.zeros_like(x[:1])])
        powers = torch.tensor(([-3, -2, -1] * signed) + [0, 1, 2, 3, 5, 63, 100], dtype=dtype)
        bases, exponents = (v.reshape(-1).clone() for v in torch.meshgrid(x, powers, indexing="ij"))
        case(f"integers_powers_{kind}", lambda x, y: (torch.pow(x, y), x.pow(3), x.pow(7), torch.pow(3, y.abs())), (bases, exponents), exact=True)
        shifts = torch.tensor(([-1] * signed) + [0, 1, bits - 2, bits - 1, bits, min(bits + 1, 127), 100], dtype=dtype)
        bases, shifts = (v.reshape(-1).clone() for v in torch.meshgrid(x, shifts, indexing="ij"))
        case(f"integers_shifts_{kind}", lambda x, y: (x << y, x >> y, x << bits, x >> bits, x >> (bits - 1), x << (bits - 1)),
             (bases, shifts), exact=True)
