// tern inspect: what is in an archive.
#include <cstdio>
#include <memory>

#include "tools/command.h"
#include "tools/inspect/inspect.h"

namespace tern {
namespace {

struct InspectArguments {
  std::string path;
  InspectOptions options;
  bool json = false;
};

int run_inspect(const InspectArguments& a) {
  Findings findings(Findings::Mode::collect);
  const ReadArchive archive = read_archive(FileBytes::open(a.path, Access::map), findings);
  const std::string text = a.json ? inspect_json(a.path, archive, findings.list())
                                  : inspect_text(a.path, archive, findings.list(), a.options);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (archive.stage != ReadStage::container) return 0;
  fail(findings.list().front().code, a.path + ": " + describe(findings.list().front()));
}

}  // namespace

void add_inspect_command(CLI::App& app, CommandLine& line) {
  auto a = std::make_shared<InspectArguments>();
  CLI::App* c = app.add_subcommand("inspect", "Show what is in an archive");
  c->add_option("archive", a->path, "The .tern file")->required();
  c->add_flag("--nodes", a->options.nodes, "List every node");
  c->add_option("--weights", a->options.weights, "How many of the largest weights to list")->capture_default_str();
  c->add_flag("--json", a->json, "Print everything as JSON");
  c->footer(
      "Example:\n  tern inspect model.tern\n  tern inspect model.tern --json | python3 -m json.tool\n\n"
      "Safe on any bytes. An archive with ops or types that this version does not know can be inspected, and not run.");
  c->callback([a, &line] { line.status = run_inspect(*a); });
}

}  // namespace tern
