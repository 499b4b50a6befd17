"""Operands of several types: searches, sets, products with powers, means and trapezoids of integers that wrap, half of the ends of trapezoids."""
import torch

INF, NAN = float("inf"), float("nan")


def make(case):
    t = torch.tensor
    bytes_, shorts = t([1, 2, 3, 44, 100], dtype=torch.uint8), t([1.0, 2.0, 3.0, 100.3]).half()
    wide, longs = t([1.0, 2.0, 2.0001, 3.0], dtype=torch.float64), t([-7, 0, 1, 200, 300])
    case("mixed_search_number", lambda x, y, z: [torch.bucketize(v, s, right=r) for s, vs in (
        (x, (-1, 300, 2.5)), (y, (2.0001, 100.3, 3)), (z, (2.0001, 2))) for v in vs for r in (False, True)], (bytes_, shorts, wide), exact=True)
    case("mixed_search_tensor", lambda x, y, z, *o: [torch.searchsorted(s, v) for s in (x, y, z) for v in o],
         (bytes_, shorts, wide, t(300), t(2.0001), t(-1), t(2.0001, dtype=torch.float64), t(True)), exact=True)
    case("mixed_isin", lambda x, y, z, n, *o: [torch.isin(s, v) for s in (x, y, z, n) for v in (*o, 2.0001, 300, -156)] +
         [torch.isin(v, s) for s in (x, y, z) for v in o], (bytes_, shorts, wide, longs, t(300), t(2.0001), t(2.0001, dtype=torch.float64)), exact=True)
    powers = t([0.5, -1.25, 3.0, 7.7, -0.0, 100.3])
    case("mixed_ldexp", lambda x, *o: [torch.ldexp(a, b) for b in o for a in (x, x.double(), x.bfloat16(), x[3])],
         (t([0.5, -1.0, 3.3, 1e-5, 2.0, 7.7]), powers.half(), powers.bfloat16()), exact=True)
    for name, dtype in (("u8", torch.uint8), ("i8", torch.int8), ("i16", torch.int16), ("i64", torch.int64)):
        most = torch.iinfo(dtype).max
        x = t([[most, most - 1, 3], [1, 2, 100], [0, 5, most]], dtype=dtype)
        source, index = x.flip(0).repeat(2, 1), t([[0, 1, 2], [0, 1, 1], [2, 0, 0], [0, 1, 2], [0, 1, 2], [1, 1, 1]])
        case(f"mixed_mean_{name}", lambda x, s, i: [f for k in (True, False) for f in (
            x.scatter_reduce(0, i, s, "mean", include_self=k), x.index_reduce(0, i[:, 0], s, "mean", include_self=k))], (x, source, index), exact=True)
        case(f"mixed_trapezoid_{name}", lambda x: (torch.trapezoid(x), torch.trapezoid(x, dx=0.5, dim=0), torch.cumulative_trapezoid(x, dim=0),
                                                   torch.cumulative_trapezoid(x, dx=0.5), torch.trapezoid(x, x, dim=0)), (x,), exact=True)
    line = t([[INF, 1.0, 2.0], [1.0, INF, 2.0], [1e30, 1.0, -1e30], [0.1, 0.2, 0.3], [NAN, 0.0, 1.0]])
    case("mixed_trapezoid_ends", lambda *xs: [f for x in xs for f in (torch.trapezoid(x), torch.trapezoid(x, dx=0.3))],
         (line, line.double(), line.half(), line.bfloat16()), exact=True)
