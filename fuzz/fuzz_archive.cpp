// Arbitrary bytes as an archive, unchanged and with a corrected index hash: an Error, or a program with readable
// weights. Also runs validate and inspect.
#include <tern/error.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "loader/archive.h"
#include "loader/kernel_modules.h"
#include "loader/prologue.h"
#include "loader/read_archive.h"
#include "loader/validate.h"
#include "tools/inspect/inspect.h"

namespace {

using namespace tern;

void attempt(std::span<const std::byte> bytes) {
  const std::vector<Finding> found = validate_archive(bytes);
  Findings findings(Findings::Mode::collect);
  const ReadArchive archive = read_archive(FileBytes::borrow(bytes), findings);
  inspect_text("input", archive, findings.list(), {4, true});
  inspect_json("input", archive, findings.list());
  try {
    const auto program = open_archive(bytes, {Access::map, Verify::first_use});
    for (const State& s : program->states) {
      if (program->storages[s.storage].size > (1 << 26)) continue;
      const auto weight = program->source->bytes(s.storage);
      if (weight.size() != program->storages[s.storage].size) std::abort();
      if (weight.empty()) continue;
      volatile std::byte last = weight.back();
      (void)last;
    }
    for (const DeviceKernel& k : program->kernels) {
      if (program->storages[k.storage].size <= (1 << 26)) module_problem(k.target, program->source->bytes(k.storage));
    }
  } catch (const Error& e) {
    if (e.code() == ErrorCode::internal || e.code() == ErrorCode::invalid_argument) std::abort();
    if (found.empty()) std::abort();  // validate finds whatever opening refuses
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy aligned like a caller's borrowed buffer.
  std::vector<std::uint64_t> words(size / 8 + 9);
  auto* bytes = reinterpret_cast<std::byte*>(words.data());
  bytes += (64 - reinterpret_cast<std::uintptr_t>(bytes) % 64) % 64;
  if (size > 0) std::memcpy(bytes, data, size);
  const std::span archive(bytes, size);
  attempt(archive);
  if (size < kPrologueSize) return 0;
  const auto head = archive.first<kPrologueSize>();
  const Prologue p = decode_prologue(head);
  if (p.index_offset > size || p.index_size > size - p.index_offset) return 0;
  const Hash128 hash = index_hash(head, archive.subspan(p.index_offset, p.index_size));
  std::memcpy(bytes + PrologueField::hash, &hash, sizeof hash);
  attempt(archive);
  return 0;
}
