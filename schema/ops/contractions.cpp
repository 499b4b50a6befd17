// Products, attention, recurrence, distances.
#include <fmt/format.h>

#include <cmath>

#include "dtypes/byte_integers.h"
#include "schema/infer/checks.h"
#include "schema/ops/attributes.h"
#include "schema/ops/costs.h"
#include "schema/ops/families.h"
#include "schema/ops/names.h"
#include "schema/window_kinds.h"

namespace tern::ops {
namespace {

/// True if products of two different dtypes are defined: two 8-bit floats, two 8-bit integers, or a float of at most 32
/// bits and a weight of fewer bits whose elements are exact in that float's sums.
bool are_factors(DType a, DType b) {
  const auto is_byte_float = [](DType t) { return element_size(t) == 1 && is_floating(t) && t != DType::f4_e2m1; };
  if (is_byte_float(a)) return is_byte_float(b);
  if (is_byte_integer(a)) return is_byte_integer(b);
  if (a == DType::f32) return is_byte_float(b) || is_byte_integer(b) || b == DType::f16 || b == DType::bf16;
  return (a == DType::f16 || a == DType::bf16) && (is_byte_float(b) || is_byte_integer(b));
}

/// Checks operand 1 as a factor of operand 0.
void require_weight(const Inference& c) {
  const DType a = c.in(0).dtype;
  if (c.in(1).quantized()) {
    c.require(a == DType::f32 || a == DType::f16 || a == DType::bf16,
              "a quantized value is multiplied by float32, float16 or bfloat16");
  } else {
    require_plain(c, 1);
    if (!are_factors(a, c.in(1).dtype)) require_same_dtype(c, 0, 1);
  }
}

// a [..., m, k] x b [..., k, n] (+ bias) -> [..., m, n]. The leading axes broadcast; so does the bias, to the result.
// dtype: the result's; the dtype of `a` if absent. a and b have one dtype, or two dtypes allowed by are_factors.
// Products are summed in float32 (f16, bf16 and the small floats, integers of b beside a float), in the type itself
// (f32, f64, complex), or in 64 bits with the low bits kept (integers). The bias is added before the only rounding to
// the result. A quantized b holds the matrices by columns: [..., n, k], blocks along k, beside a float a of at most 32
// bits. Its numbers equal dequantize to float32.
void matmul(Inference& c) {
  require_plain(c, 0);
  const TensorType& a = c.in(0);
  const TensorType& b = c.in(1);
  c.require(a.rank() >= 2 && b.rank() >= 2, "both operands need at least two axes");
  const bool by_columns = b.quantized();
  require_weight(c);
  const std::size_t last = b.shape.size() - 1;
  const Dim depth = b.shape[by_columns ? last : last - 1], columns = b.shape[by_columns ? last - 1 : last];
  c.require_equal(a.shape.back(), depth, "the contracted sizes");
  Dims shape = c.broadcast(Dims(a.shape.begin(), a.shape.end() - 2), Dims(b.shape.begin(), b.shape.end() - 2));
  shape.push_back(a.shape[a.shape.size() - 2]);
  shape.push_back(columns);
  if (c.has(2)) {
    require_plain(c, 2);
    c.require(c.in(2).rank() <= static_cast<int>(shape.size()), "the bias has more axes than the result");
    const Dims with_bias = c.broadcast(shape, c.in(2).shape);
    for (std::size_t i = 0; i < shape.size(); ++i)
      c.require_equal(with_bias[i], shape[i], "sizes of the bias and the result");
  }
  const DType dtype = c.dtype_or(a.dtype);
  c.require(dtype != DType::f4_e2m1, "a result of float4 must be packed from another type");
  c.require(is_complex(dtype) || !is_complex(a.dtype), "a complex product needs a complex result");
  c.out(dtype, std::move(shape));
}

// x [s, k], weight [e, k, n], offsets [e] -> [s, n]: row r of x is multiplied by weight[g] for the first g with r <
// offsets[g]. Offsets are cumulative; rows from the last offset on give zeros. dtypes as in matmul. A quantized weight
// holds its matrices by columns: [e, n, k].
void grouped_matmul(Inference& c) {
  require_plain(c, 0);
  require_weight(c);
  const TensorType& x = c.in(0);
  const TensorType& w = c.in(1);
  const TensorType& offsets = c.in(2);
  c.require(x.rank() == 2 && w.rank() == 3 && offsets.rank() == 1, "the operands must have 2, 3 and 1 axes");
  c.require(offsets.dtype == DType::i32 || offsets.dtype == DType::i64, "offsets must be int32 or int64");
  const std::size_t depth = w.quantized() ? 2 : 1, columns = 3 - depth;
  c.require_equal(x.shape[1], w.shape[depth], "the contracted sizes");
  c.require_equal(w.shape[0], offsets.shape[0], "the numbers of groups");
  const DType dtype = c.dtype_or(x.dtype);
  c.require(dtype != DType::f4_e2m1, "a result of float4 must be packed from another type");
  c.require(is_complex(dtype) == is_complex(x.dtype), "a complex product needs a complex result");
  c.out(dtype, {x.shape[0], w.shape[columns]});
}

// softmax(q k^T * scale + mask) v. q [..., h, l, d], k [..., g, s, d], v [..., g, s, e] -> [..., h, l, e]; g divides h,
// and head i reads group i / (h / g). Two-dimensional operands have no heads. The axes before the heads broadcast. mask
// broadcasts to [..., h, l, s]: boolean (true: visible), or floating, added to the scores. causal: query i sees keys up
// to i. scale: 1/sqrt(d) if absent. Queries without visible keys give zeros. Scores and sums are float32 (float64 for
// float64); the result has q's dtype.
void attention(Inference& c) {
  for (std::size_t i = 0; i < 3; ++i) require_floating(c, i);
  require_same_dtype(c, 0, 1);
  require_same_dtype(c, 0, 2);
  const TensorType& q = c.in(0);
  const TensorType& k = c.in(1);
  const TensorType& v = c.in(2);
  c.require(q.rank() >= 2 && q.rank() == k.rank() && q.rank() == v.rank(),
            "q, k and v need the same number of axes, at least two");
  const std::size_t n = q.shape.size();
  c.require_equal(q.shape[n - 1], k.shape[n - 1], "the head sizes of q and k");
  c.require_equal(k.shape[n - 2], v.shape[n - 2], "the lengths of k and v");
  Dims shape;
  if (n >= 3) {
    const std::ptrdiff_t lead = static_cast<std::ptrdiff_t>(n) - 3;
    shape = c.broadcast(
        c.broadcast(Dims(q.shape.begin(), q.shape.begin() + lead), Dims(k.shape.begin(), k.shape.begin() + lead)),
        Dims(v.shape.begin(), v.shape.begin() + lead));
    const Dim heads = q.shape[n - 3], groups = k.shape[n - 3];
    c.require_equal(groups, v.shape[n - 3], "the heads of k and v");
    if (heads.is_const() && groups.is_const()) {
      c.require(heads == groups || (groups.value() > 0 && heads.value() % groups.value() == 0),
                "the heads of k must divide those of q");
    } else {
      c.require_equal(heads, groups, "the numbers of heads must be constant");
    }
    shape.push_back(heads);
  }
  shape.push_back(q.shape[n - 2]);
  Dims scores = shape;
  scores.push_back(k.shape[n - 2]);
  if (c.has(3)) {
    const TensorType& mask = c.in(3);
    c.require(mask.dtype == DType::boolean || is_floating(mask.dtype), "the mask must be boolean or floating");
    require_plain(c, 3);
    c.require(mask.shape.size() <= scores.size(), "the mask has more axes than the scores");
    const Dims broadcast_shape = c.broadcast(scores, mask.shape);
    for (std::size_t i = 0; i < scores.size(); ++i)
      c.require_equal(broadcast_shape[i], scores[i], "sizes of the mask and the scores");
  }
  shape.push_back(v.shape[n - 1]);
  c.out(q.dtype, std::move(shape));
}

// x [t, n, i], h0 [layers * directions, n, p], c0 [layers * directions, n, h] (LSTM; else absent), then for each layer
// and direction five operands: w_ih [gates*h, i or directions*p], w_hh [gates*h, p], b_ih and b_hh [gates*h] (both or
// neither), w_hr [p, h] (LSTM with projections; else absent, p = h).
// -> y [t, n, directions * p], h_n as h0, and for LSTM c_n as c0. Gates are in PyTorch's order: i f g o (LSTM), r z n
// (GRU).
void rnn(Inference& c) {
  const auto kind = static_cast<RnnKind>(c.integer(AttrKey::kind));
  const std::int64_t layers = c.integer(AttrKey::layers);
  const std::int64_t directions = c.flag(AttrKey::bidirectional) ? 2 : 1;
  const std::int64_t gates = kind == RnnKind::lstm ? 4 : kind == RnnKind::gru ? 3 : 1;
  c.require(static_cast<std::int64_t>(c.input_count()) == 3 + 5 * layers * directions,
            "five operands for each layer and direction after x, h0 and c0");
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    if (!c.has(i)) continue;
    require_floating(c, i);
    require_same_dtype(c, 0, i);
  }
  const TensorType& x = c.in(0);
  const TensorType& h0 = c.in(1);
  c.require(x.rank() == 3 && h0.rank() == 3, "x and h0 must have three axes");
  const bool lstm = kind == RnnKind::lstm;
  c.require(c.has(2) == lstm, "an LSTM needs c0, and no other network has it");
  const Dim batch = x.shape[1], projected = h0.shape[2];
  Dim hidden = projected;
  c.require_equal(h0.shape[0], layers * directions, "the layers of h0");
  c.require_equal(h0.shape[1], batch, "the batch sizes");
  if (lstm) {
    const TensorType& c0 = c.in(2);
    c.require(c0.rank() == 3, "c0 must have three axes");
    hidden = c0.shape[2];
    c.require_equal(c0.shape[0], layers * directions, "the layers of c0");
    c.require_equal(c0.shape[1], batch, "the batch sizes");
  }
  const Dim rows = c.pool.mul(gates, hidden);
  const Dim width = c.pool.mul(directions, projected);
  for (std::int64_t l = 0; l < layers * directions; ++l) {
    const std::size_t first_operand = static_cast<std::size_t>(3 + 5 * l);
    const auto matrix = [&](std::size_t i, Dim r, Dim k) {
      c.require(c.in(i).rank() == 2, "a weight must have two axes");
      c.require_equal(c.in(i).shape[0], r, "the rows of a weight");
      c.require_equal(c.in(i).shape[1], k, "the columns of a weight");
    };
    matrix(first_operand, rows, l < directions ? x.shape[2] : width);
    matrix(first_operand + 1, rows, projected);
    c.require(c.has(first_operand + 2) == c.has(first_operand + 3), "give both biases or neither");
    for (std::size_t i = first_operand + 2; i < first_operand + 4 && c.has(i); ++i) {
      c.require(c.in(i).rank() == 1, "a bias must have one axis");
      c.require_equal(c.in(i).shape[0], rows, "the length of a bias");
    }
    c.require(lstm || !c.has(first_operand + 4), "only an LSTM has projections");
    if (c.has(first_operand + 4)) {
      matrix(first_operand + 4, projected, hidden);
    } else {
      c.require_equal(projected, hidden, "the sizes of h0 and c0");
    }
  }
  const Dims h_shape = h0.shape;
  c.out(x.dtype, {x.shape[0], batch, width});
  c.out(x.dtype, h_shape);
  if (lstm) c.out(x.dtype, c.in(2).shape);
}

// x [..., m, d], y [..., n, d] -> [..., m, n]: the p-norm of the difference of every two rows; p >= 0, infinity
// allowed. The leading axes broadcast.
void cdist(Inference& c) {
  require_floating(c, 0);
  require_floating(c, 1);
  require_same_dtype(c, 0, 1);
  const Dims& x = c.in(0).shape;
  const Dims& y = c.in(1).shape;
  c.require(x.size() >= 2 && y.size() >= 2, "both operands need at least two axes");
  c.require_equal(x.back(), y.back(), "the lengths of the rows");
  Dims shape = c.broadcast(Dims(x.begin(), x.end() - 2), Dims(y.begin(), y.end() - 2));
  shape.push_back(x[x.size() - 2]);
  shape.push_back(y[y.size() - 2]);
  c.out(c.in(0).dtype, std::move(shape));
}

constexpr AttrRecord kMatmul[] = {
    optional_attribute(AttrKey::dtype, AttrType::dtype, "the dtype of a", "of the result"),
};
constexpr AttrRecord kGroupedMatmul[] = {
    optional_attribute(AttrKey::dtype, AttrType::dtype, "the dtype of x", "of the result"),
};
constexpr AttrRecord kAttention[] = {
    flag(AttrKey::causal, "query i attends to keys up to i"),
    optional_attribute(AttrKey::scale, AttrType::number, "1 / sqrt(head size)", "of the scores"),
};
constexpr AttrRecord kRnn[] = {
    required(AttrKey::kind, kRnnNames, "the cell"),
    required(AttrKey::layers, AttrType::integer, "one above the other").bounds(1, 1 << 16),
    flag(AttrKey::bidirectional, "a second direction for each layer"),
};
constexpr AttrRecord kCdist[] = {
    defaulted_number(AttrKey::p, 2, "the norm; infinity too").not_negative(),
};

constexpr OpRecord kContractionsOps[] = {
    TERN_OP(60, matmul, "a, b, bias? -> y", "a [..., m, k] times b [..., k, n], plus bias; leading axes broadcast")
        .attrs(kMatmul)
        .costs(matmul_operations)
        .rule(matmul),
    TERN_OP(67, grouped_matmul, "x, weight, offsets -> y",
            "row r of x times weight[g] for the first g with r < offsets[g]")
        .attrs(kGroupedMatmul)
        .costs(matmul_operations)
        .rule(grouped_matmul),
    TERN_OP(66, attention, "q, k, v, mask? -> y", "softmax(q k^T * scale + mask) v; groups of heads may share keys")
        .attrs(kAttention)
        .costs(attention_operations)
        .rule(attention),
    TERN_OP(69, rnn, "x, h0, c0?, weights+ -> y, h_n, c_n?", "layers of LSTM, GRU or plain cells along the first axis")
        .attrs(kRnn)
        .costs(rnn_operations)
        .rule(rnn),
    TERN_OP(70, cdist, "x, y -> distances", "the p-norm of the difference of every two rows")
        .attrs(kCdist)
        .costs(cdist_operations)
        .rule(cdist),
};

}  // namespace

std::span<const OpRecord> contractions_ops() {
  return kContractionsOps;
}

}  // namespace tern::ops
