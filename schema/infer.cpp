#include "schema/infer.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "schema/infer/attributes.h"
#include "schema/linear.h"
#include "schema/op_record.h"

namespace tern {

Inference::Inference(const Program& prog, ExprPool& p, const Node& n, std::vector<const TensorType*> inputs)
    : node(n), pool(p), program(prog), inputs_(std::move(inputs)) {}

const TensorType& Inference::in(std::size_t i) const {
  if (!has(i)) fail(fmt::format("operand {} is missing", i));
  return *inputs_[i];
}

void Inference::fail(const std::string& message) const {
  std::string types;
  constexpr std::size_t kMaxShownOperands = 8;  // limit, because a hostile node may have many operands with long sizes
  for (std::size_t i = 0; i < inputs_.size() && i < kMaxShownOperands; ++i) {
    types += (i == 0 ? "" : ", ") + (inputs_[i] == nullptr ? "-" : text_of(*inputs_[i], pool));
  }
  if (inputs_.size() > kMaxShownOperands) types += ", ...";
  tern::fail(ErrorCode::bad_file, fmt::format("{}({}): {}", op_name(node.op), types, message));
}

std::size_t Inference::axis(AttrKey key, int rank) const {
  const std::int64_t v = integer(key);
  if (v < -rank || v >= rank)
    fail(fmt::format("attribute '{}' is {}, outside {}..{}", attr_name(key), v, -rank, rank - 1));
  return static_cast<std::size_t>(v < 0 ? v + rank : v);
}

std::vector<std::size_t> Inference::axes(AttrKey key, int rank) const {
  std::vector<std::size_t> result;
  for (Dim d : node.dims(key)) {
    if (!d.is_const() || d.value() < -rank || d.value() >= rank) {
      fail(fmt::format("attribute '{}' names an axis outside rank {}", attr_name(key), rank));
    }
    const auto a = static_cast<std::size_t>(d.value() < 0 ? d.value() + rank : d.value());
    if (std::find(result.begin(), result.end(), a) != result.end())
      fail(fmt::format("attribute '{}' repeats axis {}", attr_name(key), a));
    result.push_back(a);
  }
  return result;
}

const Dims& Inference::list(AttrKey key, std::size_t length) const {
  const Dims& d = node.dims(key);
  if (d.size() != length) fail(fmt::format("attribute '{}' has {} values, not {}", attr_name(key), d.size(), length));
  return d;
}

std::vector<std::int64_t> Inference::integers(AttrKey key, std::size_t length) const {
  if (node.has(key)) list(key, length);
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < length; ++i) result.push_back(node.integer_at(key, i));
  return result;
}

bool Inference::differ(Dim a, Dim b) const {
  if (a.is_const() && b.is_const()) return a.value() != b.value();
  const Interval d = difference(pool, a, b);
  return d.min > 0 || d.max < 0;
}

void Inference::require_equal(Dim a, Dim b, const char* subject) const {
  if (differ(a, b)) fail(fmt::format("{} differ: {} and {}", subject, pool.text(a), pool.text(b)));
}

Dims Inference::broadcast(const Dims& a, const Dims& b) const {
  const Dims& longer_shape = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims result = longer_shape;
  const std::size_t skip = longer_shape.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    const Dim x = longer_shape[skip + i], y = shorter[i];
    if (x == y || y.is(1)) continue;
    if (x.is(1)) {
      result[skip + i] = y;
      continue;
    }
    require_equal(x, y, "broadcast sizes");
    if (y.is_const()) result[skip + i] = y;  // constants are the stronger statement
  }
  return result;
}

std::vector<TensorType> infer(const Program& program, ExprPool& pool, const Node& node,
                              const std::vector<const TensorType*>& inputs) {
  const OpRecord& info = op_record(node.op);
  Inference c(program, pool, node, inputs);
  if (info.infer == nullptr) c.fail(fmt::format("op {} is not known to this version", static_cast<int>(node.op)));
  const int n = static_cast<int>(inputs.size());
  if (n < info.min_inputs || (info.max_inputs >= 0 && n > info.max_inputs))
    c.fail(fmt::format("wrong number of operands: {}", n));
  if (node.op != Op::pointwise && !node.expr.code.empty()) c.fail("only pointwise nodes can have an expression");
  check_attributes(c);
  info.infer(c);
  for (const TensorType& t : c.outputs) {
    if (t.rank() > kMaxRank) c.fail(fmt::format("a result has rank {}; at most {} is supported", t.rank(), kMaxRank));
  }
  return std::move(c.outputs);
}

}  // namespace tern
