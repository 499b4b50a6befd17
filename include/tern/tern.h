// Tern's public interface: open an archive, prepare it for a device, and run it in sessions.
//
//   tern::Model model = tern::Model::open("model.tern");
//   tern::Session session(model.prepare());
//   const std::vector<tern::Tensor>& outputs = session.run({input});
//
// Everything throws tern::Error. A Model and a Prepared are immutable and may be used by many threads at once; a
// Session belongs to one thread at a time. Eight sessions over one Prepared hold eight arenas and eight copies of the
// mutable state, and one of the weights.
#pragma once

#include <tern/dtype.h>
#include <tern/error.h>
#include <tern/stream.h>
#include <tern/tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tern {

struct Program;  // the program in memory; see schema/program.h of the sources
struct PreparedProgram;
class SessionImpl;
class ProcessGroup;

/// How an archive's bytes are reached.
enum class Access {
  map,       ///< mapped, pages come in as they are touched
  populate,  ///< mapped, all pages asked for at once
  read,      ///< read into memory (network disks, files that may change while in use)
};
/// When the hashes of segments are checked.
enum class Verify { never, first_use, now };

struct OpenOptions {
  Access access = Access::map;
  Verify verify = Verify::first_use;
};

/// A size of an input or output: a number, or an expression of symbols such as "2*s0 + 1".
struct SizeInfo {
  std::string text;
  bool constant = true;
  std::int64_t value = 0;           ///< of a constant
  std::int64_t min = 0;             ///< what it may be at least
  std::optional<std::int64_t> max;  ///< and at most, if there is a limit
};

struct ValueInfo {
  std::string name;
  DType dtype = DType::invalid;
  std::vector<SizeInfo> sizes;
  /// For an input that export fixed (None, a bool, a number): its value as Python text; such inputs are not passed to
  /// run().
  std::string fixed;
};

struct FunctionInfo {
  std::string name;
  std::vector<ValueInfo> inputs;   ///< those with `fixed` empty are what run() takes, in this order
  std::vector<ValueInfo> outputs;  ///< a None output has dtype invalid
};

struct StateInfo {
  std::string name;
  DType dtype = DType::invalid;
  std::vector<std::int64_t> sizes;
  bool is_parameter = false;
  bool is_mutable = false;  ///< some function writes it back
};

struct PrepareOptions {
  std::string device = "cpu";       ///< or a plugin's: "xpu", "xpu:1" (tern/device.h)
  int threads = 0;                  ///< for each run; 0: what OpenMP would take (OMP_NUM_THREADS, else all cores)
  int cached_plans = 16;            ///< how many sets of input sizes keep their memory plan, for each function
  std::int64_t max_iterations = 0;  ///< limit for each while loop; 0: no limit
  double max_seconds = 0;           ///< time limit for a run; 0: no limit. Checked between nodes and iterations
  std::uint64_t max_memory = 0;     ///< limit for a session's intermediate values and scratch, bytes; 0: no limit
  bool reproducible = false;        ///< the same bits on every device and processor, for some speed
  /// On a device whose kernels read the host's memory (TERN_DEVICE_HOST_MEMORY) weights stay where the file is mapped,
  /// and need no memory of their own, unless this asks for copies. Elsewhere it means nothing.
  bool copy_weights = false;
  /// Runs kernels that the archive brings compiled (`tern export --target xpu:spirv`). They are native code, which can
  /// do whatever this process can: only for archives whose maker is trusted. Without it devices compile Tern's own
  /// text.
  bool native_code = false;
};

