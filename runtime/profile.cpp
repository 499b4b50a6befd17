#include "runtime/profile.h"

#include <algorithm>

namespace tern {
namespace {

double bytes_of(const TensorView& v) {
  if (v.dtype == DType::invalid) return 0;
  // An expanded axis is read once.
  double elements = 1;
  for (int i = 0; i < v.rank; ++i) elements *= v.stride(i) == 0 && v.size(i) > 1 ? 1 : static_cast<double>(v.size(i));
  return elements * element_size(v.dtype) / elements_per_byte(v.dtype);
}

double last(const TensorView& v, int from_end) {
  return v.rank < from_end ? 1 : static_cast<double>(v.size(v.rank - from_end));
}

/// Counts at most one read of the first operand per output element.
bool reads_part(const Step& step) {
  if (step.kind != Step::Kind::kernel || step.resolved == nullptr) return false;
  return step.resolved->op == Op::index_select || step.resolved->op == Op::gather;
}

}  // namespace

double flops_of(const Node& node, std::span<const TensorView> in, std::span<const TensorView> out) {
  if (out.empty() || out[0].dtype == DType::invalid) return 0;
  const auto results = static_cast<double>(out[0].numel());
  switch (node.op) {
    case Op::matmul:
    case Op::grouped_matmul: return 2 * results * last(in[0], 1);
    case Op::convolution: {
      const auto weights = static_cast<double>(in[1].numel());
      // Each element of the result (of the input, when transposed) meets the weights of one output channel.
      const bool transposed = node.integer(AttrKey::transposed) != 0;
      const TensorView& many = transposed ? in[0] : out[0];
      const double channels = transposed ? static_cast<double>(in[0].size(1)) : static_cast<double>(in[1].size(0));
      return channels == 0 ? 0 : 2 * static_cast<double>(many.numel()) * weights / channels;
    }
    case Op::attention: return 2 * results * last(in[1], 2) * (1 + last(in[0], 1) / std::max(1.0, last(out[0], 1)));
    case Op::pointwise: return results * static_cast<double>(node.expr.code.size());
    default: return 0;
  }
}

void Profile::add(std::uint32_t function, const Step& step, std::span<const TensorView> in,
                  std::span<const TensorView> out, double seconds) {
  Entry& e = entries_[{function, step.number}];
  e.seconds += seconds;
  ++e.runs;
  e.members = step.members;
  if (step.kind == Step::Kind::kernel && step.resolved != nullptr && step.members <= 1)
    e.flops += flops_of(*step.resolved, in, out);
  double results = 0;
  for (const TensorView& v : out) results += bytes_of(v);
  e.bytes += results;
  for (const TensorView& v : in)
    e.bytes += reads_part(step) && &v == in.data() ? std::min(bytes_of(v), results) : bytes_of(v);
}

void Profile::add_span(std::uint32_t function, std::uint32_t node, double seconds) {
  Entry& e = entries_[{function, node}];
  e.seconds += seconds;
  ++e.launches;
}

std::vector<NodeTime> Profile::times(const Program& program) const {
  std::vector<NodeTime> times;
  for (const auto& [at, e] : entries_) {
    const Function& f = program.functions[at.first];
    const Node& n = f.nodes[at.second];
    NodeTime t{f.name,  at.second, std::string(op_info(n.op).name), {}, {}, e.seconds, e.runs, e.launches, e.flops,
               e.bytes, e.members};
    if (e.members > 0) t.op = "partition";
    if (n.origin >= 0) {
      const Origin& origin = program.origins[static_cast<std::size_t>(n.origin)];
      t.origin = origin.op;
      t.module = origin.module;
    }
    times.push_back(std::move(t));
  }
  std::ranges::sort(times, std::greater<>(), &NodeTime::seconds);
  return times;
}

}  // namespace tern
