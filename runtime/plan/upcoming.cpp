#include "runtime/plan/upcoming.h"

#include <tern/dtype.h>

#include <algorithm>
#include <cstddef>

#include "runtime/profile.h"

namespace tern {
namespace {

constexpr double kFewFlops = 1;             // per byte of a constant in memory-bound steps: up to two rows
constexpr double kFlopsForAByte = 12;       // flops per prefetched byte: memory supplies a byte during so many flops
constexpr std::size_t kSmallest = 8192;     // smallest prefetch in bytes
constexpr std::size_t kFarthest = 8 << 20;  // largest distance in bytes between prefetch and use

double flops(SectionPlan& plan, const PlanStep& s) {
  const KernelCall call = s.call(plan.args.data() + s.args, plan.constant.get() + s.args);
  return flops_of(*call.node, call.in, call.out);
}

/// Returns the constant read once from end to end by a memory-bound step; empty for other steps.
std::span<const std::byte> read_once(SectionPlan& plan, const PlanStep& s) {
  if (s.kind != PlanStep::Kind::kernel || s.kernel->algorithms.empty()) return {};
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

void plan_upcoming(SectionPlan& plan) {
  struct Asker {
    std::vector<Upcoming>& upcoming;
    std::size_t room;  ///< bytes left to prefetch
  };
  std::vector<Asker> askers;  // steps before the reading step
  for (PlanStep& s : plan.steps) {
    const std::span<const std::byte> constant = askers.empty() ? std::span<const std::byte>() : read_once(plan, s);
    // The nearest steps prefetch the beginning: older bytes are more likely to be evicted.
    std::size_t begin = 0, passed = 0;
    for (std::size_t k = askers.size(); k-- > 0 && begin < constant.size() && passed < kFarthest;) {
      Asker& asker = askers[k];
      const std::size_t end = std::min(constant.size(), begin + asker.room);
      for (const Upcoming& u : asker.upcoming) passed += u.end - u.begin;
      if (end - begin < kSmallest && end < constant.size()) continue;
      asker.upcoming.push_back({constant.data(), constant.size(), begin, end});
      asker.room -= end - begin;
      passed += end - begin;
      begin = end;
    }
    if (s.state != nullptr && s.state->asks_ahead)
      askers.push_back({s.upcoming, static_cast<std::size_t>(flops(plan, s) / kFlopsForAByte)});
  }
}

}  // namespace tern
