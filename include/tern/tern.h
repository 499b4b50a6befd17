// Tern's public interface: open an archive, prepare it for a device, run it in sessions.
//
//   tern::Model model = tern::Model::open("model.tern");
//   tern::Session session(model.prepare());
//   const std::vector<tern::Tensor>& outputs = session.run({input});
//
// Errors: every function throws tern::Error (tern/error.h).
// Threads: a Model and a Prepared are immutable; any number of threads may use one. A Session belongs to one thread at
// a time.
// Memory: all sessions of a Prepared share the weights. Each session has its own mutable state and its own memory for
// intermediate values.
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

/// How to bring an archive's bytes into memory.
enum class Access {
  map,       ///< map the file; the system loads pages on first use
  populate,  ///< map the file and load all pages now
  read,      ///< read the file into memory (network disks, files that may change while in use)
};
/// When to check the hashes of the weights.
enum class Verify { never, first_use, now };

struct OpenOptions {
  Access access = Access::map;
  Verify verify = Verify::first_use;
};

/// The size of one axis: a number, or an expression of symbols such as "2*s0 + 1".
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
  /// Not empty for an input that export fixed (None, a bool, a number): its value as Python text. run() does not take
  /// such inputs.
  std::string fixed;
};

struct FunctionInfo {
  std::string name;
  std::vector<ValueInfo> inputs;   ///< run() takes those with an empty `fixed`, in this order
  std::vector<ValueInfo> outputs;  ///< an output that is None has dtype invalid
};

/// A parameter, buffer or constant of the program.
struct StateInfo {
  std::string name;
  DType dtype = DType::invalid;
  std::vector<std::int64_t> sizes;
  bool is_parameter = false;
  bool is_mutable = false;   ///< some function updates it
  bool replaceable = false;  ///< Model::with_weights can replace it
};

/// A note on a node, made by `tern export --annotate`.
struct AnnotationInfo {
  std::string function;
  std::uint32_t node = 0;  ///< number in the function
  std::string op;          ///< of Tern: "matmul"
  std::string key, value;  ///< the value as text: "1", "0.5", "true", "high"
};

/// prepare() throws invalid_argument if a number is out of range.
struct PrepareOptions {
  std::string device = "cpu";       ///< or a plugin's: "xpu", "xpu:1" (tern/device.h)
  int threads = 0;                  ///< threads of each run, 0 to 1024; 0: as many as OpenMP reports to the caller of
                                    ///< the run (omp_set_num_threads, OMP_NUM_THREADS, else all cores). A run leaves
                                    ///< OpenMP's setting as it was
  int cached_plans = 16;            ///< memory plans that each function keeps for all sessions, one for each set of
                                    ///< input sizes and number of threads; 1 to 65536
  std::int64_t max_iterations = 0;  ///< limit for each while loop; 0: no limit
  double max_seconds = 0;           ///< time limit for a run; 0: no limit. Checked between nodes and iterations
  std::uint64_t max_memory = 0;     ///< limit for a session's intermediate values and scratch, bytes; 0: no limit
  bool reproducible = false;        ///< the same bits on every device and processor; slower
  Precision precision = Precision::exported;  ///< in what products of float32 multiply; no effect on devices. Not with
                                              ///< `reproducible`. Nodes for which the archive says a precision
                                              ///< (tern export --precision) have that
  /// Nodes that keep float32 with all of its digits whatever `precision` and the archive say: shell patterns (* ? [])
  /// for module paths ("lm_head", "layers.0.*"), ATen operators or ops. One that matches nothing is an error.
  std::vector<std::string> keep;
  /// Copies weights to the device even if its kernels can read the mapped file (TERN_DEVICE_HOST_MEMORY). No effect on
  /// other devices.
  bool copy_weights = false;
  /// Runs the compiled kernels of the archive (`tern export --target xpu:spirv`). They are native code and can do
  /// anything that this process can do: set it only for archives that you trust. Otherwise the device compiles Tern's
  /// own kernels.
  bool native_code = false;
  /// Folder that keeps weights as this processor's kernels want them, so that later runs of any process map them
  /// instead of packing them: a path, or "off". Empty: the environment variable TERN_WEIGHT_CACHE, else tern/weights
  /// in $XDG_CACHE_HOME or ~/.cache. No effect on devices. docs/api.md says what it holds and how it is bounded.
  std::string weight_cache;
};

/// A model that is ready to run on one device. Copies share it.
class TERN_API Prepared {
 public:
  explicit Prepared(std::shared_ptr<const PreparedProgram> impl) : impl_(std::move(impl)) {}
  /// What PrepareOptions::precision and the archive came to: bfloat16 where any node's products are made in it.
  Precision precision() const;
  const std::shared_ptr<const PreparedProgram>& impl() const { return impl_; }

