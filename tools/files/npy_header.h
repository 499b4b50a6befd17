// The header of a .npy file: a Python dictionary such as {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
#pragma once

#include <tern/dtype.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/files/byte_source.h"

namespace tern {

struct NpyHeader {
  DType dtype = DType::invalid;
  bool fortran_order = false;
  std::vector<std::int64_t> sizes;
};

/// The first bytes of a file.
inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

/// All that stands before the data, which begin at the source's position then. Versions 1 to 3.
NpyHeader read_npy_header(ByteSource& source);

/// `text_offset` is where the text stands in the file, for errors.
NpyHeader parse_npy_header(std::string_view text, std::uint64_t text_offset, std::string_view file);

/// "<f4"; empty for a type that NumPy does not have.
std::string_view npy_descr(DType dtype);

}  // namespace tern
