// tern conform: runs test cases of programs and compares the results with PyTorch's.
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
  bool direct = false, graph = false, gradients = false, no_texts = false;
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

/// Every `every`-th case, and the first case of each folder: one per op.
std::vector<std::string> sample(const std::vector<std::string>& files, std::size_t every) {
  std::vector<std::string> selected;
  std::string folder;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string case_folder = std::filesystem::path(files[i]).parent_path().string();
    if (i % std::max<std::size_t>(every, 1) == 0 || case_folder != folder) selected.push_back(files[i]);
    folder = case_folder;
  }
  return selected;
}

int run_conform(ConformArguments& a) {
  const std::vector<std::string> files = sample(find_cases(a.paths), a.every);
  if (files.empty()) fail(ErrorCode::invalid_argument, "it has no .pt2, .gguf or .tern file");
  std::vector<ConformResult> results(files.size());
  if (a.same_bits.empty()) a.same_bits.push_back(a.device.name);
  const BitsFile expected = a.check_bits.empty() ? BitsFile() : read_bits(a.check_bits);
  ConformOptions options{a.threads,   !a.direct, a.same_bits,          a.device.reproducible,
                         a.gradients, a.graph,   a.device.native_code, a.no_texts};
  if (!a.target.empty()) {
    options.target = std::make_shared<KernelTarget>(kernel_target(a.target));
    options.native_code = true;  // the native code comes from this command
  }
  Progress progress("conform", files.size());
  std::atomic<std::size_t> next{0};
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const unsigned jobs = a.jobs > 0 ? static_cast<unsigned>(a.jobs) : cores;
  auto run_cases = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) {
      results[i] = run_case(files[i], name_of_case(files[i], a.paths), options);
      progress.advance();
    }
  };
  std::vector<std::jthread> workers;
  for (unsigned j = 1; j < jobs; ++j) workers.emplace_back(run_cases);
  run_cases();
  workers.clear();
  progress.finish();
  if (!a.check_bits.empty()) compare_bits(expected, results);
  if (!a.save_bits.empty()) write_bits(a.save_bits, results);
  ReportOptions report = a.report;
  report.table = !a.no_table;
  report.gradients = a.gradients;
  fmt::print("{}", conform_report(results, report));
  const bool all_passed = std::ranges::all_of(results, &ConformResult::is_passed);
  return all_passed ? 0 : kExitFindings;
}

}  // namespace

void add_conform_command(Command app, CommandLine& line) {
  auto arguments = std::make_shared<ConformArguments>();
  const Command c = app.add_subcommand("conform", "Run programs and compare the results with PyTorch's");
  c.add_option("paths", arguments->paths,
               "Cases: .pt2 files, GGUF files or archives, with .safetensors files beside them, or folders of them")
      .required();
  c.add_flag("--json", arguments->report.json, "Print every case as JSON, with its operators and their ops");
  c.add_flag("--no-table", arguments->no_table, "Leave out the table per op");
  require_range(
      c.add_option("--failures", arguments->report.failures, "Print at most this many failures").capture_default_str(),
      bounds::kListed);
  require_range(
      c.add_option("--jobs", arguments->jobs, "Cases that run at once; 0: one for each core").capture_default_str(),
      bounds::kJobs);
  require_range(c.add_option("--threads", arguments->threads, "Threads of each case; 0: as many as OpenMP reports")
                    .capture_default_str(),
                bounds::kThreads);
  c.add_flag("--direct", arguments->direct,
             "Run the program without writing and opening an archive; a .tern case runs as it is");
  require_range(c.add_option("--every", arguments->every, "Run only every N-th case, and the first of each folder")
                    .capture_default_str(),
                bounds::kEvery);
  c.add_flag("--no-texts", arguments->no_texts,
             "Remove origins, names of values and annotations from each program first: no result depends on them");
  add_device_options(c, arguments->device);
  c.add_option("--same-bits", arguments->same_bits,
               "Run each case on each of these devices (cpu,xpu); a case fails if the bits of a device differ from "
               "the first one's")
      .delimiter(',')
      .type_name("DEVICE,...");
  c.add_flag("--graph", arguments->graph,
             "Capture each call as a graph and replay it; calls with data-dependent sizes run as they are");
  c.add_flag("--gradients", arguments->gradients,
             "Derive the gradient of each case's loss, the sum over its floating results outK of sum(outK * cos(0, 1, "
             "2, ...)), and compare "
             "the gradient of input K with gradK");
  c.add_option("--target", arguments->target,
               "Compile the kernels of this target into each archive (xpu:spirv, cuda:ptx, ...) and run them; with "
               "TERN_NO_COMPILE=1 a case that needs other kernels fails")
      .type_name("TARGET");
  c.add_option("--save-bits", arguments->save_bits, "Write a hash of each case's results to this file")
      .type_name("FILE");
  c.add_option("--check-bits", arguments->check_bits,
               "A case fails if the hash of its results differs from the one in this file of --save-bits")
      .type_name("FILE");
  c.footer(
      "Examples:\n  tern conform tests/data/programs\n  tern conform model.pt2\n\n"
      "A case is a program, NAME.pt2, NAME.gguf or NAME.tern, and its inputs with PyTorch's results in "
      "NAME.safetensors beside "
      "it. The tensors "
      "of that file have these names:\n"
      "  inK           input K of the call, counted from 0\n"
      "  outK          the result K that PyTorch gave\n"
      "  mutK          input K after the call, where the program writes to it\n"
      "  callC.inK     the same for call C of several in one session: callC.outK, callC.mutK\n"
      "  rankR.inK     the same for rank R of several that run together: rankR.callC.outK, ...\n"
      "  gradK         the gradient for input K, which --gradients compares\n"
      "Its metadata may hold rtol and atol (tolerances instead of those for the dtype), op and dtype (for the table), "
      "and ranks (how many processes the program was exported for).\n\n"
      "The last line is 'N passed, N failed'. With --gradients, failed cases that no gradient rule covers are counted "
      "as refused, too. A case that cannot be imported, written, opened or prepared fails. "
      "A float16 or bfloat16 result (or a float32 gradient) outside the tolerance passes if each such element is no "
      "further from a float64 "
      "evaluation of the program than PyTorch's; lines NEARER and \"nearer\" of --json name these. "
      "Exit status: 0 all passed, 1 some failed.");
  c.callback([arguments, &line] { line.status = run_conform(*arguments); });
}

}  // namespace tern