 private:
  std::shared_ptr<const PreparedProgram> impl_;
};

/// How Model::with_lora finds the matrices of an adapter. In each name "{}" stands for a module, which must be the same
/// in all three: "layers.0.q_proj". Names that match no pattern are errors.
struct LoraOptions {
  double scale = 1;                                     ///< lora_alpha / r of the adapter's configuration
  std::string a = "base_model.model.{}.lora_A.weight";  ///< in the adapter: [rank, in]
  std::string b = "base_model.model.{}.lora_B.weight";  ///< in the adapter: [out, rank]
  std::string weight = "{}.weight";                     ///< the state of the program that they change: [out, in]
  bool transposed = false;                              ///< the state is [in, out] (fan_in_fan_out)
};

/// An archive. Copies share it.
class TERN_API Model {
 public:
  /// Opens an archive and checks every rule of the format, but reads no weights (see OpenOptions).
  static Model open(const std::string& path, const OpenOptions& options = {});
  /// Borrows bytes in memory, which must outlive the model and everything made from it. If they are aligned to 64
  /// bytes, weights are not copied.
  static Model from_bytes(std::span<const std::byte> bytes, const OpenOptions& options = {});
  explicit Model(std::shared_ptr<const Program> program);

  /// The functions that can be run. References are valid as long as this model or a copy of it lives.
  const std::vector<FunctionInfo>& functions() const&;
  /// The weights and other states. References: as for functions().
  const std::vector<StateInfo>& states() const&;
  /// The symbols of sizes, with their ranges. References: as for functions().
  const std::vector<SymbolInfo>& symbols() const&;
  /// The notes on nodes. References: as for functions().
  const std::vector<AnnotationInfo>& annotations() const&;
  /// Facts about the archive, by key: "torch" is the version of PyTorch that exported it. References: as for
  /// functions().
  const std::vector<std::pair<std::string, std::string>>& metadata() const&;
  std::vector<FunctionInfo> functions() && { return static_cast<const Model&>(*this).functions(); }
  std::vector<StateInfo> states() && { return static_cast<const Model&>(*this).states(); }
  std::vector<SymbolInfo> symbols() && { return static_cast<const Model&>(*this).symbols(); }
  std::vector<AnnotationInfo> annotations() && { return static_cast<const Model&>(*this).annotations(); }
  std::vector<std::pair<std::string, std::string>> metadata() && { return static_cast<const Model&>(*this).metadata(); }

  /// A model with the weights of a safetensors file, found by the names of states; states that the file does not name
  /// keep theirs. The file is mapped and must not change while the model lives. Throws invalid_argument, and lists the
  /// names, if dtype or sizes differ, the program has no such state, or export merged the state into other weights
  /// (`tern export --no-fold` keeps all of them).
  Model with_weights(const std::string& path) const;
  /// A model whose weights W become W + scale * B @ A, with the adapter matrices A and B of a safetensors file. Weights
  /// are float32, float16 or bfloat16; A and B may be of another of these types. Errors: as for with_weights().
  Model with_lora(const std::string& path, const LoraOptions& options = {}) const;

  Prepared prepare(const PrepareOptions& options = {}) const;
  const std::shared_ptr<const Program>& program() const { return program_; }

 private:
  std::shared_ptr<const Program> program_;
  std::shared_ptr<ModelInfo> info_;
};

/// What a session uses, for benchmarks and tests.
struct SessionStats {
  std::uint64_t arena_bytes = 0;   ///< memory for intermediate values, of all plans
  std::uint64_t state_bytes = 0;   ///< this session's mutable state
  std::uint64_t plans_made = 0;    ///< memory plans that this session made; it shares those that others made
  std::uint64_t bytes_copied = 0;  ///< in the last run, by copies that the program did not ask for: layouts, updates of
                                   ///< state, results of control flow
  std::uint64_t partitions = 0;    ///< partitions that the device compiled, in all plans
  std::uint64_t partitioned = 0;   ///< nodes in them
};

/// The cost of one node over all profiled runs. `flops` and `bytes` are the least that its definition needs: floating-
/// point operations, and bytes of operands and results.
struct NodeTime {
  std::string function;
  std::uint32_t node = 0;      ///< number in the function
  std::string op;              ///< of Tern: "matmul"; "partition" if the device compiled it together with others
  std::string origin, module;  ///< "aten.linear.default", "encoder.layers.0.fc1"; empty if unknown
  double seconds = 0;
  std::uint64_t runs = 0;
  std::uint64_t launches =
      0;  ///< launches and copies that the device's clock timed; 0: the host's clock timed the node
  double flops = 0, bytes = 0;
  std::uint32_t members = 0;  ///< nodes of the partition, which `node` ends; `flops` counts that node alone
};

/// A tensor for the input of that name.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// Where a session stands in its stream of random numbers.
struct RandomPosition {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;  ///< blocks that were taken since set_seed()
};

