#include "devices/gpu/cuda/kept_plans.h"

#include <cstdio>

#include "devices/program_cache/program_cache.h"

namespace tern::gpu {
namespace {

using namespace cudnn;

std::string identity(const CudnnTarget& target, const PlanName& name) {
  return target.plan_key + '\n' + name.text();
}

}  // namespace

PlanName& PlanName::add(double number) {
  char text[32];
  std::snprintf(text, sizeof text, " %.17g", number);
  text_ += text;
  return *this;
}

PlanName& PlanName::add(const std::vector<std::int64_t>& numbers) {
  text_ += " [";
  for (const std::int64_t n : numbers) text_ += std::to_string(n) + ',';
  text_ += ']';
  return *this;
}

std::unique_ptr<CudnnPlan> kept_plan(const CudnnApi& api, const CudnnTarget& target, const PlanName& name) {
  if (target.plan_key.empty()) return nullptr;
  const std::string json = cached_program(identity(target, name));
  if (json.empty()) return nullptr;
  Descriptor plan = plan_without_engine(api, target);
  plan.set(kPlanJson, kTypeChar, std::span<const char>(json));
  return finalize_plan(api, std::move(plan));
}

void keep_plan(const CudnnApi& api, const CudnnTarget& target, const PlanName& name, const CudnnPlan& plan) {
  if (target.plan_key.empty()) return;
  std::int64_t count = 0;
  if (api.get(plan.plan.handle(), kPlanJson, kTypeChar, 0, &count, nullptr) != kSuccess || count <= 0) return;
  std::string json(static_cast<std::size_t>(count), '\0');
  if (api.get(plan.plan.handle(), kPlanJson, kTypeChar, count, &count, json.data()) != kSuccess) return;
  json.resize(json.find_last_not_of('\0') + 1);
  store_program(identity(target, name), json);
}

}  // namespace tern::gpu
