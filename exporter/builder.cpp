#include "exporter/builder.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <cstring>

#include "exporter/constants.h"
#include "exporter/expr_text.h"
#include "schema/op_record.h"
#include "schema/work.h"

namespace tern {
namespace {

/// Work of a node: roughly its bytes, with its types and its row in the archive.
constexpr std::uint64_t kNodeWork = 1000;

}  // namespace

Attr attr(AttrKey key, Dim v) {
  return {key, Dims{v}};
}
Attr attr(AttrKey key, Dims v) {
  return {key, std::move(v)};
}
Attr attr(AttrKey key, const std::vector<std::int64_t>& v) {
  return {key, Dims(v.begin(), v.end())};
}
Attr attr_number(AttrKey key, double v) {
  return {key, std::vector<double>{v}};
}
Attr attr_numbers(AttrKey key, std::vector<double> v) {
  return {key, std::move(v)};
}
Attr attr_text(AttrKey key, std::string_view v) {
  return {key, std::string(v)};
}
Attr attr_dtype(DType t) {
  return attr(AttrKey::dtype, Dim(static_cast<std::int64_t>(t)));
}

void Builder::set_origin(std::int32_t origin, std::vector<Annotation> annotations) {
  origin_ = origin;
  annotations_ = std::move(annotations);
}

ValueId Builder::add_value(TensorType type, std::string name) {
  function().values.push_back({std::move(type), std::move(name)});
  return static_cast<ValueId>(function().values.size() - 1);
}

std::vector<ValueId> Builder::add(Node node) {
  charge_work(kNodeWork + node.inputs.size() * sizeof(ValueId));
  std::vector<const TensorType*> inputs;
  for (ValueId v : node.inputs) inputs.push_back(v == kNoValue ? nullptr : &type(v));
  node.version = op_record(node.op).version;
  node.origin = origin_;
  node.annotations = annotations_;
  const std::vector<TensorType> types = infer(program_, program_.pool, node, inputs);
  for (const TensorType& t : types) node.outputs.push_back(add_value(t));
  std::vector<ValueId> outputs = node.outputs;
  function().nodes.push_back(std::move(node));
  return outputs;
}

std::vector<ValueId> Builder::add_all(Op op, std::vector<ValueId> inputs, std::vector<Attr> attrs) {
  Node n;
  n.op = op;
  n.inputs = std::move(inputs);
  n.attrs = std::move(attrs);
  return add(std::move(n));
}

ValueId Builder::add(Op op, std::vector<ValueId> inputs, std::vector<Attr> attrs) {
  return add_all(op, std::move(inputs), std::move(attrs)).front();
}

ValueId Builder::expr(std::string_view text, std::vector<ExprArg> args, DType compute, DType result) {
  Node n;
  n.op = Op::pointwise;
  std::vector<DType> dtypes;
  for (const ExprArg& a : args) {
    if (a.value == kNoValue) continue;
    n.inputs.push_back(a.value);
    dtypes.push_back(dtype(a.value));
  }
  n.expr = compile_expr(text, args, dtypes, compute, result);
  return add(std::move(n)).front();
}

std::int64_t Builder::normal_axis(ValueId v, std::int64_t axis) {
  const int r = std::max(rank(v), 1);  // PyTorch lets a tensor of no dimensions have axis 0
  if (axis < -r || axis >= r) {
    fail(ErrorCode::bad_file, fmt::format("axis {} is outside {}", axis, text_of(type(v), pool())));
  }
  return axis < 0 ? axis + r : axis;
}

std::vector<std::int64_t> Builder::all_axes(ValueId v) {
  std::vector<std::int64_t> axes(static_cast<std::size_t>(rank(v)));
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
  return axes;
}

Dim Builder::size(ValueId v, std::int64_t axis) {
  if (rank(v) == 0) return 1;
  return shape(v)[static_cast<std::size_t>(normal_axis(v, axis))];
}

Dim Builder::numel(ValueId v) {
  return pool().product(shape(v));
}

ValueId Builder::cast(ValueId x, DType target) {
  return dtype(x) == target ? x : expr("x", {{"x", x}}, dtype(x), target);
}

ValueId Builder::reshape(ValueId x, Dims sizes) {
  if (shape(x) == sizes) return x;
  return add(Op::reshape, {x}, {attr(AttrKey::sizes, std::move(sizes))});
}

ValueId Builder::permute(ValueId x, const std::vector<std::int64_t>& axes) {
  std::vector<std::int64_t> normal;
  bool identity = true;
  for (std::int64_t a : axes) {
    normal.push_back(normal_axis(x, a));
    identity = identity && normal.back() == static_cast<std::int64_t>(normal.size()) - 1;
  }
  if (identity && normal.size() == static_cast<std::size_t>(rank(x))) return x;
  return add(Op::permute, {x}, {attr(AttrKey::axes, normal)});
}

ValueId Builder::transpose(ValueId x, std::int64_t a, std::int64_t b) {
  if (rank(x) < 2) return x;
  std::vector<std::int64_t> axes = all_axes(x);
  std::swap(axes[static_cast<std::size_t>(normal_axis(x, a))], axes[static_cast<std::size_t>(normal_axis(x, b))]);
  return permute(x, axes);
}

ValueId Builder::move_axis(ValueId x, std::int64_t source_axis, std::int64_t target_axis) {
  std::vector<std::int64_t> axes = all_axes(x);
  if (axes.empty()) return x;
  const std::int64_t f = normal_axis(x, source_axis), t = normal_axis(x, target_axis);
  axes.erase(axes.begin() + f);
  axes.insert(axes.begin() + t, f);
  return permute(x, axes);
}

ValueId Builder::expand(ValueId x, Dims sizes) {
  if (shape(x) == sizes) return x;
  return add(Op::expand, {x}, {attr(AttrKey::sizes, std::move(sizes))});
}

ValueId Builder::slice(ValueId x, std::int64_t axis, Dim start, Dim length, std::int64_t step) {
  axis = normal_axis(x, axis);
  if (step == 1 && start.is(0) && length == size(x, axis)) return x;
  return add(Op::slice, {x},
             {attr(AttrKey::axis, axis), attr(AttrKey::start, start), attr(AttrKey::length, length),
              attr(AttrKey::step, step)});
}

ValueId Builder::select(ValueId x, std::int64_t axis, Dim index) {
  return squeeze(slice(x, axis, index, 1), axis);
}

ValueId Builder::unsqueeze(ValueId x, std::int64_t axis) {
  const std::int64_t r = rank(x) + 1;
  if (axis < -r || axis >= r) fail(ErrorCode::bad_file, fmt::format("unsqueeze: axis {} is outside rank {}", axis, r));
  Dims sizes = shape(x);
  sizes.insert(sizes.begin() + (axis < 0 ? axis + r : axis), 1);
  return reshape(x, std::move(sizes));
}

ValueId Builder::squeeze(ValueId x, std::int64_t axis) {
  if (rank(x) == 0) return x;
  Dims sizes = shape(x);
  sizes.erase(sizes.begin() + normal_axis(x, axis));
  return reshape(x, std::move(sizes));
}

ValueId Builder::flip(ValueId x, const std::vector<std::int64_t>& axes) {
  if (rank(x) == 0) return x;
  for (std::int64_t a : axes) x = slice(x, a, pool().sub(size(x, a), 1), size(x, a), -1);
  return x;
}

ValueId Builder::as_strided(ValueId x, Dims sizes, Dims strides, Dim offset) {
  return add(Op::as_strided, {x},
             {attr(AttrKey::sizes, std::move(sizes)), attr(AttrKey::strides, std::move(strides)),
              attr(AttrKey::offset, offset)});
}

ValueId Builder::concat(std::vector<ValueId> xs, std::int64_t axis) {
  if (xs.size() == 1) return xs[0];
  axis = normal_axis(xs.at(0), axis);
  return add(Op::concat, std::move(xs), {attr(AttrKey::axis, axis)});
}

ValueId Builder::pad(ValueId x, Dims padding_before, Dims padding_after, double value) {
  return add(Op::pad, {x},
             {attr(AttrKey::before, std::move(padding_before)), attr(AttrKey::after, std::move(padding_after)),
              attr_number(AttrKey::value, value), attr(AttrKey::mode, Dim(0))});
}

ValueId Builder::full(Dims sizes, std::complex<double> value, DType dtype) {
  return add(Op::full, {},
             {attr(AttrKey::sizes, std::move(sizes)), attr_numbers(AttrKey::value, {value.real(), value.imag()}),
              attr_dtype(dtype)});
}

ValueId Builder::iota(Dim size, DType dtype, double start, double step) {
  return add(Op::iota, {},
             {attr(AttrKey::sizes, Dims{size}), attr_numbers(AttrKey::value, {start, step}), attr_dtype(dtype)});
}

ValueId Builder::from_dim(Dim d, DType dtype) {
  return add(Op::from_dim, {}, {attr(AttrKey::dim, d), attr_dtype(dtype)});
}

ValueId Builder::reduce(ValueId x, std::string_view kind, const std::vector<std::int64_t>& axes, bool keepdims,
                        DType dtype) {
  std::vector<std::int64_t> normal;
  if (rank(x) > 0) {
    for (std::int64_t a : axes) normal.push_back(normal_axis(x, a));
  }
  return add(Op::reduce, {x},
             {attr(AttrKey::kind, Dim(reduce_kind_number(kind))), attr(AttrKey::axes, normal),
              attr(AttrKey::keepdims, Dim(keepdims)), attr_dtype(dtype)});
}

ValueId Builder::matmul(ValueId a, ValueId b) {
  return add(Op::matmul, {a, b});
}

ValueId Builder::index_select(ValueId x, ValueId index, std::int64_t axis) {
  return add(Op::index_select, {x, index}, {attr(AttrKey::axis, normal_axis(x, axis))});
}

ValueId Builder::gather(ValueId x, ValueId index, std::int64_t axis) {
  return add(Op::gather, {x, index}, {attr(AttrKey::axis, normal_axis(x, axis))});
}

DType to_floating(DType t) {
  return is_integral(t) || t == DType::boolean ? DType::f32 : t;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_complex(a) || is_complex(b)) {
    auto level = [](DType t) {  // bytes of the real part
      switch (t) {
        case DType::c128:
        case DType::f64: return 8;
        case DType::c64:
        case DType::f32:
        case DType::bf16: return 4;
        case DType::c32:
        case DType::f16: return 2;
        default: return 0;
      }
    };
    const int l = std::max(level(a), level(b));
    return l == 8 ? DType::c128 : l == 4 ? DType::c64 : DType::c32;
  }
  const bool fa = is_floating(a), fb = is_floating(b);
  if (fa != fb) return fa ? a : b;
  if (fa) {
    if (a == DType::f64 || b == DType::f64) return DType::f64;
    const bool small_a = element_size(a) == 1, small_b = element_size(b) == 1;
    if (small_a != small_b) return small_a ? b : a;
    return DType::f32;  // f16 with bf16, or with f32; two different small floats do not promote in PyTorch
  }
  if (a == DType::boolean) return b;
  if (b == DType::boolean) return a;
  const bool sa = is_signed_integer(a), sb = is_signed_integer(b);
  const int na = element_size(a), nb = element_size(b);
  if (sa == sb) return na >= nb ? a : b;
  const int u = sa ? nb : na, s = sa ? na : nb;  // signed with unsigned: the smallest signed type containing both
  if (s > u) return sa ? a : b;
  return u == 1 ? DType::i16 : u == 2 ? DType::i32 : DType::i64;
}

ValueId Builder::constant(DType dtype, const std::vector<std::int64_t>& sizes, const void* bytes) {
  return add_constant(*this, dtype, sizes, bytes);
}

}  // namespace tern
