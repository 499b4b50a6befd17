#include "fuzz/ops/one_op.h"

#include <tern/error.h>

#include <cstdlib>

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

std::vector<std::byte> one_op(Op op, Choices& c) {
  const Maker maker = makers()[static_cast<std::size_t>(op)];
  if (maker == nullptr) return {};
  try {
    Make m(op, c);
    maker(m);
    m.finish();
    return archive_bytes(m.program);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::internal) std::abort();
    return {};
  }
}

}  // namespace tern::fuzz
