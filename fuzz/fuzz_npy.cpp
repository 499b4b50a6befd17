// Arbitrary bytes as an .npy file, and as an .npz file, read or mapped: tensors with data of matching size, or an Error
// that blames the file.
#include <tern/error.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "tools/files/mapped.h"
#include "tools/files/npy.h"
#include "tools/files/npz.h"

namespace {

template <typename Read>
void attempt(Read read) {
  try {
    read();
  } catch (const tern::Error& e) {
    if (e.code() == tern::ErrorCode::invalid_argument || e.code() == tern::ErrorCode::internal) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tern;
  const auto bytes = std::as_bytes(std::span(data, size));
  attempt([&] {
    MemorySource source(bytes, "input");
    require_consistent(read_npy(source), "input");
  });
  attempt([&] {
    for (const auto& [name, tensor] : read_npz(bytes, "input").tensors) require_consistent(tensor, name);
  });
  attempt([&] {
    const MappedTensors file = MappedTensors::npz(bytes, "input");
    for (const MappedTensor& t : file.tensors()) {
      if (static_cast<std::uint64_t>(checked_bytes(t.dtype, t.sizes).value()) != t.bytes.size()) std::abort();
    }
  });
  attempt([&] {
    const MappedTensors file = MappedTensors::safetensors(bytes, "input");
    for (const MappedTensor& t : file.tensors()) {
      if (static_cast<std::uint64_t>(checked_bytes(t.dtype, t.sizes).value()) != t.bytes.size()) std::abort();
    }
  });
  return 0;
}
