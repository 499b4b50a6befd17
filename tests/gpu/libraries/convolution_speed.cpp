// convolution_speed SECONDS [--plan] [--small] [--only TEXT]: engines proposed by cuDNN's heuristics for the
// convolutions of three models, and their time on the first CUDA device, for `./dev gpu-check`. Prints a line for each
// usable engine: model, batch, type, convolution (channels x side x side > features, window / stride, groups), graph
// (plain, or fused with bias and ReLU), heuristic and rank, engine, numerical and behaviour notes, workspace in KiB,
// milliseconds of planning, microseconds by the device's clock, and `chosen` at Tern's engine. A line starting with `=`
// sums up each convolution. --plan: plans for a described H100, without a device and times. --small: tiny images, as a
// smoke test. --only: lines that would contain TEXT. Ends after SECONDS.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>

#include "devices/gpu/cuda/convolution_plan.h"
#include "tests/gpu/libraries/convolution_sizes.h"
#include "tests/gpu/libraries/described_h100.h"
#include "tests/gpu/libraries/speed_device.h"

namespace {

using namespace tern::gpu;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kAlignment = 16;
constexpr std::size_t kMostEngines = 10;  // timed engines per graph

struct Type {
  const char* name;
  int dtype;  // tern/dtype.h
  std::uint32_t bytes;
};
constexpr Type kTypes[] = {{"float32", 12, 4}, {"bfloat16", 11, 2}};

struct Options {
  double seconds = 0;
  bool only_plans = false, is_small = false;
  std::string only;
};

/// cuDNN is missing.
struct Missing {};

struct Cudnn {
  CudnnApi api;
  CudnnTarget target;
};

Cudnn open_cudnn(SpeedDevice* device) {
  void* library = nullptr;
  const char* const own = std::getenv("TERN_CUDNN");
  for (const char* file : {"libcudnn.so.9", "/usr/local/cuda/lib64/libcudnn.so.9"})
    if (library == nullptr) library = dlopen(own != nullptr ? own : file, RTLD_NOW);
  if (library == nullptr) throw Missing();
  Cudnn c;
#define TERN_LOAD(name, suffix, parameters) \
  c.api.name = reinterpret_cast<decltype(c.api.name)>(dlsym(library, "cudnn" #suffix));
  TERN_GPU_CUDNN_FUNCTIONS(TERN_LOAD)
#undef TERN_LOAD
  if (c.api.execute == nullptr) throw std::runtime_error("this cuDNN has no graph API");
  const auto version = reinterpret_cast<std::size_t (*)()>(dlsym(library, "cudnnGetVersion"));
  std::printf("# cuDNN %zu, %s\n", version(), device == nullptr ? "a described H100" : device->name().c_str());
  if (device == nullptr) {
    c.target.device = described_h100(c.api);
    if (c.target.device == nullptr) throw std::runtime_error("cuDNN does not take the description of an H100");
  } else if (c.api.create(&c.target.handle) != kSuccess ||
             c.api.set_stream(c.target.handle, device->stream()) != kSuccess) {
    throw std::runtime_error("cuDNN does not start");
  }
  return c;
}

Convolution create_convolution(const ConvolutionSizes& s, std::int64_t batch, const Type& type, bool is_small) {
  Convolution c;
  c.dtype = type.dtype;
  c.bytes = type.bytes;
  c.is_exact = true;
  const std::int64_t pad = s.window / 2, side = is_small ? std::min<std::int64_t>(s.side, 4) : s.side;
  const std::int64_t out = (side + 2 * pad - s.window) / s.stride + 1;
  c.x = contiguous({batch, s.channels, side, side});
  c.w = contiguous({s.features, s.channels / s.groups, s.window, s.window});
  c.y = contiguous({batch, s.features, out, out});
  c.padding_before = c.padding_after = {pad, pad};
  c.strides = {s.stride, s.stride};
  c.dilations = {1, 1};
  return c;
}

std::string name(const ConvolutionSizes& s, std::int64_t batch, const Type& type) {
  char text[128];
  std::snprintf(text, sizeof text, "%s %d %s %dx%dx%d>%d,%dx%d/%d,g%d", s.model, static_cast<int>(batch), type.name,
                static_cast<int>(s.channels), static_cast<int>(s.side), static_cast<int>(s.side),
                static_cast<int>(s.features), static_cast<int>(s.window), static_cast<int>(s.window),
                static_cast<int>(s.stride), static_cast<int>(s.groups));
  return text;
}

/// Letters of notes, by number; "-" for none.
std::string letters(const std::vector<int>& notes, const char* of) {
  std::string text;
  for (const int n : notes) text += n >= 0 && n < static_cast<int>(std::strlen(of)) ? of[n] : '?';
  return text.empty() ? "-" : text;
}
// Tensor cores, down converts, reduced precision, FFT, nondeterministic, Winograd and its tiles, strict NaN.
constexpr const char* kNotes = "tdrfnw46xs";
// Compiles at run time, reorders filters and biases of int8, native in graphs, needs cuBLASLt.
constexpr const char* kBehaviours = "cfbgl";

struct Operands {
  Address x, w, bias, y;
};

std::uint64_t bytes_of(const Shape& s, std::uint32_t element) {
  return static_cast<std::uint64_t>(s.sizes[0] * s.strides[0]) * element;
}

/// Values of the type between -1 and 1.
std::vector<char> numbers(const Type& type) {
  std::vector<char> bytes;
  std::minstd_rand random(1);
  for (int i = 0; i < 1 << 16; ++i) {
    const float value = static_cast<float>(random() % 2001) / 1000 - 1;
    const char* first = reinterpret_cast<const char*>(&value) + (4 - type.bytes);  // the upper half for bfloat16
    bytes.insert(bytes.end(), first, first + type.bytes);
  }
  return bytes;
}

/// Microseconds, or nullopt if the engine fails.
std::optional<double> measure(const Cudnn& cudnn, SpeedDevice& device, const Convolution& c, const CudnnPlan& plan,
                              const Operands& at, Address workspace) {
  std::vector<std::int64_t> ids = {kConvolutionX, kConvolutionW, kConvolutionY};
  std::vector<Address> addresses = {at.x, at.w, at.y};
  if (c.has_bias) ids.push_back(kConvolutionBias), addresses.push_back(at.bias);
  cudnn::Descriptor pack(cudnn.api, cudnn::kPack);
  pack.set(cudnn::kPackNumbers, ids);
  pack.set(cudnn::kPackAddresses, cudnn::kTypePointer, std::span<const Address>(addresses));
  pack.set(cudnn::kPackWorkspace, cudnn::kTypePointer, workspace).finalize();
  if (!pack.is_valid()) return std::nullopt;
  return device.microseconds(
      [&] { return cudnn.api.execute(cudnn.target.handle, plan.plan.handle(), pack.handle()) == kSuccess; });
}

/// The times of a graph's engines.
struct Times {
  double chosen = 0, fastest = 0;
  std::string best_engine;
};

class Speed {
 public:
  explicit Speed(const Options& o) : options_(o), end_(Clock::now() + std::chrono::duration<double>(o.seconds)) {
    if (!o.only_plans) device_.emplace();
    cudnn_ = open_cudnn(device_ ? &*device_ : nullptr);
  }

  [[nodiscard]] bool is_over() const { return Clock::now() > end_; }

  void convolution(const ConvolutionSizes& sizes, std::int64_t batch, const Type& type) {
    const std::string title = name(sizes, batch, type);
    if (title.find(options_.only) == std::string::npos) return;
    Convolution c = create_convolution(sizes, batch, type, options_.is_small);
    Operands at{};
    Address workspace = 0;
    if (device_) {
      const std::vector<char> pattern = numbers(type);
      at = {device_->allocate(bytes_of(c.x, c.bytes), pattern), device_->allocate(bytes_of(c.w, c.bytes), pattern),
            device_->allocate(static_cast<std::uint64_t>(sizes.features) * c.bytes, pattern),
            device_->allocate(bytes_of(c.y, c.bytes), pattern)};
      workspace = device_->allocate(options_.is_small ? 1 << 20 : kMaxWorkspace, {});
    }
    Times of[2];
    for (const bool is_fused : {false, true}) {
      c.has_bias = c.has_relu = is_fused;
      of[is_fused ? 1 : 0] = engines(title + (is_fused ? " fused" : " plain"), c, at, workspace);
    }
    if (device_) device_->free_all();
    if (device_ && !is_over())
      std::printf("= %s plain: %.2f us taken, %.2f best (%s); fused: %.2f taken, %.2f best (%s)\n", title.c_str(),
                  of[0].chosen, of[0].fastest, of[0].best_engine.c_str(), of[1].chosen, of[1].fastest,
                  of[1].best_engine.c_str());
    std::fflush(stdout);
  }

 private:
  Times engines(const std::string& title, const Convolution& c, const Operands& at, Address workspace) {
    Times times;
    const cudnn::Descriptor graph = cudnn_graph(cudnn_.target, convolution_operations(cudnn_.api, c, kAlignment));
    if (!graph.is_valid()) {
      std::printf("%s has no graph\n", title.c_str());
      return times;
    }
    const std::vector<int> refused = refused_notes(c);
    bool is_taken = false;
    std::size_t count = 0;
    for (const CudnnEngine& e : cudnn_candidates(cudnn_.api, cudnn_.target, graph, refused, Compiling::gives_way)) {
      if (is_over() || count == kMostEngines) break;
      const auto from = Clock::now();
      const std::unique_ptr<CudnnPlan> plan = cudnn_plan(cudnn_.api, cudnn_.target, e);
      const double ms = std::chrono::duration<double, std::milli>(Clock::now() - from).count();
      const std::string engine = std::string(e.mode == cudnn::kModeA ? "A" : "fallback") + " " +
                                 std::to_string(e.rank) + " engine " + std::to_string(e.index);
      if (plan == nullptr || plan->workspace > kMaxWorkspace) continue;
      ++count;
      const bool takes = !is_taken;
      is_taken = true;
      std::printf("%s %s %s %s %lld %.1f", title.c_str(), engine.c_str(), letters(e.notes, kNotes).c_str(),
                  letters(e.behaviours, kBehaviours).c_str(), static_cast<long long>(plan->workspace / 1024), ms);
      if (device_) {
        const std::optional<double> us = measure(cudnn_, *device_, c, *plan, at, workspace);
        if (us && takes) times.chosen = *us;
        if (us && (times.fastest == 0 || *us < times.fastest)) times.fastest = *us, times.best_engine = engine;
        std::printf(us ? " %.2f" : " fails", us.value_or(0));
      }
      std::printf("%s\n", takes ? " taken" : "");
    }
    return times;
  }

  const Options options_;
  const std::chrono::time_point<Clock, std::chrono::duration<double>> end_;
  std::optional<SpeedDevice> device_;
  Cudnn cudnn_;
};

std::optional<Options> read(int argc, char** argv) {
  Options o;
  if (argc < 2 || (o.seconds = std::atof(argv[1])) <= 0) return std::nullopt;
  for (int i = 2; i < argc; ++i) {
    if (std::strcmp(argv[i], "--plan") == 0) {
      o.only_plans = true;
    } else if (std::strcmp(argv[i], "--small") == 0) {
      o.is_small = true;
    } else if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      o.only = argv[++i];
    } else {
      return std::nullopt;
    }
  }
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Options> options = read(argc, argv);
  if (!options) {
    std::fputs(
        "usage: convolution_speed SECONDS [--plan] [--small] [--only TEXT]; for example: convolution_speed 60 --only "
        "'resnet50 1 float32'\n",
        stderr);
    return 2;
  }
  try {
    Speed speed(*options);
    for (const std::int64_t batch : {1, 32}) {
      for (const Type& type : kTypes) {
        for (const ConvolutionSizes& sizes : kConvolutions) {
          const bool is_left_out = options->is_small && (batch > 1 || sizes.channels != 16);
          if (!is_left_out && !speed.is_over()) speed.convolution(sizes, batch, type);
        }
      }
    }
  } catch (const Missing&) {
    std::puts("SKIP cuDNN 9 is missing: name libcudnn.so.9 by TERN_CUDNN");
  } catch (const std::exception& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "FAIL %s\n", e.what());
    return 1;
  }
}
