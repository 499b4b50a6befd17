// tern conform: runs cases of a program with PyTorch's results beside it, and compares.
#include <fmt/format.h>
#include <tern/error.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "tools/command.h"
#include "tools/conform/bits.h"
#include "tools/conform/case.h"
#include "tools/conform/report.h"
#include "tools/conform/run.h"
#include "tools/terminal.h"

namespace tern {
namespace {

struct ConformArguments {
  std::vector<std::string> paths;
  ReportOptions report;
  bool no_table = false;
  int jobs = 0;
  int threads = 1;
  bool direct = false, graph = false;
  DeviceChoice device;
  std::vector<std::string> same_bits;
  std::string save_bits, check_bits, target;
  std::size_t every = 1;
};

std::string name_of_case(const std::string& file, const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  for (const std::string& p : paths) {
    if (!fs::is_directory(p)) continue;
    const std::string prefix = fs::path(p).string() + (p.ends_with('/') ? "" : "/");
    if (file.starts_with(prefix)) return fs::path(file.substr(prefix.size())).replace_extension().string();
  }
  return fs::path(file).stem().string();
}

/// Every `every`-th case, and the first one of each folder: one per op.
std::vector<std::string> sample(const std::vector<std::string>& files, std::size_t every) {
  std::vector<std::string> some;
  std::string folder;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string here = std::filesystem::path(files[i]).parent_path().string();
    if (i % std::max<std::size_t>(every, 1) == 0 || here != folder) some.push_back(files[i]);
    folder = here;
  }
  return some;
}

int run_conform(ConformArguments& a) {
  const std::vector<std::string> files = sample(find_cases(a.paths), a.every);
  if (files.empty()) fail(ErrorCode::invalid_argument, "no .pt2 file was found there");
  std::vector<ConformResult> results(files.size());
  if (a.same_bits.empty()) a.same_bits.push_back(a.device.name);
  const BitsFile expected = a.check_bits.empty() ? BitsFile() : read_bits(a.check_bits);
  ConformOptions options{a.threads, !a.direct, a.same_bits, a.device.reproducible, a.graph, a.device.native_code};
  if (!a.target.empty()) {
    options.target = &kernel_target(a.target);
    options.native_code = true;  // it is of this command
  }
  Progress progress("conform", files.size());
  std::atomic<std::size_t> next{0};
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const unsigned jobs = a.jobs > 0 ? static_cast<unsigned>(a.jobs) : cores;
  auto work = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) {
      results[i] = run_case(files[i], name_of_case(files[i], a.paths), options);
      progress.advance();
    }
  };
  std::vector<std::jthread> workers;
  for (unsigned j = 1; j < jobs; ++j) workers.emplace_back(work);
  work();
  workers.clear();
  progress.finish();
  if (!a.check_bits.empty()) compare_bits(expected, results);
  if (!a.save_bits.empty()) write_bits(a.save_bits, results);
  ReportOptions report = a.report;
  report.table = !a.no_table;
  std::fputs(conform_report(results, report).c_str(), stdout);
  const bool all = std::ranges::all_of(results, &ConformResult::passed);
  return all ? 0 : kExitFindings;
}

}  // namespace

void add_conform_command(CLI::App& app, CommandLine& line) {
  auto arguments = std::make_shared<ConformArguments>();
  CLI::App* c = app.add_subcommand("conform", "Run programs and compare the results with PyTorch's");
  c->add_option("paths", arguments->paths, "NAME.pt2 files with NAME.safetensors beside them, or folders of them")
      ->required();
  c->add_flag("--json", arguments->report.json,
              "Print every case as JSON, with the operators in it and what each became");
  c->add_flag("--no-table", arguments->no_table, "Leave out the table per op");
  c->add_option("--failures", arguments->report.failures, "How many failures to print")->capture_default_str();
  c->add_option("--jobs", arguments->jobs, "Cases side by side (0: one for each core)")->capture_default_str();
  c->add_option("--threads", arguments->threads, "Threads of each case")->capture_default_str();
  c->add_flag("--direct", arguments->direct, "Run the imported program without writing an archive in between");
  c->add_option("--every", arguments->every, "Only every N-th case, and the first of each folder")
      ->capture_default_str();
  add_device_options(*c, arguments->device);
  c->add_option("--same-bits", arguments->same_bits,
                "Run each case on each of these devices (cpu,xpu): it fails where one gives other bits than the first")
      ->delimiter(',');
  c->add_flag("--graph", arguments->graph,
              "Capture each call as a graph and replay that, but where sizes depend on data");
  c->add_option(
       "--target", arguments->target,
       "Compile the kernels of this target into each archive (xpu:spirv) and run those; with TERN_NO_COMPILE=1 "
       "a case fails that needs others")
      ->type_name("DEVICE");
  c->add_option("--save-bits", arguments->save_bits, "Write a hash of each case's results to this file");
  c->add_option("--check-bits", arguments->check_bits,
                "A case fails whose results have another hash than in this file, which --save-bits wrote elsewhere");
  c->footer(
      "Example:\n  tern conform tests/data/programs\n\nThe last line is 'N passed, N failed'. A case that cannot be "
      "exported, validated or prepared has failed.\nA float16 or bfloat16 result outside the tolerance passes if each "
      "such element is no further from a float64 evaluation of the program than PyTorch's; lines NEARER and \"nearer\" "
      "of --json name these.\n"
      "Exit status: 0 all passed, 1 some failed.");
  c->callback([arguments, &line] { line.status = run_conform(*arguments); });
}

}  // namespace tern
