#include "devices/gpu/libraries/lt_plan.h"

namespace tern::gpu {
namespace {

// Workspace limit: NVIDIA recommends 32 MiB for Hopper, 4 MiB for others ("cublasSetWorkspace").
constexpr std::uint64_t kWorkspace = std::uint64_t{32} << 20;

/// Sets attributes and remembers failures.
template <class Object>
class Attributes {
 public:
  using Set = Status (*)(Object, int, const void*, std::size_t);
  Attributes(Set set, const LtObject& object) : set_(set), object_(object.get()) {}

  template <class T>
  void set(int attribute, T value) {
    is_valid_ = is_valid_ && set_(object_, attribute, &value, sizeof value) == kSuccess;
  }
  [[nodiscard]] bool is_valid() const { return is_valid_; }

 private:
  Set set_;
  Object object_;
  bool is_valid_ = true;
};

LtObject layout(const LtApi& api, const Matrix& m, int type, std::int32_t batch) {
  LtLayout made = nullptr;
  LtObject object(nullptr, api.layout_destroy);
  if (api.layout_create(&made, type, static_cast<std::uint64_t>(m.rows), static_cast<std::uint64_t>(m.columns),
                        m.leading) != kSuccess)
    return object;
  object.reset(made);
  Attributes<LtLayout> attributes(api.layout_set, object);
  attributes.set(names::kLtBatchCount, batch);
  attributes.set(names::kLtBatchOffset, m.batch_offset);
  if (!attributes.is_valid()) object.reset();
  return object;
}

/// 0: one scale for the whole matrix (the default).
std::int32_t mode_of(Scales scales) {
  return scales == Scales::rows ? names::kLtScaleOfRows : scales == Scales::blocks ? names::kLtScaleOfBlocks : 0;
}

LtObject description(const LtApi& api, const Product& p, const LtTypes& types, int compute, Activation activation,
                     Scales scales) {
  LtProduct made = nullptr;
  LtObject object(nullptr, api.product_destroy);
  if (api.product_create(&made, compute, types.scale) != kSuccess) return object;
  object.reset(made);
  Attributes<LtProduct> attributes(api.product_set, object);
  attributes.set(names::kLtTransA, std::int32_t{p.a.transposed ? names::kLtTransposed : names::kLtNormal});
  attributes.set(names::kLtTransB, std::int32_t{p.b.transposed ? names::kLtTransposed : names::kLtNormal});
  // Epilogues combine bits, except the default: RELU, BIAS, RELU_BIAS ...
  std::uint32_t epilogue = static_cast<std::uint32_t>(activation);
  if (p.addend == Addend::vector) {
    epilogue |= names::kLtEpilogueBias;
    attributes.set(names::kLtBiasType, std::int32_t{types.out});
  }
  if (epilogue != 0) attributes.set(names::kLtEpilogue, epilogue);
  if (const std::int32_t mode = mode_of(scales); mode != 0) {
    attributes.set(names::kLtScaleModeA, mode);
    attributes.set(names::kLtScaleModeB, mode);
  }
  // Each call sets its own scales; the heuristic only needs to know about their presence.
  if (scales != Scales::none)
    for (const int attribute : {names::kLtScaleA, names::kLtScaleB}) attributes.set(attribute, std::uint64_t{16});
  if (!attributes.is_valid()) object.reset();
  return object;
}

std::optional<LtChoice> choose(Lt& lt, const Product& p, const LtPlan& plan, std::uint32_t alignment,
                               std::uint32_t out_alignment) {
  LtPreference made = nullptr;
  if (lt.api.preference_create(&made) != kSuccess) return std::nullopt;
  const LtObject preference(made, lt.api.preference_destroy);
  Attributes<LtPreference> attributes(lt.api.preference_set, preference);
  attributes.set(names::kLtWorkspace, kWorkspace);
  // Adds partial sums in float32, not in the result's 16 bits.
  if constexpr (names::kLtReductions >= 0)
    attributes.set(names::kLtReductions, std::uint32_t{names::kLtReduceInCompute});
  int operand = 0;
  for (const int attribute : names::kLtAlignments)
    attributes.set(attribute, std::uint32_t{operand++ < 2 ? alignment : out_alignment});
  // "Routines that don't dereference this pointer, like cublasLtMatmulAlgoGetHeuristic() depend on its value to
  // determine expected pointer alignment" (cublasLt.h).
  if (p.addend == Addend::vector && lt.api.product_set(plan.product.get(), names::kLtBiasPointer,
                                                       std::data({std::uint64_t{out_alignment}}), 8) != kSuccess)
    return std::nullopt;
  if (!attributes.is_valid()) return std::nullopt;
  LtChoice choice;
  int count = 0;
  const int error = lt.api.heuristic(lt.handle, plan.product.get(), plan.a.get(), plan.b.get(), plan.c.get(),
                                     plan.d.get(), preference.get(), 1, &choice, &count);
  if (error != kSuccess || count < 1 || choice.status != kSuccess) return std::nullopt;
  return choice;
}

}  // namespace

std::unique_ptr<LtPlan> lt_plan(Lt& lt, const Product& p, const LtTypes& types, Activation activation, Scales scales) {
  if (mode_of(scales) < 0) return nullptr;
  const std::lock_guard lock(lt.lock);
  for (const int compute : types.computes) {
    auto plan = std::make_unique<LtPlan>(LtPlan{description(lt.api, p, types, compute, activation, scales),
                                                layout(lt.api, p.a, types.a, p.batch),
                                                layout(lt.api, p.b, types.b, p.batch),
                                                layout(lt.api, p.c, types.out, p.batch),
                                                layout(lt.api, p.d, types.out, p.batch),
                                                {},
                                                {}});
    if (!plan->product || !plan->a || !plan->b || !plan->c || !plan->d) continue;
    plan->aligned = choose(lt, p, *plan, kLtAlignment, kLtAlignment);
    if (!plan->aligned) continue;
    plan->unaligned = choose(lt, p, *plan, types.bytes, types.out_bytes);
    return plan;
  }
  return nullptr;
}

}  // namespace tern::gpu