/// One user's state and memory for running a Prepared. Belongs to one thread at a time.
class TERN_API Session {
 public:
  /// Runs on the thread's current stream if a StreamScope for the device is active, else on a new stream.
  explicit Session(const Prepared& prepared);
  Session(const Prepared& prepared, const Stream& stream);
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Runs a function and waits for its results: `function`, or "forward", or the only function. Checks the number of
  /// inputs, and dtype, rank and sizes of each, before it starts. Inputs lie on the host, or on the session's device
  /// (Tensor::on): kernels then read them there if they are contiguous and aligned to 64 bytes. Strided inputs are
  /// copied first. Inputs by name may
  /// be in any order. Results borrow the session's memory and are valid until its next run. If a run fails, mutable
  /// state may hold values of the failed run.
  const std::vector<Tensor>& run(std::span<const Tensor> inputs);
  const std::vector<Tensor>& run(std::initializer_list<Tensor> inputs) {
    return run(std::span(inputs.begin(), inputs.size()));
  }
  const std::vector<Tensor>& run(const std::vector<NamedTensor>& inputs);
  const std::vector<Tensor>& run(std::string_view function, std::span<const Tensor> inputs);
  const std::vector<Tensor>& run(std::string_view function, const std::vector<NamedTensor>& inputs);
  /// Runs a function and writes its results to `outputs`, one tensor for each result. Throws invalid_argument, before
  /// it writes any, if dtype or sizes of one differ from the result's. A tensor without element type (`Tensor()`)
  /// leaves that result out. Tensors lie on the host or on the session's device. Kernels write a result there directly
  /// if the tensor lies where the session runs, is contiguous, aligned to 64 bytes, and shares no memory with inputs or
  /// other outputs; else the result is copied at the end.
  void run_into(std::string_view function, std::span<const Tensor> inputs, std::span<const Tensor> outputs);
  void run_into(std::span<const Tensor> inputs, std::span<const Tensor> outputs);
  void run_into(std::initializer_list<Tensor> inputs, std::initializer_list<Tensor> outputs) {
    run_into(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()));
  }
  /// Puts a run on the stream and returns, as enqueue() does; results go to `outputs`, as of run_into(). While a Graph
  /// records the stream, each replay writes there. On the host a tensor must be contiguous, aligned to 64 bytes, and
  /// share no memory with inputs or other outputs.
  void enqueue_into(std::string_view function, std::span<const Tensor> inputs, std::span<const Tensor> outputs);
  /// As run_owned(), with results in memory of the session's device. While a Graph records the stream, each replay
  /// writes to them.
  std::vector<Tensor> run_on_device(std::string_view function, std::span<const Tensor> inputs);
  /// Runs a function and gives its results memory of their own, 64-byte aligned: they stay valid after later runs and
  /// after the session's end. On the CPU kernels write there directly. output() does not know these results. Throws
  /// invalid_argument while a Graph records the stream.
  std::vector<Tensor> run_owned(std::string_view function, std::span<const Tensor> inputs);
  /// The result of that name, of the last run. Valid until the next run.
  const Tensor& output(std::string_view name) const;
  /// Puts a run on the stream and returns; waits only if the host must read data. Results hold their values, and inputs
  /// may be changed or freed, after Stream::synchronize, which throws the errors of the run.
  const std::vector<Tensor>& enqueue(std::string_view function, std::span<const Tensor> inputs);
  const Stream& stream() const;

  /// A copy of a state as this session sees it.
  Tensor read_state(std::string_view name) const;
  /// Gives a mutable state a new value of the same dtype and sizes; `value` may be strided. Immutable states are shared
  /// by all sessions: use Model::with_weights.
  void write_state(std::string_view name, const Tensor& value);
  /// Gives all mutable states their values from the archive.
  void reset_state();
  /// Sets the ranks that collectives of this session run with (tern/collective.h). `name` is the program's name for the
  /// group ("0" is torch.distributed's default group); an empty name means all groups without a group of their own.
  /// Null removes the group. Without a group, a program that needs no particular number of ranks runs as one rank.
  void set_group(std::shared_ptr<ProcessGroup> group, std::string_view name = {});
  /// Seeds the random numbers of later runs.
  void set_seed(std::uint64_t seed);
  /// What a checkpoint keeps beside the states: a session that gets it draws the numbers that this one would.
  RandomPosition random_position() const;
  void set_random_position(const RandomPosition& position);
  /// One step of training of an archive that `tern export --train` made: runs `train_step` with its inputs, the target
  /// and the learning rate `rate`, updates parameters and the optimizer's states, and returns the loss before the
  /// update. It is run("train_step", inputs and a float64 tensor of the rate), so all of its results are in output().
  /// Read parameters with read_state(), change them with write_state() (docs/training.md).
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
