// Copies between strided views.
#include <tern/error.h>

#include "kernels/portable/launches.h"

namespace tern::portable {
namespace {

/// A type of as many bytes: copies do not look at what elements mean.
DType carrier(DType t) {
  switch (element_size(t)) {
    case 1: return DType::u8;
    case 2: return DType::u16;
    case 4: return DType::u32;
    case 8: return DType::u64;
    case 16: return DType::c128;
    default: fail(ErrorCode::internal, "no element to copy");
  }
}

}  // namespace

void copy(Launcher& launcher, const TensorView& from, const TensorView& to) {
  const std::int64_t per = elements_per_byte(to.dtype);
  const std::int64_t bytes = (to.numel() + per - 1) / per * element_size(to.dtype);
  if (bytes == 0) return;
  if (from.contiguous() && to.contiguous()) {
    launcher.copy(to.data, from.data, static_cast<std::uint64_t>(bytes));
    return;
  }
  if (per != 1) fail(ErrorCode::unsupported, "packed pairs of elements are copied whole only");
  TensorView views[] = {from, to};
  KernelCall call;
  call.device = &launcher;
  call.in = {views, 1};
  call.out = {views + 1, 1};
  Launches list(call);
  const DType t = carrier(to.dtype);
  Launch k("copy");
  k.parameter("count", to.numel());
  k.input("from", 0, t);
  k.output("to", 0, t);
  k.source.view("from", from);
  k.source.view("to", to);
  list.add(std::move(k), to.numel());
  list.run(call);
}

}  // namespace tern::portable
