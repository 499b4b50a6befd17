// The interface between the runtime and a CPU kernel: strided views in, contiguous outputs, attributes with sizes
// resolved.
#pragma once

#include <tern/precision.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/algorithm.h"
#include "schema/program.h"

namespace tern {

namespace portable {
class Launcher;
}

/// A tensor in memory of the host or of a device (never dereferenced by the host). Strides count elements and may be
/// zero (expanded) or negative (flipped). For f4_e2m1 and quantized values the layout is always contiguous.
struct TensorView {
  std::byte* data = nullptr;
  DType dtype = DType::invalid;
  std::int32_t rank = 0;
  std::array<std::int64_t, kMaxRank> sizes{};
  std::array<std::int64_t, kMaxRank> strides{};
  Blocks blocks{};  ///< blocks of a quantized value

  std::int64_t numel() const {
    std::int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= sizes[static_cast<std::size_t>(i)];
    return n;
  }
  std::int64_t size(int i) const { return sizes[static_cast<std::size_t>(i)]; }
  std::int64_t stride(int i) const { return strides[static_cast<std::size_t>(i)]; }
  std::span<const std::int64_t> shape() const { return {sizes.data(), static_cast<std::size_t>(rank)}; }
  bool contiguous() const;
  template <class T>
  T* data_as() const {
    return reinterpret_cast<T*>(data);
  }
};
/// Sets contiguous strides for the sizes.
void make_contiguous(TensorView& v);

/// A node with numeric sizes and integer attributes. `attrs` holds constants only.
struct KernelCall;

/// Floats widened by a kernel from a whole operand of small elements, if the kernel does not read them directly.
struct Widening {
  std::uint64_t bytes = 0;  ///< 0: nothing is widened
  bool once = false;        ///< when the plan is created; else in each run
};

/// A kernel's prepared data for a plan (a oneDNN primitive, a resolved loop nest). Sessions on several threads share it
/// at the same time, so runs must not change it: runs write to KernelCall::scratch.
class KernelState {
 public:
  virtual ~KernelState() = default;
  /// Bit i: a run does not read input i, because its bytes were packed.
  std::uint32_t unread = 0;
  /// The algorithm in use, one of Kernel::algorithms.
  AlgorithmChoice algorithm;
  /// The kernel prefetches KernelCall::upcoming while computing.
  bool asks_ahead = false;
  /// Approximate bytes of tables growing with the operands' sizes; PrepareOptions::max_memory limits their sum.
  std::uint64_t table_bytes = 0;
  Widening widening;
};

/// A constant read by a later node from begin to end, each thread reading a part.
struct Upcoming {
  const std::byte* data = nullptr;
  std::size_t size = 0;
  std::size_t begin = 0, end = 0;  ///< prefetch this share of each part: from begin / size to end / size of its bytes
};

/// The bytes of a node's constant operands, as exported and packed.
class WeightAccess {
 public:
  virtual ~WeightAccess() = default;
  /// Operand `input` packed at export under this key; valid as long as the program. Empty if the archive has none.
  virtual std::span<const std::byte> packed(std::size_t input, const std::string& key) = 0;
  /// Call this before `prepare` reads a constant operand: checks the hash.
  virtual void fetch(std::size_t input) = 0;
  /// The result of `make` for operand `input`, shared by all plans of the program using this key; the key must contain
  /// all dependencies beside the operand's bytes. Freed with the last user.
  virtual std::shared_ptr<const void> share(std::size_t input, const std::string& key,
                                            const std::function<std::shared_ptr<const void>()>& make) = 0;
  /// Offers packed bytes to a recorder, for example an archive being written. `make` may be called at any time while
  /// the program is prepared, by any thread, or never; the operand's bytes have been checked before.
  virtual void offer(std::size_t input, const std::string& key, std::function<std::vector<std::byte>()> make) = 0;
};

/// Allocates an output of data-dependent size (nonzero, unique). The memory belongs to the session and is reused.
class OutputAllocator {
 public:
  virtual ~OutputAllocator() = default;
  /// Fills `view` with contiguous memory of these sizes and sets it as output `output` of the node.
  virtual void allocate(std::size_t output, std::span<const std::int64_t> sizes, TensorView* view) = 0;
  /// Sets a data-dependent size (attribute `symbols`, entry `k`).
  virtual void set_symbol(std::size_t k, std::int64_t value) = 0;
};

/// Random numbers of a session: Philox 4x32-10, keyed by the seed; `offset` advances with every draw.
struct RandomState {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
};

/// The groups of a session's ranks.
class GroupAccess {
 public:
  virtual ~GroupAccess() = default;
  /// Runs a node of op collective, exchange or wait, with the ranks of its group.
  virtual void run(const KernelCall& call) = 0;
};

struct KernelCall {
  const Node* node = nullptr;    ///< op, attrs (all integers constant), expr
  std::span<TensorView> in;      ///< an absent operand has data nullptr and dtype invalid
  std::span<TensorView> out;     ///< contiguous, except for Kernel::channels_last and result_strided; data of unused
                                 ///< outputs and of outputs allocated by the kernel is nullptr
  std::span<std::byte> scratch;  ///< bytes requested by the kernel's scratch function, 64-byte aligned
  const KernelState* state = nullptr;  ///< the result of prepare
  OutputAllocator* allocator = nullptr;
  RandomState* random = nullptr;
  WeightAccess* weights = nullptr;            ///< set in prepare; may be null
  GroupAccess* groups = nullptr;              ///< during a run
  portable::Launcher* launcher = nullptr;     ///< runs portable kernels
  const bool* constant = nullptr;             ///< inputs with bytes constant over the life of the program (weights)
  AlgorithmChoice algorithm;                  ///< requested algorithm, if possible; in prepare and channels_last
  Precision precision = Precision::exported;  ///< exported, bfloat16 or float16
  /// Operations per element read or written by the section's convolutions, in prepare and channels_last; 0 if not
  /// counted.
  double intensity = 0;
  std::span<const Upcoming> upcoming;  ///< in a run, if KernelState::asks_ahead is set

