// Paths that callers give.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace tern::python {

/// The bytes of a str, bytes or os.PathLike. Throws Python's TypeError or ValueError: a path has no zero bytes.
std::string file_path_of(nanobind::handle object);

}  // namespace tern::python
