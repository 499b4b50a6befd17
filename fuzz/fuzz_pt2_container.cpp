// Any bytes, opened as a .pt2 file: refused with an Error, or read with nothing outside the bytes touched.
#include <tern/error.h>

#include <cstddef>
#include <cstdint>

#include "exporter/pt2/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto container = tern::pt2::Container::borrow({reinterpret_cast<const std::byte*>(data), size});
    for (const auto& entry : container.entries()) {
      // Reads the first and the last byte.
      const auto bytes = container.data(entry);
      if (bytes.empty()) continue;
      volatile std::byte first = bytes.front(), last = bytes.back();
      (void)first, (void)last;
    }
    for (const auto& model : container.models()) tern::pt2::parse_program(container, model);
  } catch (const tern::Error&) {
  }
  return 0;
}
