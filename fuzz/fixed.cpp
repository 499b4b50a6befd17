// The fuzz targets without libFuzzer, for the tests: fixed inputs of the program makers for each op of TERN_OPS, and
// fixed mutations of archives. Prints the outcomes of each op, and ends with `N passed, N failed`.
//   fuzz_fixed [--first SEED] [--count N] [--seconds S] [--only OP] [--save FOLDER] [ARCHIVE...]
#include <fcntl.h>
#include <tern/error.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/ops/one_op.h"
#include "fuzz/run/aligned.h"
#include "fuzz/run/mutate.h"
#include "fuzz/run/trial.h"

namespace {

using namespace tern;
using namespace tern::fuzz;

/// An op is covered if one of so many programs runs.
constexpr int kPrograms = 20;
/// A slower program hangs. A program runs in five modes, each limited to two seconds.
constexpr unsigned kSeconds = 60;

struct FixedFuzzOptions {
  std::uint64_t first = 0;
  int count = 100;
  double seconds = 0;  ///< seconds of mutations; 0: `count` of each archive
  std::string only, save;
  std::vector<std::string> archives;
};

struct OutcomeCounts {
  int made = 0, of[5] = {};
  std::string message;  ///< the last error
};

char g_case[256];
std::vector<std::byte> g_archive;
std::string g_save;

/// Names the input and saves its archive. Safe in signal handlers.
void keep() {
  char path[512];
  std::snprintf(path, sizeof path, "%s/%s.tern", g_save.empty() ? "/tmp" : g_save.c_str(), g_case);
  const int file = ::open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const bool kept =
      file >= 0 && ::write(file, g_archive.data(), g_archive.size()) == static_cast<ssize_t>(g_archive.size());
  if (file >= 0) ::close(file);
  char line[800];
  const int length =
      std::snprintf(line, sizeof line, "FAIL %s: %s\n", g_case, kept ? path : "its archive cannot be written");
  if (::write(STDOUT_FILENO, line, static_cast<std::size_t>(length)) < 0) return;
}
constexpr int kSignals[] = {SIGSEGV, SIGFPE, SIGABRT, SIGBUS, SIGILL, SIGALRM};
void on_signal(int number) {
  for (int s : kSignals) std::signal(s, SIG_DFL);
  keep();
  std::raise(number);
}

Outcome run(std::vector<std::byte> bytes, Choices& c) {
  g_archive = std::move(bytes);
  Aligned archive(g_archive);
  ::alarm(kSeconds);
  const Outcome outcome = run_archive(archive.span(), c);
  ::alarm(0);
  if (outcome.kind == Outcome::finding) {
    keep();
    std::printf("  %s\n", outcome.message.c_str());
    std::fflush(stdout);
  }
  return outcome;
}

OutcomeCounts run_op(Op op, const FixedFuzzOptions& o) {
  OutcomeCounts counts;
  for (int i = 0; i < o.count; ++i) {
    const std::uint64_t seed = o.first + static_cast<std::uint64_t>(i);
    std::snprintf(g_case, sizeof g_case, "%s_%llu", std::string(op_name(op)).c_str(),
                  static_cast<unsigned long long>(seed));
    std::uint8_t bytes[8];
    std::memcpy(bytes, &seed, sizeof bytes);
    Choices c(bytes);
    for (int k = 0; k < 8; ++k) c.byte();  // only the seed
    auto made = one_op(op, c);
    if (made.empty()) continue;
    ++counts.made;
    const Outcome outcome = run(std::move(made), c);
    ++counts.of[outcome.kind];
    if (outcome.kind != Outcome::clean) counts.message = outcome.message;
  }
  return counts;
}

std::vector<std::byte> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Runs the archive, mutated if `changed`.
void run_archive_file(const std::string& path, std::uint64_t seed, bool changed, OutcomeCounts& counts) {
  std::snprintf(g_case, sizeof g_case, "%s_%s%llu", std::filesystem::path(path).stem().c_str(),
                changed ? "" : "as_it_is_", static_cast<unsigned long long>(seed));
  std::uint8_t bytes[8];
  std::memcpy(bytes, &seed, sizeof bytes);
  Choices c(bytes);
  for (int k = 0; k < 8; ++k) c.byte();  // only the seed
  std::vector<std::byte> archive = read(path);
  if (changed) archive = mutate_archive(archive, c);
  if (archive.empty()) return;
  ++counts.made;
  ++counts.of[run(std::move(archive), c).kind];
}

/// Each archive unchanged, and then with changes: `count` times, or for some seconds.
OutcomeCounts run_mutations(const FixedFuzzOptions& o) {
  OutcomeCounts counts;
  for (const std::string& path : o.archives) run_archive_file(path, o.first, false, counts);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(o.seconds);
  for (std::uint64_t seed = o.first;
       o.seconds > 0 ? std::chrono::steady_clock::now() < end : seed < o.first + static_cast<std::uint64_t>(o.count);
       ++seed) {
    for (const std::string& path : o.archives) run_archive_file(path, seed, true, counts);
  }
  return counts;
}

FixedFuzzOptions parse(int argc, char** argv) {
  FixedFuzzOptions o;
  for (int i = 1; i < argc; ++i) {
    const std::string_view a = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (a == "--first")
      o.first = std::strtoull(value, nullptr, 10), ++i;
    else if (a == "--count")
      o.count = std::atoi(value), ++i;
    else if (a == "--seconds")
      o.seconds = std::atof(value), ++i;
    else if (a == "--only")
      o.only = value, ++i;
    else if (a == "--save")
      o.save = value, ++i;
    else
      o.archives.emplace_back(a);
  }
  return o;
}

void print(const std::string& name, const OutcomeCounts& c) {
  std::printf("%-20s %5d made, %5d refused, %4d too large, %5d failed, %5d clean, %d findings%s%s\n", name.c_str(),
              c.made, c.of[Outcome::refused], c.of[Outcome::too_large], c.of[Outcome::failed], c.of[Outcome::clean],
              c.of[Outcome::finding], c.message.empty() ? "" : "; ", c.message.substr(0, 150).c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const FixedFuzzOptions o = parse(argc, argv);
  g_save = o.save;
  for (int s : kSignals) std::signal(s, on_signal);
  const int needed = std::max(1, o.count / kPrograms);
  int passed = 0, failed = 0;
  for (Op op : all_ops()) {
    const std::string name(op_name(op));
    if (!o.archives.empty() || (!o.only.empty() && name != o.only)) continue;
    const OutcomeCounts c = run_op(op, o);
    print(name, c);
    // Generated programs have neither kernels of their own nor a group: these ops end in an error.
    const bool ends_in_error = op == Op::custom || op == Op::exchange;
    const bool covered = c.of[ends_in_error ? Outcome::failed : Outcome::clean] >= needed;
    if (!covered) std::printf("FAIL %s: fewer than %d programs ran\n", name.c_str(), needed);
    passed += covered ? c.made - c.of[Outcome::finding] : 0;
    failed += c.of[Outcome::finding] + (covered ? 0 : 1);
  }
  if (!o.archives.empty()) {
    const OutcomeCounts c = run_mutations(o);
    print("mutations", c);
    passed += c.made - c.of[Outcome::finding];
    failed += c.of[Outcome::finding];
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
