// A type's table of C functions for exchanging tensors without Python code (DLPack 1.2, DLPackExchangeAPI), present in
// torch.Tensor. Ten times faster than __dlpack__.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

#include "runtime/dlpack_abi.h"

namespace tern::python {

/// The table's memory layout; the names are Tern's.
struct DlpackExchange {
  std::uint32_t major, minor;
  DlpackExchange* previous;
  int (*allocate)(dlpack::Array*, dlpack::Versioned**, void*, void (*)(void*, const char*, const char*));
  int (*from_python)(void* object, dlpack::Versioned** tensor);  ///< not 0: a Python exception is set
  int (*to_python)(dlpack::Versioned* tensor, void** object);
  int (*view)(void* object, dlpack::Array* array);  ///< may be null
  int (*stream)(std::int32_t device_type, std::int32_t device, void** stream);
};

/// The table of an object's type, or null. Throws Error for an object whose memory differs from its values: torch's
/// conjugated and negated views, not expressible in DLPack.
const DlpackExchange* exchange_of(nanobind::handle object, std::string_view name);

}  // namespace tern::python
