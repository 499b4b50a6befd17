// Structs beginning with their size: caller and library may know different members.
#pragma once

#include <tern/c_api.h>

#include <cstddef>

namespace tern::c_api {

/// Copies as many bytes of a caller's struct as its size says, over the defaults.
void read_struct(void* to, std::size_t size, const void* from);

/// Copies as many bytes of `from` as the size of `to` says.
void write_info(const tern_value_info& from, tern_value_info* to);

}  // namespace tern::c_api
