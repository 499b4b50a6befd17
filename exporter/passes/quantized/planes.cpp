#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "exporter/builder.h"
#include "exporter/passes/constant_part.h"
#include "exporter/passes/passes.h"
#include "exporter/rewrite.h"
#include "schema/passes/dead_code.h"

namespace tern {
namespace {

class Planes {
 public:
  Planes(Program& program, std::uint32_t function)
      : program_(program), number_(function), f_(program.functions[function]), constants_(program, f_) {}

  bool run() {
    const std::vector<bool> is_stack = stacks();
    if (std::ranges::find(is_stack, true) == is_stack.end()) return false;
    Builder b(program_, number_);
    for (const Node& n : std::exchange(b.function().nodes, {})) {
      if (!is_plane(n) || !is_stack[static_cast<std::size_t>(n.inputs[0])]) {
        b.function().nodes.push_back(n);
        continue;
      }
      b.set_origin(n.origin, n.annotations);
      const ValueId result = plane(b, n.inputs[0], n.dim(AttrKey::start));
      replaced_.emplace(n.outputs[0], result);
    }
    use_instead(b.function(), replaced_);
    return true;
  }

 private:
  const TensorType& type(ValueId v) const { return f_.values[static_cast<std::size_t>(v)].type; }

  static std::int64_t size(const TensorType& t, std::size_t axis) {
    return t.shape[axis].is_const() ? t.shape[axis].value() : -1;
  }

  /// True for slices of one element along the first axis.
  bool is_plane(const Node& n) const {
    return n.op == Op::slice && n.integer(AttrKey::axis) == 0 && n.dim(AttrKey::start).is_const() &&
           n.dim(AttrKey::length).is_const() && n.dim(AttrKey::length).value() == 1;
  }

  /// Marks weights of floats that are computed of fewer bytes, and of which only planes are read.
  std::vector<bool> stacks() const {
    std::vector<bool> found(f_.values.size());
    const auto reads_plane = [&](const ValueReader& r) { return is_plane(f_.nodes[r.node]); };
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto v = static_cast<ValueId>(i);
      const auto readers = constants_.def_use().readers(v);
      found[i] = !readers.empty() && constants_.def_use().result_count(v) == 0 &&
                 std::ranges::all_of(readers, reads_plane) && is_stack(v);
    }
    return found;
  }

  bool is_stack(ValueId v) const {
    const TensorType& t = type(v);
    if (!constants_.constant(v) || constants_.producer(v) < 0 || t.quantized() || t.rank() < 3 || size(t, 0) < 2)
      return false;
    if (t.dtype != DType::f32 && t.dtype != DType::f16 && t.dtype != DType::bf16) return false;
    std::uint64_t bytes = 0, stacked_bytes = static_cast<std::uint64_t>(element_size(t.dtype));
    for (const std::uint32_t s : constants_.slice(v).states)
      bytes += program_.storages[program_.states[s].storage].size;
    for (std::size_t i = 0; i < t.shape.size(); ++i)
      stacked_bytes *= static_cast<std::uint64_t>(std::max<std::int64_t>(0, size(t, i)));
    return bytes > 0 && bytes < stacked_bytes;
  }

  /// True if the result depends on the number of planes, or on the number of a plane.
  static bool counts_planes(const Node& n) {
    return n.has(AttrKey::sizes) || std::ranges::any_of(n.expr.code, [](const Instruction& i) {
             return i.op == Scalar::index && i.integer == 0;
           });
  }

  /// Element `at` of the first axis of v; the axis stays, with size 1.
  ValueId plane(Builder& b, ValueId v, Dim index) {
    const auto [it, fresh] = planes_.try_emplace({v, index.value()}, kNoValue);
    if (!fresh) return it->second;
    const std::optional<Node> node = node_of_plane(b, v, index);
    ValueId result = kNoValue;
    if (node) {
      TensorType t = type(v);
      t.shape[0] = Dim(1);
      Node n = *node;
      n.outputs = {result = b.add_value(t)};
      b.function().nodes.push_back(std::move(n));
    } else {
      result = b.slice(v, 0, index, Dim(1));
    }
    planes_[{v, index.value()}] = result;
    return result;
  }

  /// The node that computes v, over planes; empty if v itself is to be sliced.
  std::optional<Node> node_of_plane(Builder& b, ValueId v, Dim index) {
    if (constants_.producer(v) < 0) return std::nullopt;
    Node n = f_.nodes[static_cast<std::size_t>(constants_.producer(v))];
    const TensorType t = type(v);
    const std::int64_t planes = size(t, 0);
    if (n.outputs.size() != 1) return std::nullopt;
    const auto leads = [&](ValueId u) {
      return type(u).rank() > 0 && !type(u).quantized() && size(type(u), 0) == planes;
    };
    switch (n.op) {
      case Op::pointwise:
        if (counts_planes(n)) return std::nullopt;
        for (ValueId& u : n.inputs) {
          if (u == kNoValue || type(u).rank() < t.rank() || size(type(u), 0) == 1) continue;  // the same for all
          if (!leads(u)) return std::nullopt;
          u = plane(b, u, index);
        }
        return n;
      case Op::reshape: {
        if (!leads(n.inputs[0])) return std::nullopt;
        n.inputs[0] = plane(b, n.inputs[0], index);
        Dims sizes = t.shape;
        sizes[0] = Dim(1);
        n.set(AttrKey::sizes, sizes);
        return n;
      }
      case Op::permute:
        if (n.dims(AttrKey::axes)[0] != Dim(0) || !leads(n.inputs[0])) return std::nullopt;
        n.inputs[0] = plane(b, n.inputs[0], index);
        return n;
      case Op::concat: {
        const std::int64_t axis = n.integer(AttrKey::axis);
        if (axis == 0 || axis == -t.rank() || !std::ranges::all_of(n.inputs, leads)) return std::nullopt;
        for (ValueId& u : n.inputs) u = plane(b, u, index);
        return n;
      }
      default: return std::nullopt;
    }
  }

  Program& program_;
  std::uint32_t number_;
  const Function f_;  ///< the function before the change
  ConstantPart constants_;
  std::map<std::pair<ValueId, std::int64_t>, ValueId> planes_;
  std::map<ValueId, ValueId> replaced_;
};

}  // namespace

void take_planes_first(Program& program) {
  bool is_changed = false;
  for (std::uint32_t f = 0; f < program.functions.size(); ++f) is_changed = Planes(program, f).run() || is_changed;
  if (is_changed) remove_dead_code(program);
}

}  // namespace tern
