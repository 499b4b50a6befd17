// The module tern._tern: the compiled part of the package.
#include <nanobind/nanobind.h>
#include <tern/version.h>

#include "python/binding/errors.h"
#include "python/binding/fork.h"
#include "python/binding/model.h"
#include "python/binding/tensor.h"
#include "python/binding/text_embedder.h"
#include "python/binding/text_engine.h"

namespace nb = nanobind;

NB_MODULE(_tern, m) {
  // Objects held by the application's globals at exit are not leaks.
  nb::set_leak_warnings(false);
  m.doc() = "The compiled part of the package tern.";
  m.attr("__version__") = TERN_VERSION_STRING;
  tern::python::watch_forks();
  tern::python::register_errors();
  tern::python::add_tensor(m);
  tern::python::add_text(m);
  tern::python::add_values(m);
  tern::python::add_model(m);
  tern::python::add_text_engine(m);
  tern::python::add_text_embedder(m);
  tern::python::add_session(m);
  tern::python::add_graph(m);
  tern::python::add_trace(m);
  tern::python::add_command(m);
  tern::python::add_log(m);
  tern::python::add_linalg(m);
  tern::python::add_sparse(m);
}
