// The header of a .npy file: a Python dictionary such as {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
#pragma once

#include <tern/dtype.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace tern {

struct NpyHeader {
  DType dtype = DType::invalid;
  bool fortran_order = false;
  std::vector<std::int64_t> sizes;
};

/// `text_offset` is where the text stands in the file, for errors.
NpyHeader parse_npy_header(std::string_view text, std::uint64_t text_offset, std::string_view file);

/// "<f4"; empty for a type that NumPy does not have.
std::string_view npy_descr(DType dtype);

}  // namespace tern
