// tern.TextEmbedder.
#pragma once

#include <nanobind/nanobind.h>

namespace tern::python {

void add_text_embedder(nanobind::module_& m);

}  // namespace tern::python
