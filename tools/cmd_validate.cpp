// tern validate: every rule of the format, every finding.
#include <fmt/format.h>
#include <tern/error.h>

#include <cstdio>
#include <memory>

#include "loader/validate.h"
#include "tools/command.h"
#include "tools/deep_check.h"
#include "tools/terminal.h"

namespace tern {
namespace {

struct ValidateArguments {
  std::vector<std::string> paths;
  bool json = false;
  bool deep = false;
};

const char* severity(const Finding& f) {
  return f.code == ErrorCode::unsupported ? "unsupported" : "broken";
}

void print_json(const std::string& path, const std::vector<Finding>& findings) {
  fmt::print("{{\"file\": \"{}\", \"valid\": {}, \"findings\": [", json_escape(path), findings.empty());
  const char* separator = "";
  for (const Finding& f : findings) {
    fmt::print(
        "{}\n  {{\"rule\": \"{}\", \"severity\": \"{}\", \"offset\": {}, \"where\": \"{}\", \"message\": \"{}\"}}",
        separator, json_escape(f.rule), severity(f), f.offset, json_escape(f.where), json_escape(f.message));
    separator = ",";
  }
  fmt::print("]}}");
}

void print_text(const std::string& path, const std::vector<Finding>& findings) {
  for (const Finding& f : findings) {
    fmt::print("{}: byte {}: {} {}: {}{}{}\n", escape_name(path), f.offset, severity(f), f.rule,
               escape_name(f.where, 2000), f.where.empty() ? "" : ": ", escape_name(f.message, 2000));
  }
  if (findings.empty()) {
    fmt::print("{}: valid\n", escape_name(path));
  } else {
    fmt::print("{}: {} finding{}\n", escape_name(path), findings.size(), findings.size() == 1 ? "" : "s");
  }
}

/// Says what this machine cannot check.
std::vector<Finding> deep_findings(const std::string& path) {
  DeepCheck check = check_packed_weights(path);
  if (check.unchecked > 0) {
    fmt::print(stderr,
               "{}: {} packed weights are for another processor or library version; not checked, not run here\n",
               escape_name(path), check.unchecked);
  }
  return std::move(check.findings);
}

int run_validate(const ValidateArguments& a) {
  bool valid = true;
  if (a.json) fmt::print("[");
  for (std::size_t i = 0; i < a.paths.size(); ++i) {
    std::vector<Finding> findings = validate_archive(a.paths[i]);
    if (a.deep && findings.empty()) findings = deep_findings(a.paths[i]);
    valid = valid && findings.empty();
    if (!a.json) {
      print_text(a.paths[i], findings);
      continue;
    }
    if (i > 0) fmt::print(",\n ");
    print_json(a.paths[i], findings);
  }
  if (a.json) fmt::print("]\n");
  return valid ? 0 : kExitFindings;
}

}  // namespace

void add_validate_command(CLI::App& app, CommandLine& line) {
  auto a = std::make_shared<ValidateArguments>();
  CLI::App* c = app.add_subcommand("validate", "Check archives against every rule of the format");
  c->add_option("archives", a->paths, "The .tern files")->required();
  c->add_flag("--json", a->json, "Print the findings as a JSON list, one object for each file");
  c->add_flag("--deep", a->deep, "Also pack the weights anew and compare them with packed weights in the archive");
  c->footer(
      "Example:\n  tern validate model.tern\n\n"
      "Checks hashes and contents of all segments too. Safe on any bytes. A finding names its rule (docs/format.md),\n"
      "the byte of the file, and the function, node and line of Python where there is one.\n"
      "Exit status: 0 all are valid, 1 something was found.");
  c->callback([a, &line] { line.status = run_validate(*a); });
}

}  // namespace tern
