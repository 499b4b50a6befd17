// Tern's public interface: open an archive, prepare it for a device, run it in sessions.
//
//   tern::Model model = tern::Model::open("model.tern");
//   tern::Session session(model.prepare());
//   const std::vector<tern::Tensor>& outputs = session.run({input});
//
// Errors: every function throws tern::Error (tern/error.h).
// Threads: a Model and a PreparedModel are immutable; any number of threads may share them. A Session belongs to one
// thread at a time. Memory: all sessions of a PreparedModel share the weights. Each session has its own mutable state
// and its own memory for intermediate values.
#pragma once

#if __cplusplus < 201709L
#error "tern/tern.h needs C++20: compile with -std=c++20 (pkg-config --cflags tern has it)"
#endif

#include <tern/dtype.h>
#include <tern/error.h>
#include <tern/precision.h>
#include <tern/stream.h>
#include <tern/tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tern {

struct Program;  // private: schema/program.h of the sources
struct PreparedProgram;
struct ModelInfo;
class SessionImpl;
class ProcessGroup;

/// Ways to bring an archive's bytes into memory.
enum class Access {
  map,       ///< map the file; the system loads pages on first use
  populate,  ///< map the file and load all pages now
  read,      ///< read the file into memory (network disks, files changing during use)
};
/// When to check the hashes of the weights.
enum class Verify { never, first_use, now };

struct OpenOptions {
  Access access = Access::map;
  Verify verify = Verify::first_use;
};

/// The size of an axis: a number, or an expression of symbols, for example "2*s0 + 1".
struct SizeInfo {
  std::string text;
  bool constant = true;
  std::int64_t value = 0;           ///< if constant
  std::int64_t min = 0;             ///< smallest size
  std::optional<std::int64_t> max;  ///< largest size; empty: no limit
};

/// A symbol of size expressions. `min` and `max` are inclusive; an empty `max` means no limit.
struct SymbolInfo {
  std::string name;
  std::int64_t min = 0;
  std::optional<std::int64_t> max;
};

/// An input or output of a function.
struct ValueInfo {
  std::string name;
  DType dtype = DType::invalid;
  std::vector<SizeInfo> sizes;
  /// Python text of an input's value fixed at export (None, a bool, a number), else empty. run() does not take fixed
  /// inputs.
  std::string fixed;
};

struct FunctionInfo {
  std::string name;
  std::vector<ValueInfo> inputs;   ///< run() takes all inputs with an empty `fixed`, in this order
  std::vector<ValueInfo> outputs;  ///< a None output has dtype invalid
};

/// A parameter, buffer or constant of the program.
struct StateInfo {
  std::string name;
  DType dtype = DType::invalid;
  std::vector<std::int64_t> sizes;
  bool is_parameter = false;
  bool is_mutable = false;   ///< true if a function updates the state
  bool replaceable = false;  ///< true if Model::with_weights can replace the state
};

/// A note on a node, made by `tern export --annotate`.
struct AnnotationInfo {
  std::string function;
  std::uint32_t node = 0;  ///< number in the function
  std::string op;          ///< op of Tern: "matmul"
  std::string key, value;  ///< the value as text: "1", "0.5", "true", "high"
};

/// A file that the archive carries for applications: "tokenizer.json" and the like (tern/text.h).
struct FileInfo {
  std::string name;
  std::uint64_t size = 0;  ///< bytes
};

