// tern.Graph: a captured call, to be replayed.
#include <nanobind/stl/string.h>
#include <tern/graph.h>

#include <utility>

#include "python/binding/call.h"
#include "python/binding/model.h"
#include "python/binding/owner.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tern::python {
namespace {

/// Keeps the inputs alive, because replays read their memory. The graph owns the results' memory.
struct CapturedGraph {
  std::shared_ptr<Facts> facts;
  std::shared_ptr<OneSession> session;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  Graph graph;
};
struct PyGraph {
  std::shared_ptr<CapturedGraph> captured;
  nb::object outputs;
};

std::vector<Tensor> lent(const std::shared_ptr<CapturedGraph>& c) {
  const std::shared_ptr<void> owner = owner_of(std::shared_ptr<void>(c));
  std::vector<Tensor> tensors;
  for (Tensor& t : c->outputs) {
    if (t.dtype() == DType::invalid) {
      tensors.emplace_back();
    } else if (t.device() != "cpu") {
      tensors.push_back(t);  // has its own memory
    } else {
      tensors.push_back(Tensor::borrow(t.data(), t.dtype(), t.sizes(), t.strides(), owner));
    }
  }
  return tensors;
}

PyGraph capture(const PySession& s, const nb::args& args, const std::string& function, const nb::kwargs& kwargs) {
  const FunctionEntry& entry = function.empty() ? s.facts->main() : s.facts->entry(function);
  auto c = std::make_shared<CapturedGraph>();
  c->facts = s.facts;
  c->session = s.session;
  c->inputs = arguments_of(entry, args, kwargs);
  s.session->run_exclusive([&](Session& session) {
    c->graph.capture_begin(session.stream());
    try {
      c->outputs = has_device_tensor(c->inputs) ? session.run_on_device(entry.info->name, c->inputs)
                                                : session.run(entry.info->name, c->inputs);
    } catch (...) {
      c->graph.capture_end();
      throw;
    }
    c->graph.capture_end();
  });
  return {c, results_of(entry, lent(c))};
}

nb::object replay(const PyGraph& g) {
  g.captured->session->run_exclusive([&](Session& session) {
    g.captured->graph.replay();
    session.stream().synchronize();
  });
  return g.outputs;
}

}  // namespace

void add_graph(nb::module_& m) {
  nb::class_<PyGraph>(m, "Graph", R"(A call that was captured with all addresses; session.capture() makes it.

replay() plans, checks and allocates nothing. It reads the arrays that capture() was given, so write new values into them,
and writes its results to the same tensors each time.)")
      .def("replay", &replay, nb::sig("def replay(self) -> typing.Any"),
           "Runs the captured call and returns `outputs`.")
      .def_ro("outputs", &PyGraph::outputs, "The results, which each replay overwrites.")
      .def_prop_ro(
          "memory_bytes", [](const PyGraph& g) { return g.captured->graph.memory_bytes(); },
          "Bytes that the graph owns.")
      .def(
          "__len__", [](const PyGraph& g) { return g.captured->graph.nodes().size(); }, "Number of captured nodes.")
      .def("__reduce_ex__",
           [](nb::handle self, int) { return nb::module_::import_("tern._arrays").attr("reduce")(self); });
  nb::cast<nb::class_<PySession>>(m.attr("Session"))
      .def("capture", &capture, "args"_a, nb::kw_only(), "function"_a = "", "kwargs"_a,
           "Captures a call; it computes nothing. The arrays must be contiguous, and are kept.");
}

}  // namespace tern::python