  bool has_input(std::size_t i) const { return i < in.size() && in[i].dtype != DType::invalid; }
  bool wants_output(std::size_t i) const { return i < out.size() && out[i].dtype != DType::invalid; }
};

/// Kernels report data-dependent failures (an index out of range, a singular matrix) with
/// tern::fail(ErrorCode::runtime, ...): the runtime adds the node to the message.
struct Kernel {
  void (*run)(KernelCall&) = nullptr;
  /// False for a node computed equally fast by the op's definition: the definition then runs instead. Operands have
  /// their sizes. Null: never false.
  bool (*serves)(const KernelCall&) = nullptr;
  /// Bytes of scratch for these sizes (data pointers are not set yet; the state is the result of prepare). May be null.
  std::size_t (*scratch)(const KernelCall&) = nullptr;
  /// Called once per plan. Sizes are set; data pointers are set only for constant inputs. May be
  /// null.
  std::unique_ptr<KernelState> (*prepare)(const KernelCall&) = nullptr;
  /// Bit i: input i may have any strides. The runtime makes other inputs contiguous first.
  std::uint32_t strided = 0;
  /// The input whose memory output 0 may reuse if contiguous, of the output's shape and dtype, and without a later
  /// reader; -1: none.
  int in_place = -1;
  /// Variant of in_place for ops with several outputs: the input whose memory output `k` may reuse on the same
  /// conditions, or -1. Null: in_place.
  int (*in_place_input)(const Node& node, std::size_t k) = nullptr;
  /// True if output 0 has channels-last layout (`kernels/channels_last.h`), and so does input 0 unless arbitrary
  /// strides are allowed. Sizes are set, and inputs have their actual strides. Null: never.
  bool (*channels_last)(const KernelCall&) = nullptr;
  /// `prepare` uses KernelCall::weights before reading a constant operand; else all constant operands are fetched.
  bool defers_weights = false;
  /// The possible values of KernelCall::algorithm, for at least some sizes. Empty if there is no choice.
  std::span<const AlgorithmChoice> algorithms = {};
  /// True if the kernel rounds float32 operand `k` to bfloat16 first: the runtime may then store the operand in
  /// bfloat16, with the view's dtype changed. Sizes are set, and data of constants. Null: never.
  bool (*rounds)(const KernelCall&, std::size_t k) = nullptr;
  /// True if float32 output 0 may be stored in bfloat16, rounded once. Null: never.
  bool (*stores_rounded)(const KernelCall&) = nullptr;
  /// Output 0 may have any strides except along its last axis (contiguous): the strides making its only reader, a
  /// permutation, contiguous.
  bool result_strided = false;
  /// The widening, if not in the state. The call has a state and no data. Null: none.
  Widening (*widening)(const KernelCall&) = nullptr;
};
inline constexpr std::uint32_t kAllStrided = ~0u;

struct KernelTable {
  Kernel kernels[kMaxOp + 1] = {};
  void set(Op op, const Kernel& k) { kernels[static_cast<std::size_t>(op)] = k; }
};
/// The kernels of the CPU.
const KernelTable& cpu_kernels();

void register_cpu_movement(KernelTable& t);
void register_cpu_pointwise(KernelTable& t);
void register_cpu_reductions(KernelTable& t);
void register_cpu_indexing(KernelTable& t);
void register_cpu_contractions(KernelTable& t);
void register_cpu_linalg(KernelTable& t);
void register_collective(KernelTable& t);  ///< register for all devices

/// Copies `from` (any strides) to `to` (any strides) of the same shape and dtype, in parallel when large.
void copy_strided(const TensorView& from, const TensorView& to);

}  // namespace tern
