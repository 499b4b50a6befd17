#include "devices/gpu/libraries/staging.h"

#include "devices/gpu/libraries/lt_plan.h"
#include "devices/gpu/library.h"

namespace tern::gpu {
namespace {

std::uint64_t elements(const Matrix& m, std::int32_t batch) {
  return static_cast<std::uint64_t>((batch - 1) * m.batch_offset + (m.columns - 1) * m.leading + m.rows);
}

std::uint64_t addend_elements(const Product& p) {
  if (p.addend == Addend::none) return 0;
  return p.addend == Addend::vector ? static_cast<std::uint64_t>(p.d.rows) : elements(p.c, p.batch);
}

bool is_aligned(Address address) {
  return address % kLtAlignment == 0;
}

tern_device_status copy(Stream stream, Address to, Address from, std::uint64_t bytes) {
  return checked(api().copy_within(to, from, bytes, stream), "copying an operand");
}

}  // namespace

Staging::Staging(const Product& p, const LtTypes& t)
    : a_(elements(p.a, p.batch) * t.bytes),
      b_(elements(p.b, p.batch) * t.bytes),
      c_(addend_elements(p) * t.out_bytes),
      d_(elements(p.d, p.batch) * t.out_bytes) {}

std::uint64_t Staging::bytes() const {
  return a_ + b_ + c_ + d_ + std::uint64_t{4} * kLtAlignment;
}

tern_device_status Staging::copy_in(Stream stream, Address room, ProductAddresses* at) const {
  struct Operand {
    Address* address;
    std::uint64_t bytes;
    bool is_read;
  };
  const bool has_addend = c_ != 0;
  for (const Operand& o : {Operand{&at->a, a_, true}, {&at->b, b_, true}, {&at->c, c_, true}, {&at->d, d_, false}}) {
    if (o.bytes == 0 || is_aligned(*o.address)) continue;
    room = aligned(room, kLtAlignment);
    if (o.is_read) TERN_GPU_TRY(copy(stream, room, *o.address, o.bytes));
    *o.address = room;
    room += o.bytes;
  }
  if (!has_addend) at->c = at->d;
  return TERN_DEVICE_OK;
}

tern_device_status Staging::copy_out(Stream stream, const ProductAddresses& made, const ProductAddresses& asked) const {
  return made.d == asked.d ? TERN_DEVICE_OK : copy(stream, asked.d, made.d, d_);
}

}  // namespace tern::gpu
