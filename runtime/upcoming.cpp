#include "runtime/upcoming.h"

#include <tern/dtype.h>

#include <algorithm>
#include <cstddef>

#include "runtime/profile.h"

namespace tern {
namespace {

constexpr double kFewFlops = 1;             // for a byte of a constant: up to two rows of floats, bound by memory
constexpr double kFlopsForAByte = 12;       // of what asks: memory gives so much while it computes, and more
constexpr std::size_t kSmallest = 8192;     // bytes that are worth asking for
constexpr std::size_t kFarthest = 8 << 20;  // bytes that may lie in a cache until they are read

std::span<TensorView> inputs(Plan& plan, const Step& s) {
  return {plan.args.data() + s.args, s.inputs};
}
double flops(Plan& plan, const Step& s) {
  return flops_of(*s.resolved, inputs(plan, s), {plan.args.data() + s.args + s.inputs, s.outputs});
}

/// The constant that a step reads once from end to end, and has little else to do; empty if it is not such a step.
std::span<const std::byte> read_once(Plan& plan, const Step& s) {
  if (s.kind != Step::Kind::kernel || (s.resolved->op != Op::matmul && s.resolved->op != Op::convolution)) return {};
  if (s.inputs < 2 || !plan.constant[s.args + 1] || (s.state != nullptr && (s.state->unread & 2) != 0)) return {};
  const TensorView& weight = plan.args[s.args + 1];
  std::int64_t reach = 1;
  for (int i = 0; i < weight.rank; ++i) {
    if (weight.stride(i) < 0 || weight.size(i) == 0) return {};
    reach += (weight.size(i) - 1) * weight.stride(i);
  }
  if (reach != weight.numel() || elements_per_byte(weight.dtype) != 1) return {};
  const auto bytes = static_cast<std::size_t>(reach * element_size(weight.dtype));
  if (bytes < kSmallest || flops(plan, s) > kFewFlops * static_cast<double>(bytes)) return {};
  return {weight.data, bytes};
}

}  // namespace

void plan_upcoming(Plan& plan) {
  std::vector<std::size_t> room(plan.steps.size());  // bytes that each step can still ask for
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& s = plan.steps[i];
    if (s.state != nullptr && s.state->asks_ahead) room[i] = static_cast<std::size_t>(flops(plan, s) / kFlopsForAByte);
  }
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const std::span<const std::byte> constant = read_once(plan, plan.steps[i]);
    // The nearest steps ask for its beginning: the rest is older, and more of it may be gone.
    std::size_t begin = 0, passed = 0;
    for (std::size_t k = i; k-- > 0 && begin < constant.size() && passed < kFarthest;) {
      const std::size_t end = std::min(constant.size(), begin + room[k]);
      for (const Upcoming& u : plan.steps[k].upcoming) passed += u.end - u.begin;
      if (end - begin < kSmallest && end < constant.size()) continue;
      plan.steps[k].upcoming.push_back({constant.data(), constant.size(), begin, end});
      room[k] -= end - begin;
      passed += end - begin;
      begin = end;
    }
  }
}

}  // namespace tern
