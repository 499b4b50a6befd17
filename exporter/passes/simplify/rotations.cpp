// Rotary embeddings, x * cos + concat(-x2, x1) * sin with halves x1 and x2 of x. A view of x with swapped halves reads
// the halves in place, and the sign goes to the sines, common to all layers. One pointwise node then replaces the copy
// of the halves; results are equal bit for bit.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "exporter/builder.h"
#include "exporter/passes/passes.h"
#include "exporter/passes/simplify/dataflow.h"
#include "schema/passes/dead_code.h"

namespace tern {
namespace {

/// Node indices in the original function.
struct RotationNodes {
  std::size_t sum, cosine_product,
      sine_product;  ///< plain + turned; a product by cosines; a product of the halves by sines
  ValueId halves = kNoValue, rotated = kNoValue;
};

class Rotations {
 public:
  Rotations(Program& program, std::uint32_t function)
      : b_(program, function), f_(program.functions[function]), flow_(f_) {}

  bool run() {
    std::map<std::size_t, RotationNodes> found;
    for (std::size_t i = 0; i < f_.nodes.size(); ++i) {
      if (const auto r = rotation(i)) found.emplace(i, *r);
    }
    if (found.empty()) return false;
    const std::vector<Node> nodes = std::exchange(f_.nodes, {});
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto r = found.find(i);
      if (r == found.end()) {
        f_.nodes.push_back(nodes[i]);
      } else {
        rotate(r->second, nodes);
      }
    }
    return true;
  }

 private:
  const TensorType& type(ValueId v) const { return flow_.type(v); }

  /// Size of the shape's last axis if even; else 0.
  static std::int64_t width(const Dims& shape) {
    const std::int64_t n = shape.empty() || !shape.back().is_const() ? 0 : shape.back().value();
    return n % 2 == 0 ? n : 0;
  }

  std::optional<RotationNodes> rotation(std::size_t i) const {
    const Node& n = f_.nodes[i];
    const auto sum = flow_.operation(n);
    if (!sum || sum->op != Scalar::add || !is_plain(n)) return {};
    const ValueId a = sum->operands[0].value, b = sum->operands[1].value;
    for (const auto& [cosine_product, sine_product] : {std::pair(a, b), std::pair(b, a)}) {
      if (cosine_product == kNoValue || sine_product == kNoValue || !is_product(cosine_product) ||
          !is_product(sine_product))
        continue;
      const Dims& shape = type(n.outputs[0]).shape;
      if (type(cosine_product).shape != shape || type(sine_product).shape != shape) continue;
      const Node& product = f_.nodes[static_cast<std::size_t>(flow_.producer(sine_product))];
      for (const ValueId halves : product.inputs) {
        const ValueId base = turned_halves(halves);
        if (base == kNoValue || type(base).shape != shape) continue;
        return RotationNodes{i, static_cast<std::size_t>(flow_.producer(cosine_product)),
                             static_cast<std::size_t>(flow_.producer(sine_product)), halves, base};
      }
    }
    return {};
  }

  /// True for two operands, neither broadcast along the last axis.
  bool is_plain(const Node& n) const {
    const std::int64_t last = width(type(n.outputs[0]).shape);
    return last > 0 && n.inputs.size() == 2 && n.inputs[0] != n.inputs[1] && !n.has(AttrKey::sizes) &&
           std::ranges::all_of(n.inputs, [&](ValueId v) { return width(type(v).shape) == last; });
  }
  /// True for a product with a single reader.
  bool is_product(ValueId v) const {
    const auto product = flow_.is_read_by(v, 1) ? flow_.operation(v) : std::nullopt;
    return product && product->op == Scalar::mul && is_plain(f_.nodes[static_cast<std::size_t>(flow_.producer(v))]);
  }

  /// x of a concat(-x2, x1) with a single reader.
  ValueId turned_halves(ValueId v) const {
    const Node* n = flow_.is_read_by(v, 1) ? flow_.made_by(v, Op::concat) : nullptr;
    const int last = type(v).rank() - 1;
    if (n == nullptr || n->inputs.size() != 2 || n->integer(AttrKey::axis) != last) return kNoValue;
    const auto minus = flow_.operation(n->inputs[0]);
    if (!minus || minus->op != Scalar::neg || minus->operands[0].value == kNoValue) return kNoValue;
    const std::int64_t half = width(type(v).shape) / 2;
    const ValueId second = half_of(minus->operands[0].value, half, half), first = half_of(n->inputs[1], 0, half);
    return first == second && first != kNoValue && type(first).dtype == type(v).dtype ? first : kNoValue;
  }
  ValueId half_of(ValueId v, std::int64_t start, std::int64_t length) const {
    const Node* n = flow_.made_by(v, Op::slice);
    if (n == nullptr) return kNoValue;
    const int rank = type(v).rank();
    const std::int64_t axis = n->integer(AttrKey::axis);
    const bool is_half = (axis < 0 ? axis + rank : axis) == rank - 1 && n->dim(AttrKey::start).is(start) &&
                         n->dim(AttrKey::length).is(length) && n->integer(AttrKey::step) == 1;
    return is_half ? n->inputs[0] : kNoValue;
  }

  /// [..., 2, half]
  ValueId split(ValueId v) {
    Dims shape = b_.shape(v);
    const std::int64_t half = shape.back().value() / 2;
    shape.back() = 2;
    shape.push_back(half);
    return b_.reshape(v, shape);
  }
  ValueId product(const Node& n, ValueId a, ValueId b) {
    Node node = n;
    node.inputs = {a, b};
    node.outputs.clear();
    return b_.add(std::move(node)).front();
  }

  void rotate(const RotationNodes& r, const std::vector<Node>& nodes) {
    const Node &sum = nodes[r.sum], &cosine_product = nodes[r.cosine_product], &sine_product = nodes[r.sine_product];
    b_.set_origin(sum.origin, sum.annotations);
    const std::size_t sines = sine_product.inputs[0] == r.halves ? 1 : 0;
    const ValueId swapped_halves = b_.flip(split(r.rotated), {-2}), factor = split(sine_product.inputs[sines]);
    const ValueId with_sign =
        b_.expr(fmt::format("index({}) == 0 ? -s : s", b_.rank(factor) - 2), {{"s", factor}}, b_.dtype(factor));
    const ValueId p = product(cosine_product, split(cosine_product.inputs[0]), split(cosine_product.inputs[1]));
    const ValueId t = sines == 1 ? product(sine_product, swapped_halves, with_sign)
                                 : product(sine_product, with_sign, swapped_halves);
    const bool first = cosine_product.outputs[0] == sum.inputs[0];
    b_.reshape(product(sum, first ? p : t, first ? t : p), type(sum.outputs[0]).shape);
    f_.nodes.back().outputs = sum.outputs;
  }

  Builder b_;
  Function& f_;
  Dataflow flow_;
};

}  // namespace

void turn_halves_in_place(Program& program) {
  bool is_changed = false;
  for (std::uint32_t f = 0; f < program.functions.size(); ++f) is_changed = Rotations(program, f).run() || is_changed;
  if (is_changed) remove_dead_code(program);
}

}  // namespace tern
