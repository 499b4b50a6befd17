#include "exporter/passes/quantize/uses.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "exporter/passes/quantized/reads.h"
#include "schema/def_use.h"
#include "schema/op_record.h"

namespace tern::quantize {
namespace {

constexpr int kMostViews = 32;

bool is_weight_type(DType t) {
  return t == DType::f32 || t == DType::f16 || t == DType::bf16;
}

/// Strided view of a storage.
struct View {
  std::vector<std::int64_t> sizes, strides;
  std::int64_t offset = 0;
};

std::vector<std::int64_t> constants(const Dims& dims) {
  std::vector<std::int64_t> sizes;
  for (const Dim& d : dims) sizes.push_back(d.is_const() ? d.value() : -1);
  return sizes;
}

/// The view after a reshape that only adds and drops axes of size 1.
std::optional<View> reshaped(const View& v, const std::vector<std::int64_t>& sizes) {
  View r{sizes, std::vector<std::int64_t>(sizes.size(), 1), v.offset};
  std::size_t matched_axis = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 1) continue;
    while (matched_axis < v.sizes.size() && v.sizes[matched_axis] == 1) ++matched_axis;
    if (matched_axis == v.sizes.size() || v.sizes[matched_axis] != sizes[i]) return std::nullopt;
    r.strides[i] = v.strides[matched_axis++];
  }
  for (; matched_axis < v.sizes.size(); ++matched_axis) {
    if (v.sizes[matched_axis] != 1) return std::nullopt;
  }
  return r;
}

std::optional<View> viewed(const View& v, const Node& n, const TensorType& result) {
  const std::vector<std::int64_t> sizes = constants(result.shape);
  if (std::ranges::find(sizes, -1) != sizes.end()) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(v.sizes.size());
  if (n.op == Op::permute) {
    View r{sizes, {}, v.offset};
    for (const Dim& axis : n.dims(AttrKey::axes))
      r.strides.push_back(v.strides[static_cast<std::size_t>((axis.value() + rank) % rank)]);
    return r;
  }
  if (n.op == Op::reshape) return reshaped(v, sizes);
  if (n.op == Op::slice) {
    const auto axis = static_cast<std::size_t>((n.integer(AttrKey::axis) + rank) % rank);
    const Dim start = n.dim(AttrKey::start);
    if (!start.is_const() || n.integer(AttrKey::step) != 1) return std::nullopt;
    return View{sizes, v.strides, v.offset + start.value() * v.strides[axis]};
  }
  return std::nullopt;
}

/// Follows the values that are views of one state.
class WeightReads {
 public:
  WeightReads(const Program& program, std::uint32_t function, const DefUse& def_use, std::uint32_t storage,
              Weight& weight)
      : f_(program.functions[function]), def_use_(def_use), function_(function), storage_(storage), weight_(weight) {}

  void trace(ValueId v, const View& view, int depth = 0) {
    if (depth > kMostViews) return obstacle(fmt::format("more than {} views are chained", kMostViews));
    for (const ValueReader& r : def_use_.readers(v)) add_reader(r.node, r.operand, view, depth);
    if (def_use_.result_count(v) > 0) obstacle("it is an output");
  }

 private:
  void add_reader(std::size_t node, std::size_t operand, const View& view, int depth) {
    const Node& n = f_.nodes[node];
    if (is_view(n.op) && operand == 0) {
      const ValueId result = n.outputs[0];
      if (const auto next = viewed(view, n, f_.values[static_cast<std::size_t>(result)].type))
        return trace(result, *next, depth + 1);
      return obstacle(fmt::format("{} is between it and its reader", op_name(n.op)));
    }
    const bool product = n.op == Op::matmul || n.op == Op::grouped_matmul;
    if ((product || n.op == Op::convolution) && operand == 1) {
      const DType x = f_.values[static_cast<std::size_t>(n.inputs[0])].type.dtype;
      if (!is_weight_type(x)) return obstacle(fmt::format("it is multiplied by {}", name_of(x)));
      return product ? factor(node, view) : kernels(node, n, view);
    }
    if (n.op == Op::index_select && operand == 0 && view.sizes.size() == 2 && n.integer(AttrKey::axis) == 0) {
      return add_use(node, false,
                     {storage_, view.offset, view.sizes[0], view.sizes[1], view.strides[0], view.strides[1]});
    }
    if (n.op == Op::embedding_bag && operand == 0 && view.sizes.size() == 2 && quantized::read_of(f_, n)) {
      return add_use(node, false,
                     {storage_, view.offset, view.sizes[0], view.sizes[1], view.strides[0], view.strides[1]});
    }
    obstacle(product ? fmt::format("it is operand {} of {}", operand, op_name(n.op))
                     : fmt::format("{} reads it", op_name(n.op)));
  }

