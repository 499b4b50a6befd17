// tern.TextEngine, tern.TextAnswer.
#pragma once

#include <nanobind/nanobind.h>

namespace tern::python {

void add_text_engine(nanobind::module_& m);

}  // namespace tern::python
