// tern validate: every rule of the format, every finding.
#include <fmt/format.h>
#include <tern/error.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/check_file.h"
#include "tools/command.h"
#include "tools/deep_check.h"
#include "tools/inputs.h"
#include "tools/json_text.h"
#include "tools/terminal.h"

namespace tern {
namespace {

using Json = nlohmann::ordered_json;

struct ValidateArguments {
  std::vector<std::string> paths;
  bool json = false;
  bool deep = false;
};

const char* severity(const Finding& f) {
  return f.code == ErrorCode::unsupported ? "unsupported" : "broken";
}

Json check_json(const FileCheck& c) {
  Json j = {{"file", c.path}, {"valid", c.valid()}, {"status", c.status()}};
  if (c.failure) j["error"] = c.failure->what();
  j["findings"] = Json::array();
  for (const Finding& f : c.findings) {
    j["findings"].push_back({{"rule", f.rule},
                             {"severity", severity(f)},
                             {"offset", f.offset},
                             {"where", f.where},
                             {"message", f.message}});
  }
  return j;
}

/// "model.tern: valid", "...: 3 findings", "...: not checked: cannot open ...".
void print_validate_text(const FileCheck& c) {
  const std::string path = escape_name(c.path);
  for (const Finding& f : c.findings) {
    fmt::print("{}: byte {}: {} {}: {}{}{}\n", path, f.offset, severity(f), f.rule, escape_name(f.where, 2000),
               f.where.empty() ? "" : ": ", escape_message(f.message));
  }
  if (c.failure) {
    fmt::print("{}: not checked: {}\n", path, escape_message(c.failure->what()));
  } else if (c.findings.empty()) {
    fmt::print("{}: valid\n", path);
  } else {
    fmt::print("{}: {} finding{}\n", path, c.findings.size(), c.findings.size() == 1 ? "" : "s");
  }
}

/// Reports checks impossible on this machine.
void add_deep_findings(FileCheck& c) {
  try {
    DeepCheck check = check_packed_weights(c.path);
    c.findings = std::move(check.findings);
    if (check.unchecked == 0) return;
    fmt::print(stderr,
               "{}: {} packed weights are for another processor or library version; not checked, not run here\n",
               escape_name(c.path), check.unchecked);
  } catch (const Error& e) {
    c.failure = e;
  }
}

int run_validate(const ValidateArguments& a) {
  int status = 0;
  Json list = Json::array();
  for (const std::string& path : a.paths) {
    FileCheck check = check_file(path);
    if (a.deep && check.valid() && !is_pt2(path)) add_deep_findings(check);
    status = worse_exit(status, check.status());
    if (a.json) {
      list.push_back(check_json(check));
    } else {
      print_validate_text(check);
    }
  }
  if (a.json) fmt::print("{}\n", json_text(list));
  return status;
}

}  // namespace

void add_validate_command(Command app, CommandLine& line) {
  auto a = std::make_shared<ValidateArguments>();
  const Command c = app.add_subcommand("validate", "Check files against every rule of their format");
  c.add_option("files", a->paths, "The .tern archives and .pt2 files to check").required();
  c.add_flag("--json", a->json, "Print a JSON list with one object per file");
  c.add_flag("--deep", a->deep, "Also pack the weights anew and compare them with packed weights in the archive");
  c.footer(
      "Examples:\n  tern validate model.tern\n  tern validate --json *.tern *.pt2\n\n"
      "Checks the hash and contents of every segment of an archive. Of a .pt2 file it checks the container, the JSON, "
      "the weights, and that Tern can import the program. Safe on any bytes. A finding names its rule "
      "(docs/format.md), the byte in the file, and the function, node and Python line if there is one.\n"
      "All files are checked, even after an unreadable one; the worst result decides the exit status: 0 all are valid, "
      "1 a rule is broken, 5 a file is valid, but this version cannot run it, 3 a file cannot be read.");
  c.callback([a, &line] { line.status = run_validate(*a); });
}

}  // namespace tern
