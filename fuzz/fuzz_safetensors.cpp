// Any bytes as a safetensors file: either tensors whose data fit their sizes, or an Error that blames the file.
#include <tern/error.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "tools/files/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tern;
  try {
    MemorySource source(std::as_bytes(std::span(data, size)), "input");
    const NamedTensors file = read_safetensors(source);
    for (const auto& [name, tensor] : file.tensors) {
      require_consistent(tensor, name);
      if (file.find(name) == nullptr) std::abort();
    }
  } catch (const Error& e) {
    // Consistency is the reader's promise: only the writers' callers may break it.
    if (e.code() == ErrorCode::invalid_argument || e.code() == ErrorCode::internal) std::abort();
  }
  return 0;
}
