// tern.ValueInfo, tern.StateInfo, tern.NodeTime: facts as objects.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <tern/tern.h>

#include <algorithm>

#include "python/binding/model.h"

namespace nb = nanobind;

namespace tern::python {
namespace {

/// Numbers, and texts for symbolic sizes: (4, 's0', '2*s0').
nb::tuple shape_of(const ValueInfo& v) {
  nb::list list;
  for (const SizeInfo& s : v.sizes) {
    if (s.constant) {
      list.append(s.value);
    } else {
      list.append(s.text);
    }
  }
  return nb::tuple(list);
}

/// "images: float32[s0, 8]"
std::string text_of(const ValueInfo& v) {
  if (!v.fixed.empty()) return fmt::format("{}: {}", v.name, v.fixed);
  if (v.dtype == DType::invalid) return v.name + ": None";
  std::string sizes;
  for (const SizeInfo& s : v.sizes) sizes += (sizes.empty() ? "" : ", ") + s.text;
  return fmt::format("{}: {}[{}]", v.name, name_of(v.dtype), sizes);
}

void add_value_info(nb::module_& m) {
  nb::class_<ValueInfo>(m, "ValueInfo", "An input or output of a function.")
      .def_ro("name", &ValueInfo::name)
      .def_prop_ro(
          "dtype", [](const ValueInfo& v) { return std::string(name_of(v.dtype)); },
          "Element type by PyTorch's name; 'invalid' for None.")
      .def_prop_ro("shape", &shape_of, nb::sig("def shape(self) -> tuple[int | str, ...]"),
                   "A number for each constant size, a text for each symbolic one: (2, 's0', 's0 + 1').")
      .def_ro("fixed", &ValueInfo::fixed,
              "Python text of the value that export fixed; '' for an input that calls give.")
      .def("__repr__", &text_of);
}

void add_state_info(nb::module_& m) {
  nb::class_<StateInfo>(m, "StateInfo", "A parameter, buffer or constant of the program.")
      .def_ro("name", &StateInfo::name)
      .def_prop_ro("dtype", [](const StateInfo& s) { return std::string(name_of(s.dtype)); })
      .def_prop_ro("shape",
                   [](const StateInfo& s) {
                     nb::list list;
                     for (const std::int64_t n : s.sizes) list.append(n);
                     return nb::tuple(list);
                   })
      .def_ro("is_parameter", &StateInfo::is_parameter)
      .def_ro("is_mutable", &StateInfo::is_mutable, "Whether some function updates it.")
      .def_ro("replaceable", &StateInfo::replaceable, "Whether with_weights() can replace it.")
      .def("__repr__", [](const StateInfo& s) {
        std::string sizes;
        for (const std::int64_t n : s.sizes) sizes += (sizes.empty() ? "" : ", ") + std::to_string(n);
        return fmt::format("{}: {}[{}]", s.name, name_of(s.dtype), sizes);
      });
}

void add_node_time(nb::module_& m) {
  nb::class_<NodeTime>(m, "NodeTime", "What a node took in all profiled runs.")
      .def_ro("function", &NodeTime::function)
      .def_ro("node", &NodeTime::node, "Number in the function.")
      .def_ro("op", &NodeTime::op, "Of Tern: 'matmul'.")
      .def_ro("origin", &NodeTime::origin, "ATen operator: 'aten.linear.default'.")
      .def_ro("module", &NodeTime::module, "Module path: 'encoder.layers.0.fc1'.")
      .def_ro("seconds", &NodeTime::seconds)
      .def_ro("runs", &NodeTime::runs)
      .def_ro("flops", &NodeTime::flops, "Floating-point operations that the definition needs.")
      .def_ro("bytes", &NodeTime::bytes, "Bytes of operands and results.")
      .def("__repr__", [](const NodeTime& n) {
        return fmt::format("NodeTime({} of '{}': {}, {:.1f} us in {} runs)", n.node, n.function, n.op, n.seconds * 1e6,
                           n.runs);
      });
}

void add_stats(nb::module_& m) {
  nb::class_<SessionStats>(m, "SessionStats", "What a session uses.")
      .def_ro("arena_bytes", &SessionStats::arena_bytes, "Memory for intermediate values.")
      .def_ro("state_bytes", &SessionStats::state_bytes, "The session's mutable state.")
      .def_ro("plans_made", &SessionStats::plans_made)
      .def_ro("bytes_copied", &SessionStats::bytes_copied,
              "In the last run, by copies that the program did not ask for.");
}

}  // namespace

void add_values(nb::module_& m) {
  add_value_info(m);
  add_state_info(m);
  add_node_time(m);
  add_stats(m);
}

}  // namespace tern::python
