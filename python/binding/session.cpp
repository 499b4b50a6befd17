// tern.Session.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <utility>

#include "python/binding/arrays.h"
#include "python/binding/call.h"
#include "python/binding/instance.h"
#include "python/binding/model.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tern::python {
namespace {

PyObject* call_session(PyObject* self, PyObject* args, PyObject* kwargs) {
  return call_slot([&] {
    const auto& s = instance<PySession>(self);
    return call(s.facts->main(), *s.session, args, kwargs);
  });
}

double step(const PySession& s, const nb::args& args, double rate, const std::string& method,
            const nb::kwargs& kwargs) {
  // The rate is the last input of a step.
  FunctionEntry entry = s.facts->entry(method);
  if (!entry.inputs.empty()) entry.inputs.pop_back();
  entry.flatten = nb::none();
  std::vector<Tensor> inputs = arguments_of(entry, args, kwargs);
  double loss = 0;
  s.session->run_exclusive([&](Session& session) {
    if (method == "train_step") {
      loss = session.step(inputs, rate);
      return;
    }
    inputs.push_back(Tensor::borrow(&rate, DType::f64, {}));
    session.run(method, inputs);
    const Tensor& result = session.output("loss");
    if (result.dtype() != DType::f64 && result.dtype() != DType::f32)
      throw Error(ErrorCode::unsupported, "the loss of '" + method + "' has 16 bits: read it with run()");
    loss = result.dtype() == DType::f64 ? result.span<const double>()[0] : result.span<const float>()[0];
  });
  return loss;
}

/// Time of a call without Python.
double time_of(const PySession& s, const nb::args& args, int runs, const std::string& function,
               const nb::kwargs& kwargs) {
  const FunctionEntry& entry = function.empty() ? s.facts->main() : s.facts->entry(function);
  const std::vector<Tensor> inputs = arguments_of(entry, args, kwargs);
  double seconds = 0;
  s.session->run_exclusive([&](Session& session) {
    session.run(entry.info->name, inputs);  // plans
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; ++i) session.run(entry.info->name, inputs);
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  });
  return runs > 0 ? seconds / runs : 0;
}

void add_state(nb::class_<PySession>& c) {
  c.def(
      "read_state",
      [](const PySession& s, const std::string& name) {
        Tensor t;
        s.session->run_exclusive([&](Session& session) { t = session.read_state(name); });
        return t;
      },
      "name"_a, "A copy of a state as this session sees it.");
  c.def(
      "write_state",
      [](const PySession& s, const std::string& name, nb::handle value) {
        const Tensor t = tensor_of(value, DType::invalid, name);
        s.session->run_exclusive([&](Session& session) { session.write_state(name, t); });
      },
      "name"_a, "value"_a, "Sets a mutable state to a new value of the same dtype and shape.");
  c.def(
      "reset_state",
      [](const PySession& s) { s.session->run_exclusive([](Session& session) { session.reset_state(); }); },
      "Resets all mutable states to their values in the archive.");
  c.def(
      "seed",
      [](const PySession& s, std::uint64_t seed) {
        s.session->run_exclusive([&](Session& session) { session.set_seed(seed); });
      },
      "seed"_a, "Seeds the random numbers of later calls.");
}

void add_times(nb::class_<PySession>& c) {
  c.def(
      "profile", [](nb::handle self) { return nb::module_::import_("tern._profile").attr("profile_session")(self); },
      nb::sig("def profile(self) -> tern._profile.Profile"),
      "Times each node of the calls in a block: with session.profile() as p: ...; print(p).");
  c.def("time", &time_of, "args"_a, nb::kw_only(), "runs"_a = 10, "function"_a = "", "kwargs"_a,
        "Seconds of a call: the mean of `runs` successive runs in C++, after one that plans.");
  c.def("_set_profiling", [](const PySession& s, bool on) {
    s.session->run_exclusive([&](Session& session) { session.set_profiling(on); });
  });
  c.def("_times", [](const PySession& s) {
    std::vector<NodeTime> times;
    s.session->run_exclusive([&](Session& session) { times = session.profile(); });
    return times;
  });
  c.def(
      "stats",
      [](const PySession& s) {
        SessionStats stats;
        s.session->run_exclusive([&](Session& session) { stats = session.stats(); });
        return stats;
      },
      "What the session uses.");
}

}  // namespace

void add_session(nb::module_& m) {
  static PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(call_session)}, {0, nullptr}};
  nb::class_<PySession> c(m, "Session", nb::type_slots(slots),
                          R"(One user's states, random numbers and memory; model.session() makes it.

Calls are as those of a Model. A session belongs to one thread at a time: a call from a second thread while one runs is an
error.)");
  c.def_prop_ro(
      "functions", [](const PySession& s) { return functions_of(s.facts, s.session); },
      nb::sig("def functions(self) -> dict[str, Function]"), "The functions by their names.");
  c.def(
      "__getitem__",
      [](const PySession& s, const std::string& name) {
        return PyFunction{s.facts, &s.facts->entry(name), s.session};
      },
      "function"_a, "The function of this name.");
  c.def_prop_ro(
      "closed", [](const PySession& s) { return s.session->is_closed(); },
      "True once the session or its model was closed.");
  c.def(
      "close", [](const PySession& s) { s.session->close(); },
      "Frees the session's memory at once. Results of calls stay valid; a graph keeps what it needs until it goes. A "
      "block of `with model.session() as session` closes it at its end.");
  c.def(
      "cancel", [](const PySession& s) { s.session->cancel(); },
      "Ends a run on another thread before its next node: it raises tern.Cancelled. The session stays usable; its "
      "mutable states may hold values of that run. No effect without a run.");
  add_context<PySession>(
      c, "def __enter__(self) -> Session", [](const PySession& s) { s.session->run_exclusive([](Session&) {}); },
      [](const PySession& s) { s.session->close(); });
  add_state(c);
  add_times(c);
  c.def("step", &step, "args"_a, nb::kw_only(), "rate"_a, "method"_a = "train_step", "kwargs"_a,
        "One step of training of an archive of export(train=...): returns the loss before the update. `method` names a "
        "step of train={'step': ...}.");
  c.def("__reduce_ex__",
        [](nb::handle self, int) { return nb::module_::import_("tern._arrays").attr("reduce")(self); });
}

}  // namespace tern::python
