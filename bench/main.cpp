// tern_bench: time and memory from opening an archive of about 90 MB, in the page cache, to its first output.
//
//   tern_bench [ARCHIVE.tern ...]     without arguments: generated models
//   tern_bench --sessions ARCHIVE...  eight sessions of a program: first runs, memory
//   tern_bench --devices NAME...      one product and one convolution, on each device, in turns
//   tern_bench --rows LENGTH NAME...  softmax, norms and reductions of 64 MB on devices (rows.h)
//   tern_bench --definitions [OP]     each native kernel against the definition of its op (definitions.h)
//   tern_bench --quantize [FORMAT]    the formats of tern export --quantize, beside copying
//   tern_bench --optim TENSORS SIZE [8bit]   AdamW, a step for each line of input (optim.h)
//   tern_bench --train ARCHIVE N      a training step on N threads for each line of input (train_steps.h)
//   tern_bench --linalg               serves bench/linalg (comparison with other libraries)
//
// Each measurement has its own process, to include the costs of the first run (threads, primitives, packing). The
// figure is the time from before open to after the first output, less the median of later runs; the share of hashing is
// the difference to opening with Verify::never. Private memory is the largest RssAnon seen, sampled each millisecond,
// less the initial RssAnon of the process.
#include <fmt/format.h>
#include <sys/wait.h>
#include <tern/tern.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "bench/definitions.h"
#include "bench/inputs.h"
#include "bench/linalg.h"
#include "bench/models.h"
#include "bench/optim.h"
#include "bench/quantize.h"
#include "bench/rows.h"
#include "bench/sessions.h"
#include "bench/train_steps.h"
#include "exporter/archive_writer.h"
#include "platform/machine.h"

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kProcesses = 9, kLaterRuns = 15;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

template <class T>
T median(std::vector<T> v) {
  std::ranges::sort(v);
  return v[v.size() / 2];
}

double anonymous_mb() {
  return static_cast<double>(tern::platform::private_bytes()) / (1 << 20);
}

/// The largest anonymous memory during the sampler's lifetime.
class MemorySampler {
 public:
  MemorySampler() : thread_([this](const std::stop_token& stop) { sample(stop); }) {}
  double peak_mb() {
    thread_.request_stop();
    thread_.join();
    return peak_;
  }

 private:
  void sample(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      peak_ = std::max(peak_, anonymous_mb());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    peak_ = std::max(peak_, anonymous_mb());
  }
  double peak_ = 0;
  std::jthread thread_;
};

struct StartupMeasurement {
  double opened = 0, prepared = 0, first = 0, later = 0, peak = 0, arena = 0;
};

StartupMeasurement measure(const std::string& path, tern::Verify verify, bool memory) {
  StartupMeasurement f;
  const double before = anonymous_mb();
  std::unique_ptr<MemorySampler> sampler;
  if (memory) sampler = std::make_unique<MemorySampler>();
  const auto start = Clock::now();
  const tern::Model model = tern::Model::open(path, {tern::Access::map, verify});
  f.opened = ms_since(start);
  tern::Session session(model.prepare());
  f.prepared = ms_since(start);
  const std::vector<tern::Tensor> x = tern::bench::inputs_of(model);
  session.run(x);
  f.first = ms_since(start);
  std::vector<double> later;
  for (int i = 0; i < kLaterRuns; ++i) {
    const auto again = Clock::now();
    session.run(x);
    later.push_back(ms_since(again));
  }
  f.later = median(later);
  if (sampler) f.peak = sampler->peak_mb() - before;
  f.arena = static_cast<double>(session.stats().arena_bytes) / 1e6;
  return f;
}

/// The child process of measure_alone: writes the figures to standard output.
int measure_as_child(char** argv) {
  const StartupMeasurement f = measure(argv[2], static_cast<tern::Verify>(argv[3][0] - '0'), argv[4][0] == '1');
  return write(STDOUT_FILENO, &f, sizeof f) == static_cast<ssize_t>(sizeof f) ? 0 : 1;
}

/// Measures in a separate process.
StartupMeasurement measure_alone(const std::string& path, tern::Verify verify, bool memory) {
  int ends[2];
  if (pipe(ends) != 0) tern::fail(tern::ErrorCode::internal, "no pipe");
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    const char verify_text[] = {static_cast<char>('0' + static_cast<int>(verify)), '\0'};
    execl("/proc/self/exe", "tern_bench", "--measure", path.c_str(), verify_text, memory ? "1" : "0", nullptr);
    _exit(127);
  }
  close(ends[1]);
  StartupMeasurement f;
  const bool whole = read(ends[0], &f, sizeof f) == static_cast<ssize_t>(sizeof f);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!whole || status != 0) tern::fail(tern::ErrorCode::runtime, "a measurement of " + path + " failed");
  return f;
}

