#include "runtime/profile.h"

#include <algorithm>

#include "schema/op_record.h"

namespace tern {
namespace {

double bytes_of_profile(const TensorView& v) {
  if (v.dtype == DType::invalid) return 0;
  // An expanded axis counts once.
  double elements = 1;
  for (int i = 0; i < v.rank; ++i) elements *= v.stride(i) == 0 && v.size(i) > 1 ? 1 : static_cast<double>(v.size(i));
  return elements * element_size(v.dtype) / elements_per_byte(v.dtype);
}

/// `reads_part`: counts at most one read of the first operand per output element.
double bytes_of_profile(std::span<const TensorView> in, std::span<const TensorView> out, bool reads_part) {
  double results = 0, operands = 0;
  for (const TensorView& v : out) results += bytes_of_profile(v);
  for (const TensorView& v : in)
    operands += reads_part && &v == in.data() ? std::min(bytes_of_profile(v), results) : bytes_of_profile(v);
  return results + operands;
}

}  // namespace

double min_bytes(const Node& node, std::span<const TensorView> in, std::span<const TensorView> out) {
  return bytes_of_profile(in, out, has_trait(node.op, Trait::reads_part));
}

double flops_of(const Node& node, std::span<const TensorView> in, std::span<const TensorView> out) {
  const OperationsFn operations = op_record(node.op).operations;
  if (operations == nullptr || out.empty() || out[0].dtype == DType::invalid) return 0;
  std::vector<OperandSizes> sizes;
  for (const TensorView& v : in) sizes.push_back(v.shape());
  for (const TensorView& v : out) sizes.push_back(v.shape());
  const std::span<const OperandSizes> all(sizes);
  return operations(node, all.first(in.size()), all.subspan(in.size()));
}

void Profile::add(std::uint32_t function, const PlanStep& step, std::span<const TensorView> in,
                  std::span<const TensorView> out, double seconds) {
  Entry& e = entries_[{function, step.number}];
  e.seconds += seconds;
  ++(step.kind == PlanStep::Kind::copy ? e.copies : e.runs);
  e.members = step.members;
  const bool is_kernel = step.kind == PlanStep::Kind::kernel && step.resolved != nullptr;
  if (is_kernel && step.members <= 1) e.flops += flops_of(*step.resolved, in, out);
  e.bytes += bytes_of_profile(in, out, is_kernel && has_trait(step.resolved->op, Trait::reads_part));
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
    NodeTime t{f.name,
               at.second,
               std::string(op_name(n.op)),
               {},
               {},
               e.seconds,
               e.runs != 0 ? e.runs : e.copies,
               e.launches,
               e.flops,
               e.bytes,
               e.members};
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
