// The command in this process: called by export, validate, verify, inspect and devices of the package.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "loader/findings.h"
#include "loader/read_archive.h"
#include "python/binding/fork.h"
#include "python/binding/gil.h"
#include "python/binding/model.h"
#include "tools/check_file.h"
#include "tools/command_line.h"
#include "tools/inspect/inspect.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tern::python {
namespace {

std::pair<int, std::string> run_text(const std::vector<std::string>& words) {
  check_fork();
  std::string text;
  const WithoutGil released;
  const int status = run_for_text(words, &text);
  return {status, std::move(text)};
}

int run_main(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& w : words) arguments.push_back(w.data());
  arguments.push_back(nullptr);
  const WithoutGil released;
  return run_command_line(static_cast<int>(words.size()), arguments.data());
}

/// A tuple (rule, unsupported, offset, where, message) for each finding.
nb::list check(const std::string& path) {
  check_fork();
  FileCheck found;
  {
    const WithoutGil released;
    found = check_file(path);
  }
  if (found.failure) throw Error(*found.failure);
  nb::list all;
  for (const Finding& f : found.findings)
    all.append(nb::make_tuple(f.rule, f.code == ErrorCode::unsupported, f.offset, f.where, f.message));
  return all;
}

/// The archive as JSON and as text.
std::pair<std::string, std::string> inspect(const std::string& path, const std::string& label,
                                            const std::vector<std::string>& sizes) {
  check_fork();
  const WithoutGil released;
  InspectOptions options;
  options.sizes = sizes;
  Findings findings(Findings::Mode::collect);
  const ReadArchive archive = read_for_inspection(path, &options.imported, findings);
  if (archive.stage == ReadStage::container)
    fail(findings.list().front().code, label + ": " + describe(findings.list().front()));
  const std::string json = inspect_json(label, archive, findings.list(), options);
  return {json, inspect_text(label, archive, findings.list(), options)};
}

}  // namespace

void add_command(nb::module_& m) {
  m.def("_run", &run_text, "words"_a);
  m.def("_main", &run_main, "words"_a);
  m.def("_check", &check, "path"_a);
  m.def("_inspect", &inspect, "path"_a, "label"_a, "sizes"_a = std::vector<std::string>());
}

}  // namespace tern::python
