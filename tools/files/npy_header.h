// The header of a .npy file: a Python dictionary, for example {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3),
// }.
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

/// Reads the header; the source's position is then the begin of the data. Versions 1 to 3.
NpyHeader read_npy_header(ByteSource& source);

/// `text_offset` is the text's offset in the file, for errors.
NpyHeader parse_npy_header(std::string_view text, std::uint64_t text_offset, std::string_view file);

/// NumPy's name of a type: "<f4"; empty if NumPy lacks the type.
std::string_view npy_descr(DType dtype);

}  // namespace tern