/// prepare() throws invalid_argument if a number is out of range.
struct PrepareOptions {
  std::string device = "cpu";       ///< or a plugin's: "xpu", "xpu:1" (tern/device.h)
  int threads = 0;                  ///< threads of each run, 0 to 1024; 0: as many as OpenMP reports to the caller of
                                    ///< the run (omp_set_num_threads, OMP_NUM_THREADS, else all cores). A run does not
                                    ///< change OpenMP's setting
  int cached_plans = 16;            ///< memory plans kept by each function for all sessions, a plan for each set of
                                    ///< input sizes and number of threads; 1 to 65536
  std::int64_t max_iterations = 0;  ///< limit for each while loop; 0: no limit
  double max_seconds = 0;           ///< time limit for a run; 0: no limit. Checked between nodes and iterations
  std::uint64_t max_memory = 0;     ///< limit for a session's intermediate values and scratch, bytes; 0: no limit
  bool reproducible = false;        ///< the same bits on every device and processor; slower
  Precision precision = Precision::exported;  ///< multiplication type of float32 products; no effect on devices;
                                              ///< excludes `reproducible`. A node's precision in the archive (tern
                                              ///< export --precision) takes precedence
  /// Nodes staying float32 without rounding despite `precision` and the archive: shell patterns (* ? []) for module
  /// paths ("lm_head", "layers.0.*"), ATen operators or ops. A pattern without a match is an error.
  std::vector<std::string> float32_nodes;
  /// Copies weights to the device even if its kernels can read the mapped file (TERN_DEVICE_HOST_MEMORY). No effect on
  /// other devices.
  bool copy_weights = false;
  /// Runs the compiled kernels of the archive (`tern export --target xpu:spirv`). These kernels are native code with
  /// all rights of this process: set this option only for trusted archives. Otherwise the device compiles Tern's own
  /// kernels.
  bool native_code = false;
  /// Folder of weights packed for this processor's kernels; later runs of any process map the packed weights instead of
  /// packing again: a path, or "off". Empty: the environment variable TERN_WEIGHT_CACHE, else tern/weights in
  /// $XDG_CACHE_HOME or ~/.cache. No effect on devices. docs/api.md describes the contents and the size limit.
  std::string weight_cache;
};

/// A model ready to run on a device. Copies share the prepared program.
class TERN_API PreparedModel {
 public:
  explicit PreparedModel(std::shared_ptr<const PreparedProgram> impl) : impl_(std::move(impl)) {}
  /// The effective precision from PrepareOptions::precision and the archive: bfloat16 if the products of any node use
  /// it.
  Precision precision() const;
  const std::shared_ptr<const PreparedProgram>& impl() const { return impl_; }

 private:
  std::shared_ptr<const PreparedProgram> impl_;
};

/// Patterns of Model::with_lora for an adapter's matrices. In each name "{}" stands for a module, the same in all
/// three: "layers.0.q_proj". Names matching no pattern are errors.
struct LoraOptions {
  double scale = 1;                                     ///< lora_alpha / r of the adapter's configuration
  std::string a = "base_model.model.{}.lora_A.weight";  ///< name in the adapter: [rank, in]
  std::string b = "base_model.model.{}.lora_B.weight";  ///< name in the adapter: [out, rank]
  std::string weight = "{}.weight";                     ///< the changed state of the program: [out, in]
  bool transposed = false;                              ///< the state is [in, out] (fan_in_fan_out)
};

/// An archive. Copies share the loaded program.
class TERN_API Model {
 public:
  /// Opens an archive and checks every rule of the format, but reads no weights (see OpenOptions).
  static Model open(const std::string& path, const OpenOptions& options = {});
  /// Borrows bytes in memory; the bytes must outlive the model and all objects created from it, so a temporary is
  /// refused. Weights are not copied if the bytes are aligned to 64 bytes.
  static Model from_bytes(std::span<const std::byte> bytes, const OpenOptions& options = {});
  static Model from_bytes(std::vector<std::byte>&& bytes, const OpenOptions& options = {}) = delete;
  explicit Model(std::shared_ptr<const Program> program);

  /// The functions of the program. References are valid as long as this model or a copy lives.
  const std::vector<FunctionInfo>& functions() const&;
  /// The weights and other states. References: as for functions().
  const std::vector<StateInfo>& states() const&;
  /// The symbols of sizes, with their ranges. References: as for functions().
  const std::vector<SymbolInfo>& symbols() const&;
  /// The notes on nodes. References: as for functions().
  const std::vector<AnnotationInfo>& annotations() const&;
  /// Facts about the archive, by key: "torch" is the version of PyTorch used for the export. References: as for
  /// functions().
  const std::vector<std::pair<std::string, std::string>>& metadata() const&;
  /// The attached files. References: as for functions().
  const std::vector<FileInfo>& files() const&;
  /// Bytes of an attached file, read and checked on first use; valid as long as this model or a copy lives. Files named
  /// .json, .jinja and .txt are UTF-8. Throws invalid_argument if the archive has no such file, bad_file if damaged.
  std::string_view file(std::string_view name) const&;
  std::string file(std::string_view name) && { return std::string(static_cast<const Model&>(*this).file(name)); }
  std::vector<FileInfo> files() && { return static_cast<const Model&>(*this).files(); }
  std::vector<FunctionInfo> functions() && { return static_cast<const Model&>(*this).functions(); }
  std::vector<StateInfo> states() && { return static_cast<const Model&>(*this).states(); }
  std::vector<SymbolInfo> symbols() && { return static_cast<const Model&>(*this).symbols(); }
  std::vector<AnnotationInfo> annotations() && { return static_cast<const Model&>(*this).annotations(); }
  std::vector<std::pair<std::string, std::string>> metadata() && { return static_cast<const Model&>(*this).metadata(); }