  /// [.., k, n] of a product.
  void factor(std::size_t node, const View& view) {
    const std::size_t k = view.sizes.size() - 2, n = k + 1;
    MatrixPart matrix_part{storage_, view.offset, view.sizes[n], view.sizes[k], view.strides[n], view.strides[k]};
    if (k > 1) return obstacle("it is a batch of more than three axes");
    if (k == 1) {
      matrix_part.batched = true;
      matrix_part.planes = view.sizes[0];
      matrix_part.plane_stride = view.strides[0];
    }
    add_use(node, true, matrix_part);
  }

  /// [o, i, kernel...] of a convolution.
  void kernels(std::size_t node, const Node& n, const View& view) {
    constexpr std::int64_t kFewChannels = 8;  // channels of a group
    if (n.integer(AttrKey::transposed) != 0) return obstacle("it belongs to a transposed convolution");
    const std::int64_t groups = n.integer(AttrKey::groups);
    if (groups > 1 && view.sizes[0] / groups < kFewChannels)
      return obstacle(fmt::format("it belongs to a convolution with fewer than {} channels in a group", kFewChannels));
    std::int64_t columns = 1;
    for (std::size_t i = view.sizes.size(); i-- > 1;) {
      if (view.sizes[i] != 1 && view.strides[i] != columns) return obstacle("its kernels are not contiguous");
      columns *= view.sizes[i];
    }
    add_use(node, true, {storage_, view.offset, view.sizes[0], columns, view.strides[0], 1});
  }

  void add_use(std::size_t node, bool product, const MatrixPart& matrix_part) {
    weight_.uses.push_back({function_, node, product, matrix_part});
  }
  void obstacle(std::string text) {
    if (weight_.obstacle.empty()) weight_.obstacle = std::move(text);
  }

  const Function& f_;
  const DefUse& def_use_;
  std::uint32_t function_, storage_;
  Weight& weight_;
};

}  // namespace

std::map<std::uint32_t, Weight> weights_of(const Program& program) {
  std::map<std::uint32_t, Weight> weights;
  for (std::uint32_t i = 0; i < program.states.size(); ++i) {
    const State& s = program.states[i];
    if (!is_weight_type(s.type.dtype) || s.type.quantized() || s.type.rank() < 2) continue;
    const auto [it, first] = weights.try_emplace(s.storage);
    if (first) it->second = {i, s.type.dtype, {}, {}};
    if (s.type.dtype != it->second.type) it->second.obstacle = "its bytes are also read as another type";
  }
  // A storage is a weight only if all its states are.
  for (std::uint32_t i = 0; i < program.states.size(); ++i) {
    const State& s = program.states[i];
    const auto it = weights.find(s.storage);
    if (it == weights.end()) continue;
    Weight& w = it->second;
    if (s.is_mutable) w.obstacle = "the program changes it";
    if (s.type.dtype != w.type || s.type.rank() < 2) {
      if (w.obstacle.empty()) w.obstacle = fmt::format("it shares bytes with '{}'", s.name);
    }
  }
  for (std::uint32_t f = 0; f < program.functions.size(); ++f) {
    const DefUse def_use(program.functions[f]);
    for (const FunctionInput& input : program.functions[f].inputs) {
      if (input.kind != FunctionInput::Kind::state || input.value == kNoValue) continue;
      const State& s = program.states[input.state];
      const auto it = weights.find(s.storage);
      if (it == weights.end() || s.type.dtype != it->second.type || s.type.rank() < 2) continue;
      WeightReads(program, f, def_use, s.storage, it->second)
          .trace(input.value, {constants(s.type.shape), s.strides, s.offset});
    }
  }
  std::erase_if(weights, [](const auto& w) { return w.second.uses.empty() && w.second.obstacle.empty(); });
  return weights;
}

}  // namespace tern::quantize
