// tern.Model, tern.Function, tern.Session, tern.Graph.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "python/binding/runner.h"

namespace tern::python {

struct PyModel {
  std::shared_ptr<Facts> facts;
  std::shared_ptr<SessionPool> pool;
};
struct PySession {
  std::shared_ptr<Facts> facts;
  std::shared_ptr<OneSession> session;
};
/// A function of a model or a session.
struct PyFunction {
  std::shared_ptr<Facts> facts;
  const FunctionEntry* entry;
  std::shared_ptr<Runner> runner;
};

void add_values(nanobind::module_& m);
void add_model(nanobind::module_& m);
void add_session(nanobind::module_& m);
void add_graph(nanobind::module_& m);
void add_trace(nanobind::module_& m);
void add_command(nanobind::module_& m);
void add_log(nanobind::module_& m);
void add_linalg(nanobind::module_& m);
void add_sparse(nanobind::module_& m);
void add_text(nanobind::module_& m);

/// `with object as x`: `enter` throws for a closed object, `close` ends the block.
template <class T, class Enter, class Close>
void add_context(nanobind::class_<T>& c, const char* enter_signature, Enter enter, Close close) {
  c.def(
      "__enter__",
      [enter](nanobind::handle self) {
        enter(nanobind::cast<const T&>(self));
        return nanobind::borrow(self);
      },
      nanobind::sig(enter_signature));
  c.def(
      "__exit__", [close](const T& self, const nanobind::args&) { close(self); },
      nanobind::sig("def __exit__(self, *_: object) -> None"));
}

/// {name: Function} of the functions, run by `runner`.
nanobind::dict functions_of(const std::shared_ptr<Facts>& facts, const std::shared_ptr<Runner>& runner);

}  // namespace tern::python
