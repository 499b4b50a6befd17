// rocBLAS's handle, which rocSOLVER takes too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/gpu/api.h"

namespace tern::stand_in {

struct RocmHandle {
  std::uint32_t magic = 0x726f636d;
  gpu::Function kernel = nullptr;
  gpu::Stream stream = nullptr;
  gpu::Address work = 0;
  std::size_t work_bytes = 0;
  bool is_asked = false;   ///< for the size of a workspace
  std::size_t needed = 0;  ///< the largest one since then
};

}  // namespace tern::stand_in
