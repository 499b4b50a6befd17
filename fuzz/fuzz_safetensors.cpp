// Arbitrary bytes as a safetensors file: tensors with data of matching size, or an Error that blames the file.
#include <tern/error.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "runtime/weights/safetensors.h"
#include "tools/files/safetensors.h"

namespace {

template <class F>
void guarded(const F& f) {
  using tern::ErrorCode;
  try {
    f();
  } catch (const tern::Error& e) {
    // The reader promises consistency: only the writers' callers may cause these errors.
    if (e.code() == ErrorCode::invalid_argument || e.code() == ErrorCode::internal) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tern;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  guarded([&] {
    MemorySource source(bytes, "input");
    const NamedTensors file = read_safetensors(source);
    for (const auto& [name, tensor] : file.tensors) {
      require_consistent(tensor, name);
      if (file.find(name) == nullptr) std::abort();
    }
  });
  // Reads in place, for a program's weights.
  guarded([&] {
    for (const auto& [name, tensor] : read_weights(bytes, "input")) {
      if (tensor.bytes.size() > size) std::abort();
    }
  });
  return 0;
}