  /// A model with the weights of a safetensors file, found by the names of states; states missing in the file keep
  /// their weights. The file is mapped and must not change while the model lives. Throws invalid_argument, and lists
  /// the names, if dtype or sizes differ, the program lacks the state, or export merged the state into other weights
  /// (`tern export --no-fold` keeps all states).
  Model with_weights(const std::string& path) const;
  /// A model with merged adapters: weights W become W + scale * B @ A, with the adapter matrices A and B of a
  /// safetensors file. Weights are float32, float16 or bfloat16; A and B may have another of these types.
  /// Errors: as for with_weights().
  Model with_lora(const std::string& path, const LoraOptions& options = {}) const;

  PreparedModel prepare(const PrepareOptions& options = {}) const;
  const std::shared_ptr<const Program>& program() const { return program_; }

 private:
  std::shared_ptr<const Program> program_;
  std::shared_ptr<ModelInfo> info_;
};

/// Resource use of a session, for benchmarks and tests.
struct SessionStats {
  std::uint64_t arena_bytes = 0;   ///< memory for intermediate values, of all plans
  std::uint64_t state_bytes = 0;   ///< this session's mutable state
  std::uint64_t plans_made = 0;    ///< memory plans made by this session, excluding plans shared by others
  std::uint64_t bytes_copied = 0;  ///< bytes copied in the last run beyond the program's own copies: layouts, state
                                   ///< updates, results of control flow
  std::uint64_t partitions = 0;    ///< partitions compiled by the device, in all plans
  std::uint64_t partitioned = 0;   ///< nodes of these partitions
};

/// The cost of a node over all profiled runs. `flops` and `bytes` are minima from the op's definition: floating-point
/// operations, and bytes of operands and results.
struct NodeTime {
  std::string function;
  std::uint32_t node = 0;      ///< number in the function
  std::string op;              ///< op of Tern: "matmul"; "partition" if the device compiled several nodes together
  std::string origin, module;  ///< "aten.linear.default", "encoder.layers.0.fc1"; empty if unknown
  double seconds = 0;
  std::uint64_t runs = 0;
  std::uint64_t launches = 0;  ///< launches and copies timed by the device's clock; 0: the host's clock timed the node
  double flops = 0, bytes = 0;
  std::uint32_t members = 0;  ///< nodes of the partition ending with `node`; `flops` counts `node` alone
};

/// A tensor for the input of this name.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// Position of a session in its stream of random numbers.
struct RandomPosition {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;  ///< blocks taken since set_seed()
};

