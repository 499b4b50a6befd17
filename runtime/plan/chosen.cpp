#include "runtime/plan/chosen.h"

#include "kernels/algorithm.h"
#include "runtime/plan/plans.h"
#include "schema/op_record.h"

namespace tern {
namespace {

/// Types of products: what both operands are, or what the precision rounds them to.
DType product_type(const SectionPlan& plan, const PlanStep& step, Precision precision) {
  const TensorView* in = plan.args.data() + step.args;
  const DType x = step.inputs > 0 ? in[0].dtype : DType::invalid, w = step.inputs > 1 ? in[1].dtype : x;
  if (x == DType::f64 || x == DType::c128) return DType::f64;
  if (is_integral(x) && element_size(x) == 1) return DType::i8;
  const bool rounds = precision == Precision::bfloat16 && x == DType::f32;
  return rounds || (x == DType::bf16 && (w == DType::bf16 || w == DType::invalid)) ? DType::bf16 : DType::f32;
}

}  // namespace

std::map<std::pair<std::string, std::uint32_t>, ChosenKernel> chosen_kernels(const PreparedProgram& prepared) {
  std::map<std::pair<std::string, std::uint32_t>, ChosenKernel> chosen;
  for (const std::shared_ptr<const SectionPlan>& plan : prepared.plans->cached_plans()) {
    const std::string& function = prepared.program->functions[plan->key.function].name;
    for (const PlanStep& step : plan->steps) {
      if (step.kind != PlanStep::Kind::kernel || step.resolved == nullptr) continue;
      ChosenKernel& kernel = chosen[{function, step.number}];
      if (step.state != nullptr) kernel.algorithm = name_of(step.state->algorithm);
      kernel.products = product_type(*plan, step, prepared.precision(*step.resolved));
    }
  }
  return chosen;
}

}  // namespace tern