class TERN_API Prepared {
 public:
  explicit Prepared(std::shared_ptr<const PreparedProgram> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<const PreparedProgram>& impl() const { return impl_; }

 private:
  std::shared_ptr<const PreparedProgram> impl_;
};

class TERN_API Model {
 public:
  /// Opens an archive. Checks the prologue, the index's hash and every structural rule; weights are not touched (see
  /// OpenOptions).
  static Model open(const std::string& path, const OpenOptions& options = {});
  /// Borrows bytes that are already in memory (64-byte aligned, so that weights need no copy). They must outlive the
  /// model and all made from it.
  static Model from_bytes(std::span<const std::byte> bytes, const OpenOptions& options = {});
  explicit Model(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

  /// The functions that can be called from outside.
  std::vector<FunctionInfo> functions() const;
  std::vector<StateInfo> states() const;
  Prepared prepare(const PrepareOptions& options = {}) const;
  const std::shared_ptr<const Program>& program() const { return program_; }

 private:
  std::shared_ptr<const Program> program_;
};

/// What a session has used, for benchmarks and tests.
struct SessionStats {
  std::uint64_t arena_bytes = 0;   ///< memory of all plans' intermediate values
  std::uint64_t state_bytes = 0;   ///< this session's copies of mutable state
  std::uint64_t plans_made = 0;    ///< how often sizes were planned anew
  std::uint64_t bytes_copied = 0;  ///< by copies that the program did not ask for: layouts, write-backs, results of
                                   ///< control flow; in the last run
  std::uint64_t partitions = 0;    ///< parts that the device compiled as a whole, in all plans
  std::uint64_t partitioned = 0;   ///< nodes in them
};

/// What a node of a function took over all profiled runs, and the least that it had to do: its definition's
/// floating-point operations, and the bytes of its operands and results.
struct NodeTime {
  std::string function;
  std::uint32_t node = 0;      ///< number in the function
  std::string op;              ///< of Tern: "matmul"; "partition" where the device compiled it, with others
  std::string origin, module;  ///< "aten.linear.default", "encoder.layers.0.fc1"; empty where unknown
  double seconds = 0;
  std::uint64_t runs = 0;
  std::uint64_t launches = 0;  ///< and copies, over all runs, that the device's own clock timed; 0: the host's did
  double flops = 0, bytes = 0;
  std::uint32_t members = 0;  ///< of a partition: its nodes, of which this is the last; flops count that of one alone
};

class TERN_API Session {
 public:
  /// On a stream of its own, or on this thread's current one inside a StreamScope for the device.
  explicit Session(const Prepared& prepared);
  Session(const Prepared& prepared, const Stream& stream);
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Runs the only entry function, or the one called "forward". Checks count, dtype, rank and each size of the inputs
  /// first. The results borrow the session's memory: they are valid until the next run. When a run fails, mutable state
  /// may hold values of the failed run.
  const std::vector<Tensor>& run(std::span<const Tensor> inputs);
  const std::vector<Tensor>& run(std::initializer_list<Tensor> inputs) {
    return run(std::span(inputs.begin(), inputs.size()));
  }
  const std::vector<Tensor>& run(std::string_view function, std::span<const Tensor> inputs);
  /// Puts a run on the stream and does not wait, but where the host has to look at data. Results hold their values, and
  /// inputs may be changed or freed, once the stream has been synchronised: that fails with what failed in the run.
  const std::vector<Tensor>& enqueue(std::string_view function, std::span<const Tensor> inputs);
  const Stream& stream() const;

  /// A copy of a parameter or buffer as this session sees it.
  Tensor read_state(std::string_view name) const;
  /// Gives a mutable state a new value; dtype and sizes must agree. Immutable ones are shared with other sessions and
  /// refuse.
  void write_state(std::string_view name, const Tensor& value);
  /// All mutable state as it was in the archive.
  void reset_state();
  /// The ranks that this session's collectives run with (tern/collective.h): of the group that the program calls
  /// `name` ("0" is torch.distributed's first, the default one), or of all that have none of their own, where it is
  /// empty. Null: none any more. Without a group, programs that need no certain number of ranks run as one of one.
  void set_group(std::shared_ptr<ProcessGroup> group, std::string_view name = {});
  /// Random numbers of later runs follow from this seed.
  void set_seed(std::uint64_t seed);
  SessionStats stats() const;

  /// Measures each node of later runs, or no longer does; either way earlier figures are forgotten. Nodes of bodies
  /// count in the node that runs them too. Runs that are measured are waited for.
  void set_profiling(bool on);
  /// The longest first.
  std::vector<NodeTime> profile() const;

 private:
  std::shared_ptr<SessionImpl> impl_;
};

}  // namespace tern
