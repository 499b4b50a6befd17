// Conversions between dtypes, and operators about a tensor's device or memory layout.
#include <array>

#include "exporter/lower/pointwise.h"

namespace tern {
namespace {

/// Values have no memory of their own here: copies and views are the value itself.
Values alias_self(Builder&, const Call& c) {
  return {c.tensor("self")};
}

/// Converts to the recorded dtype, valid also for dtype=None, a lone device, _cast_Float and the like. Memory formats
/// and devices do not affect values.
Values cast(Builder& b, const Call& c) {
  return {convert_to(b, c, c.tensor("self"), c.result_dtype())};
}

/// Returns the new self: the source in self's dtype and shape.
Values copy(Builder& b, const Call& c) {
  const ValueId self = c.tensor("self");
  return {b.expand(convert_to(b, c, c.tensor("src"), b.dtype(self)), b.shape(self))};
}

constexpr std::array kCastLowerings = {
    Lowering{"aten.copy.default", copy},
    Lowering{"aten.to.dtype", cast},
    Lowering{"aten.to.dtype_layout", cast},
    Lowering{"aten.to.device", cast},
    Lowering{"aten.to.other", cast},
    Lowering{"aten.to.prim_Device", cast},
    Lowering{"aten.to.prim_dtype", cast},
    Lowering{"aten.to.prim_other", cast},
    Lowering{"aten._to_copy.default", cast},
    Lowering{"aten.type_as.default", cast},
    Lowering{"aten.chalf.default", cast},
    Lowering{"aten._cast_Byte.default", cast},
    Lowering{"aten._cast_Char.default", cast},
    Lowering{"aten._cast_Double.default", cast},
    Lowering{"aten._cast_Float.default", cast},
    Lowering{"aten._cast_Half.default", cast},
    Lowering{"aten._cast_Int.default", cast},
    Lowering{"aten._cast_Long.default", cast},
    Lowering{"aten._cast_Short.default", cast},
    Lowering{"aten._autocast_to_full_precision.default", cast},
    Lowering{"aten._autocast_to_reduced_precision.default", cast},
    Lowering{"prims.convert_element_type.default",
             [](Builder& b, const Call& c) -> Values { return {convert_to(b, c, c.tensor("a"), c.result_dtype())}; }},
    Lowering{"aten.alias.default", alias_self},
    Lowering{"aten.alias_copy.default", alias_self},
    Lowering{"aten.clone.default", alias_self},
    Lowering{"aten.contiguous.default", alias_self},
    Lowering{"aten.cpu.default", alias_self},
    Lowering{"aten.cuda.default", alias_self},
    Lowering{"aten.detach.default", alias_self},
    Lowering{"aten.detach_copy.default", alias_self},
    Lowering{"aten.lift.default", alias_self},
    Lowering{"aten.lift_fresh.default", alias_self},
    Lowering{"aten.lift_fresh_copy.default", alias_self},
    Lowering{"aten.positive.default", alias_self},
    Lowering{"aten.resolve_conj.default", alias_self},
    Lowering{"aten.resolve_neg.default", alias_self},
    Lowering{"aten.data.default", alias_self},
    Lowering{"aten.pin_memory.default", alias_self},
    Lowering{"aten._pin_memory.default", alias_self},
    Lowering{"aten._lazy_clone.default", alias_self},
};

}  // namespace

std::span<const Lowering> cast_lowerings() {
  return kCastLowerings;
}

}  // namespace tern
