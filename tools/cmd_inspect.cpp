// tern inspect: the contents of an archive or a .pt2 file.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "exporter/file_kind.h"
#include "tools/command.h"
#include "tools/files/any.h"
#include "tools/inspect/gguf.h"
#include "tools/inspect/inspect.h"

namespace tern {
namespace {

struct InspectArguments {
  std::string path;
  InspectOptions options;
  bool json = false;
};

int run_inspect(InspectArguments& a) {
  if (is_gguf(a.path)) {
    fmt::print("{}", a.json ? gguf_json(a.path) : gguf_text(a.path));
    return 0;
  }
  check_program_file(a.path);
  Findings findings(Findings::Mode::collect);
  const ReadArchive archive = read_for_inspection(a.path, &a.options.imported, findings);
  const std::string text = a.json ? inspect_json(a.path, archive, findings.list(), a.options)
                                  : inspect_text(a.path, archive, findings.list(), a.options);
  fmt::print("{}", text);
  if (archive.stage != ReadStage::container) return 0;
  fail(findings.list().front().code, a.path + ": " + describe(findings.list().front()));
}

}  // namespace

void add_inspect_command(Command app, CommandLine& line) {
  auto a = std::make_shared<InspectArguments>();
  const Command c = app.add_subcommand("inspect", "Show what is in an archive, a .pt2 file or a GGUF file");
  c.add_option("file", a->path, "A .tern archive; a .pt2 file, which is imported in memory; or a GGUF file").required();
  c.add_flag("--nodes", a->options.nodes, "List every node");
  require_range(
      c.add_option("--weights", a->options.weights, "List this many of the largest weights").capture_default_str(),
      bounds::kListed);
  c.add_option("--size", a->options.sizes,
               "The value of a symbolic size, for the cost of a run (default: 32 or the nearest allowed). May be "
               "repeated")
      .type_name("NAME=NUMBER");
  c.add_flag("--json", a->json, "Print everything as JSON");
  c.footer(
      "Examples:\n  tern inspect model.tern\n  tern inspect model.tern --size s0=8\n"
      "  tern inspect model.pt2 --json | python3 -m json.tool\n\n"
      "Shows functions with the names of their inputs as 'tern run' takes them, parameters, the floating-point "
      "operations and the peak memory of a run, custom operators, weights, ops, and the operators that they come "
      "from.\n"
      "Safe on any bytes. An archive with ops or types that this version does not know can be inspected, but not run.");
  c.callback([a, &line] { line.status = run_inspect(*a); });
}

}  // namespace tern
