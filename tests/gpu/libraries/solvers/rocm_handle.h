// rocBLAS's handle, also used by rocSOLVER.
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/gpu/api.h"

namespace tern::stand_in {

struct RocmHandle {
  std::uint32_t magic = 0x726f636d;
  gpu::Function kernel = nullptr;
  gpu::Stream stream = nullptr;
  gpu::Address workspace = 0;
  std::size_t work_bytes = 0;
  bool is_asked = false;   ///< during a query of the workspace size
  std::size_t needed = 0;  ///< the largest size of the query
};

}  // namespace tern::stand_in