void report(const std::string& name, const std::string& path) {
  std::vector<double> lazily, never, later;
  StartupMeasurement last;
  for (int i = 0; i < kProcesses; ++i) {  // alternates: a slow moment affects both
    last = measure_alone(path, tern::Verify::first_use, false);
    lazily.push_back(last.first - last.later);
    later.push_back(last.later);
    const StartupMeasurement f = measure_alone(path, tern::Verify::never, false);
    never.push_back(f.first - f.later);
  }
  const StartupMeasurement memory = measure_alone(path, tern::Verify::first_use, true);
  fmt::print("{}: {:.1f} MB\n", name, static_cast<double>(std::filesystem::file_size(path)) / 1e6);
  fmt::print("  first output less a later run  {:7.2f} ms  (best {:.2f}, worst {:.2f})\n", median(lazily),
             std::ranges::min(lazily), std::ranges::max(lazily));
  fmt::print("  of which hashing               {:7.2f} ms\n", median(lazily) - median(never));
  fmt::print("  open, prepare, first run       {:7.2f}, {:.2f}, {:.2f} ms (one process)\n", last.opened,
             last.prepared - last.opened, last.first - last.prepared);
  fmt::print("  a later run                    {:7.2f} ms\n", median(later));
  fmt::print("  peak private memory            {:7.1f} MB, {:.1f} MB of it the arena\n", memory.peak, memory.arena);
}

void made_on_the_spot() {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("tern_bench.{}", getpid());
  std::filesystem::create_directories(folder);
  for (auto make : {tern::bench::linear_layers, tern::bench::convolutions}) {
    std::string path, title;
    {
      const tern::bench::BenchModel model = make();
      path = (folder / (model.name + ".tern")).string();
      title = fmt::format("{} ({})", model.name, model.what);
      tern::write_archive(model.program, path);
    }
    report(title, path);
  }
  std::filesystem::remove_all(folder);
}

/// Milliseconds of a run on each device, in turns; excludes each device's first run.
void on_devices(const tern::bench::BenchModel& model, const std::string& path, const std::vector<std::string>& names) {
  constexpr int kTurns = 25;
  struct Device {
    std::unique_ptr<tern::Session> session;
    std::vector<double> times;
  };
  const tern::Model opened = tern::Model::open(path);
  tern::Tensor x(tern::DType::f32, model.input);
  std::ranges::fill(x.span<float>(), 0.5F);
  std::vector<Device> devices;
  for (const std::string& name : names) {
    tern::PrepareOptions options;
    options.device = name;
    devices.push_back({std::make_unique<tern::Session>(opened.prepare(options)), {}});
    for (int i = 0; i < 3; ++i) devices.back().session->run({x});
  }
  for (int turn = 0; turn < kTurns; ++turn) {
    for (Device& d : devices) {
      const auto start = Clock::now();
      d.session->run({x});
      d.times.push_back(ms_since(start));
    }
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    fmt::print("{} ({}) on {}: {:.2f} ms (best {:.2f}), {:.0f} GFLOP/s\n", model.name, model.what, names[i],
               median(devices[i].times), std::ranges::min(devices[i].times),
               2 * model.products / median(devices[i].times) / 1e6);
  }
}

template <class F>
void with_archive(const tern::bench::BenchModel& model, F&& f) {
  const auto path = (std::filesystem::temp_directory_path() / fmt::format("tern_bench.{}.tern", getpid())).string();
  tern::write_archive(model.program, path);
  f(path);
  std::filesystem::remove(path);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 5 && std::string_view(argv[1]) == "--measure") return measure_as_child(argv);
    if (argc > 2 && std::string_view(argv[1]) == "--devices") {
      const std::vector<std::string> names(argv + 2, argv + argc);
      for (auto make : {tern::bench::product, tern::bench::convolution}) {
        const tern::bench::BenchModel model = make();
        with_archive(model, [&](const std::string& path) { on_devices(model, path, names); });
      }
      return 0;
    }
    if (argc > 3 && std::string_view(argv[1]) == "--rows") {
      const std::vector<std::string> names(argv + 3, argv + argc);
      tern::bench::measure_rows(names, std::stoll(argv[2]));
      return 0;
    }
    if (argc > 1 && std::string_view(argv[1]) == "--definitions") {
      tern::bench::measure_definitions(argc > 2 ? argv[2] : "");
      return 0;
    }
    if (argc > 1 && std::string_view(argv[1]) == "--linalg") return tern::bench::serve_linalg();
    if (argc > 1 && std::string_view(argv[1]) == "--quantize") {
      tern::bench::measure_quantize(argc > 2 ? argv[2] : "");
      return 0;
    }
    if (argc > 3 && std::string_view(argv[1]) == "--train") {
      tern::bench::serve_training(argv[2], std::stoi(argv[3]));
      return 0;
    }
    if (argc > 3 && std::string_view(argv[1]) == "--optim") {
      const bool eight_bits = argc > 4 && std::string_view(argv[4]) == "8bit";
      tern::bench::serve_optim(std::stoll(argv[2]), std::stoll(argv[3]), eight_bits);
      return 0;
    }
    if (argc > 2 && std::string_view(argv[1]) == "--sessions") {
      for (int i = 2; i < argc; ++i) tern::bench::measure_sessions(argv[i]);
      return 0;
    }
    if (argc == 1) made_on_the_spot();
    for (int i = 1; i < argc; ++i) report(argv[i], argv[i]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tern_bench: %s\n", error.what());
    return 1;
  }
}
