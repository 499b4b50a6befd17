// Valid programs run clean: the bytes choose an op and its program (ops/), and the target runs the program in every
// mode.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fuzz/ops/one_op.h"
#include "fuzz/run/aligned.h"
#include "fuzz/run/trial.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tern::fuzz;
  if (size < 2) return 0;
  Choices c({data + 1, size - 1});
  const auto bytes = one_op(all_ops()[data[0] % all_ops().size()], c);
  if (bytes.empty()) return 0;
  Aligned archive(bytes);
  const Outcome outcome = run_archive(archive.span(), c);
  if (outcome.kind == Outcome::finding) {
    std::fprintf(stderr, "FOUND %s\n", outcome.message.c_str());
    std::abort();
  }
  return 0;
}
