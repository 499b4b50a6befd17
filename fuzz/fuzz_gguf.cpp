// Arbitrary bytes as a GGUF file: a decoder that obeys the loader's rules, or an Error that blames the file.
#include <tern/error.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "exporter/gguf/import.h"
#include "loader/validate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tern;
  try {
    constexpr std::int64_t kContext = 8;
    const gguf::GgufImport file =
        gguf::import_gguf(gguf::File::borrow(std::as_bytes(std::span(data, size)), "input"), kContext);
    for (std::uint32_t i = 0; i < file.program.storages.size(); ++i) {
      if (file.program.source->bytes(i).size() < file.program.storages[i].size) std::abort();
    }
    Findings findings(Findings::Mode::collect);
    validate(file.program, findings);
    if (!findings.list().empty()) std::abort();
  } catch (const Error& e) {
    // The context is valid: only bytes may be wrong.
    if (e.code() == ErrorCode::internal) std::abort();
  }
  return 0;
}
