// Copies between strided views.
#include <tern/error.h>

#include "kernels/portable/movement.h"

namespace tern::portable {

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

TensorView part(const TensorView& v, int axis, std::int64_t start, std::int64_t length, std::int64_t step,
                std::int64_t* offset) {
  TensorView p = v;
  const auto a = static_cast<std::size_t>(axis);
  *offset += start * v.stride(axis);
  p.sizes[a] = length;
  p.strides[a] = v.stride(axis) * step;
  return p;
}

void add_copy(Launches& list, const CopyEnd& from, const CopyEnd& to, std::optional<std::uint64_t> scratch) {
  const DType t = carrier(to.view.dtype);
  Launch k("copy");
  k.parameter("count", to.view.numel());
  k.parameter("from_offset", from.offset);
  k.parameter("to_offset", to.offset);
  k.input("from", from.argument, t);
  scratch ? k.scratch("to", *scratch, t, true) : k.output("to", to.argument, t);
  k.source.view("from", from.view);
  k.source.view("to", to.view);
  list.add(std::move(k), to.view.numel());
}

void copy(Launcher& launcher, const TensorView& from, const TensorView& to) {
  const std::int64_t per = elements_per_byte(to.dtype);
  const std::int64_t bytes = (to.numel() + per - 1) / per * element_size(to.dtype);
  if (bytes == 0) return;
  if (from.contiguous() && to.contiguous()) return launcher.copy(to.data, from.data, static_cast<std::uint64_t>(bytes));
  if (per != 1) fail(ErrorCode::unsupported, "packed pairs of elements are copied whole only");
  TensorView views[] = {from, to};
  KernelCall call;
  call.launcher = &launcher;
  call.in = {views, 1};
  call.out = {views + 1, 1};
  Launches list(call);
  add_copy(list, {0, from}, {0, to});
  list.run(call);
}

}  // namespace tern::portable