/// A user's state and memory for running a PreparedModel. Belongs to one thread at a time.
class TERN_API Session {
 public:
  /// Runs on the thread's current stream if a StreamScope for the device is active, else on a new stream.
  explicit Session(const PreparedModel& prepared);
  Session(const PreparedModel& prepared, const Stream& stream);
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Runs a function and waits for its results: `function`, or "forward", or the only function. Checks the number of
  /// inputs, and dtype, rank and sizes of each, before the run starts. Inputs are on the host, or on the session's
  /// device (Tensor::allocate): kernels then read contiguous inputs aligned to 64 bytes in place. Strided inputs are
  /// copied first. Inputs by name may be in any order. Results borrow the session's memory and are valid until its next
  /// run. After a failed run, mutable state may hold values of the failed run.
  const std::vector<Tensor>& run(std::span<const Tensor> inputs);
  const std::vector<Tensor>& run(std::initializer_list<Tensor> inputs) {
    return run(std::span(inputs.begin(), inputs.size()));
  }
  const std::vector<Tensor>& run(const std::vector<NamedTensor>& inputs);
  const std::vector<Tensor>& run(std::string_view function, std::span<const Tensor> inputs);
  const std::vector<Tensor>& run(std::string_view function, const std::vector<NamedTensor>& inputs);
  /// Runs a function and writes its results to `outputs`, a tensor for each result. Throws invalid_argument, before
  /// writing any result, on a mismatch of dtype or sizes. A tensor without element type (`Tensor()`) skips its result.
  /// Tensors are on the host or on the session's device. Kernels write a result directly to the tensor if the tensor is
  /// in the session's memory space, contiguous, aligned to 64 bytes, and shares no memory with inputs or other outputs;
  /// else the result is copied at the end.
  void run_into(std::string_view function, std::span<const Tensor> inputs, std::span<const Tensor> outputs);
  void run_into(std::span<const Tensor> inputs, std::span<const Tensor> outputs);
  void run_into(std::initializer_list<Tensor> inputs, std::initializer_list<Tensor> outputs) {
    run_into(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()));
  }
  /// Puts a run on the stream and returns, like enqueue(); results go to `outputs`, like run_into(). While a Graph
  /// records the stream, each replay writes to `outputs`. On the host a tensor must be contiguous, aligned to 64 bytes,
  /// and share no memory with inputs or other outputs.
  void enqueue_into(std::string_view function, std::span<const Tensor> inputs, std::span<const Tensor> outputs);
  /// Like run_into_new(), with results in memory of the session's device. While a Graph records the stream, each replay
  /// writes to these results.
  std::vector<Tensor> run_on_device(std::string_view function, std::span<const Tensor> inputs);
  /// Runs a function and gives its results memory of their own, 64-byte aligned: results stay valid after later runs
  /// and after the session's end. On the CPU kernels write directly to this memory. output() excludes these results.
  /// Throws invalid_argument while a Graph records the stream.
  std::vector<Tensor> run_into_new(std::string_view function, std::span<const Tensor> inputs);
  /// The last run's result of this name. Valid until the next run.
  const Tensor& output(std::string_view name) const;
  /// Puts a run on the stream and returns; waits only if the host must read data. Results hold their values, and inputs
  /// may be changed or freed, after Stream::synchronize; Stream::synchronize throws the errors of the run.
  const std::vector<Tensor>& enqueue(std::string_view function, std::span<const Tensor> inputs);
  const Stream& stream() const;

  /// A copy of a state in this session.
  Tensor read_state(std::string_view name) const;
  /// Sets a mutable state to a new value of the same dtype and sizes; `value` may be strided. All sessions share
  /// immutable states: use Model::with_weights.
  void write_state(std::string_view name, const Tensor& value);
  /// Copies a part of a mutable state within the session: of slice `from` of the first axis to slice `to`, the first
  /// `count` elements along `axis`. With one slice (`from` and `to` are 0) nothing changes. For caches of language
  /// models with slots (docs/generate.md): the tokens of another sequence's beginning need no second run.
  void copy_in_state(std::string_view name, std::int64_t from, std::int64_t to, std::int64_t axis, std::int64_t count);
  /// Resets all mutable states to their values in the archive.
  void reset_state();
  /// Sets the group of ranks of this session's collectives (tern/collective.h). `name` is the program's name for the
  /// group ("0" is torch.distributed's default group); an empty name means all groups without a group of their own.
  /// Null removes the group. Without a group, a program independent of the number of ranks runs as a single rank.
  void set_group(std::shared_ptr<ProcessGroup> group, std::string_view name = {});
  /// Connects the devices of all groups of this session now: otherwise their first collective does. All ranks of each
  /// group call this together, after set_group, and each names its device by PrepareOptions::device. Groups of
  /// connect_group are connected when that function returns.
  void connect_groups();
  /// Seeds the random numbers of later runs.
  void set_seed(std::uint64_t seed);
  /// Part of a checkpoint beside the states: a session set to this position draws the same next numbers as this
  /// session.
  RandomPosition random_position() const;
  void set_random_position(const RandomPosition& position);
  /// Performs a training step of an archive from `tern export --train`: runs `train_step` with its inputs, the target
  /// and the learning rate `rate`, updates parameters and the optimizer's states, and returns the loss before the
  /// update. Equivalent to run("train_step", inputs and a float64 tensor of the rate): output() has all results. Read
  /// parameters with read_state(), change them with write_state() (docs/training.md).
  double step(std::span<const Tensor> inputs, double rate);
  double step(std::initializer_list<Tensor> inputs, double rate) {
    return step(std::span(inputs.begin(), inputs.size()), rate);
  }
  SessionStats stats() const;

  /// Starts or stops timing each node of later runs, and drops earlier times. The time of a node with bodies includes
  /// the nodes of its bodies. Profiled runs are synchronous.
  void set_profiling(bool on);
  /// The slowest node first.
  std::vector<NodeTime> profile() const;

 private:
  std::shared_ptr<SessionImpl> impl_;
};

}  // namespace tern
