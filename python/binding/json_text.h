// JSON of Python objects.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

namespace tern::python {

/// Text of json.dumps(). A string is JSON already; None gives an empty text.
inline std::string json_of(const nanobind::object& value) {
  if (value.is_none()) return {};
  if (nanobind::isinstance<nanobind::str>(value)) return nanobind::cast<std::string>(value);
  const nanobind::object dumps = nanobind::module_::import_("json").attr("dumps");
  return nanobind::cast<std::string>(dumps(value, nanobind::arg("ensure_ascii") = false));
}

}  // namespace tern::python
