#include "fuzz/ops/one_op.h"

#include <tern/error.h>

#include <cstdlib>
#include <utility>

#include "exporter/archive_writer.h"
#include "fuzz/ops/table.h"

namespace tern::fuzz {

const std::vector<Op>& all_ops() {
  static const std::vector<Op> ops = {
#define TERN_FUZZ_OP(number, name) Op::name,
      TERN_OPS(TERN_FUZZ_OP)
#undef TERN_FUZZ_OP
  };
  return ops;
}

namespace {

/// The result of `take` for the program; a default if the op's rule refuses.
template <class Take>
auto make(Op op, Choices& c, Wild wild, Take take) -> decltype(take(std::declval<Make&>())) {
  const Maker maker = makers()[static_cast<std::size_t>(op)];
  if (maker == nullptr) return {};
  try {
    Make m(op, c, wild);
    maker(m);
    m.finish();
    return take(m);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::internal) std::abort();
    return {};
  }
}

}  // namespace

std::vector<std::byte> one_op(Op op, Choices& c) {
  return make(op, c, Wild::on, [](Make& m) { return archive_bytes(m.program); });
}

std::optional<TameOp> tame_op(Op op, Choices& c) {
  return make(op, c, Wild::off, [](Make& m) { return std::optional(TameOp{std::move(m.program), m.special}); });
}

}  // namespace tern::fuzz
