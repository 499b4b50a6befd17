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

/// A tensor in memory of the host, or of a device: the host never dereferences the latter. Strides count elements and
/// may be zero (expanded) or negative (flipped). For f4_e2m1 and quantized values the layout is always contiguous.
struct TensorView {
  std::byte* data = nullptr;
  DType dtype = DType::invalid;
  std::int32_t rank = 0;
  std::array<std::int64_t, kMaxRank> sizes{};
  std::array<std::int64_t, kMaxRank> strides{};
  Blocks blocks{};  ///< of a quantized value

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
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};
/// Sets contiguous strides for the sizes.
void make_contiguous(TensorView& v);

/// A node whose sizes and integer attributes are numbers. `attrs` holds constants only.
struct KernelCall;

/// Floats that a kernel makes of a whole operand of small elements, which it does not read in its own bits.
struct Widening {
  std::uint64_t bytes = 0;  ///< 0: it makes none
  bool once = false;        ///< when the plan is made; else in each run
};

/// What a kernel prepared for one plan (a oneDNN primitive, a resolved loop nest). Sessions on several threads run it
/// at the same time, so a run changes nothing of it: what a run writes lies in KernelCall::scratch.
class KernelState {
 public:
  virtual ~KernelState() = default;
  /// Bit i: a run does not read input i, because its bytes were packed.
  std::uint32_t unread = 0;
  /// The one that it runs, of Kernel::algorithms.
  AlgorithmChoice algorithm;
  /// It prefetches KernelCall::upcoming while it computes.
  bool asks_ahead = false;
  /// About the bytes of tables that grow with the operands' sizes; PrepareOptions::max_memory limits their sum.
  std::uint64_t table_bytes = 0;
  Widening widening;
};

/// A constant that a later node reads from end to end, each thread a part of it.
struct Upcoming {
  const std::byte* data = nullptr;
  std::size_t size = 0;
  std::size_t begin = 0, end = 0;  ///< prefetch this share of each part: from begin / size to end / size of its bytes
};

/// The bytes of a node's constant operands, as exported and packed.
class WeightAccess {
 public:
  virtual ~WeightAccess() = default;
  /// Operand `input` as packed at export under this key; valid as long as the program. Empty if the archive has none.
  virtual std::span<const std::byte> packed(std::size_t input, const std::string& key) = 0;
  /// Call this before `prepare` reads a constant operand: it checks the hash.
  virtual void fetch(std::size_t input) = 0;
  /// What `make` makes of operand `input`: once for all plans of the program that ask by this key, which says all that
  /// it depends on beside the operand's bytes. It is freed with the last of them.
  virtual std::shared_ptr<const void> share(std::size_t input, const std::string& key,
                                            const std::function<std::shared_ptr<const void>()>& make) = 0;
  /// Offers packed bytes to whoever keeps such: an archive that is being made. `make` may be called at any time while
  /// the program is prepared, by any thread, or never; what it reads of the operand has been checked by then.
  virtual void offer(std::size_t input, const std::string& key, std::function<std::vector<std::byte>()> make) = 0;
};

/// Allocates an output of data-dependent size (nonzero, unique). The memory belongs to the session and is reused.
class OutputAllocator {
 public:
  virtual ~OutputAllocator() = default;
  /// Fills `view` with contiguous memory of these sizes and returns it as output `output` of the node.
  virtual void allocate(std::size_t output, std::span<const std::int64_t> sizes, TensorView* view) = 0;
  /// Gives a data-dependent size (attribute `symbols`, entry `k`) its value.
  virtual void set_symbol(std::size_t k, std::int64_t value) = 0;
};

/// Random numbers of a session: Philox 4x32-10, keyed by the seed; `offset` advances with every draw.
struct RandomState {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
};

/// The groups of ranks that a session belongs to.
class GroupAccess {
 public:
  virtual ~GroupAccess() = default;
  /// Runs a node of op collective, exchange or wait, with the ranks of its group.
  virtual void run(const KernelCall& call) = 0;
};

struct KernelCall {
  const Node* node = nullptr;    ///< op, attrs (all integers constant), expr
  std::span<TensorView> in;      ///< an absent operand has data nullptr and dtype invalid
  std::span<TensorView> out;     ///< contiguous, except for Kernel::channels_last and result_strided; data is nullptr
                                 ///< for unused outputs and for outputs that the kernel allocates
  std::span<std::byte> scratch;  ///< the bytes that the kernel's scratch function requested, 64-byte aligned
  const KernelState* state = nullptr;  ///< the result of prepare
  OutputAllocator* allocator = nullptr;
  RandomState* random = nullptr;
  WeightAccess* weights = nullptr;         ///< in prepare; may be null
  GroupAccess* groups = nullptr;           ///< while it runs
  portable::Launcher* launcher = nullptr;  ///< runs portable kernels
  const bool* constant = nullptr;  ///< for each input: bytes never change over the life of the program (weights)
  AlgorithmChoice algorithm;       ///< in prepare and channels_last: what is asked for, if possible
  Precision precision = Precision::exported;  ///< exported, bfloat16 or float16
  /// In prepare and channels_last: operations of the section's convolutions for each element that they read or write; 0
  /// where nobody counted.
  double intensity = 0;
  std::span<const Upcoming> upcoming;  ///< in a run, if KernelState::asks_ahead is set

  bool has(std::size_t i) const { return i < in.size() && in[i].dtype != DType::invalid; }
  bool wants(std::size_t i) const { return i < out.size() && out[i].dtype != DType::invalid; }
};

/// Kernels report a failure that depends on data (an index out of range, a singular matrix) with
/// tern::fail(ErrorCode::runtime, ...): the runtime adds which node it was.
struct Kernel {
  void (*run)(KernelCall&) = nullptr;
  /// False for a node that the op's definition computes as fast: it runs instead. Operands have their sizes. Null:
  /// never.
  bool (*serves)(const KernelCall&) = nullptr;
  /// Bytes of scratch for these sizes (data pointers are not set yet; the state is the result of prepare). May be null.
  std::size_t (*scratch)(const KernelCall&) = nullptr;
  /// Called once per plan. Sizes are set; data pointers are set only for constant inputs. May be
  /// null.
  std::unique_ptr<KernelState> (*prepare)(const KernelCall&) = nullptr;
  /// Bit i: input i may have any strides. The runtime makes other inputs contiguous first.
  std::uint32_t strided = 0;
  /// The input whose memory output 0 may reuse if that input is contiguous, has the output's shape and dtype, and
  /// has no later reader; -1: none.
  int in_place = -1;
  /// For ops with several outputs: the input whose memory output `k` may reuse on the same conditions, or -1. Null:
  /// in_place.
  int (*in_place_of)(const Node& node, std::size_t k) = nullptr;
  /// Whether output 0 has channels-last layout (`kernels/channels_last.h`), and so does input 0 unless it may have
  /// any strides. Sizes are set, and inputs have their actual strides. Null: never.
  bool (*channels_last)(const KernelCall&) = nullptr;
  /// `prepare` uses KernelCall::weights before it reads a constant operand; else all constant operands are fetched.
  bool defers_weights = false;
  /// The possible values of KernelCall::algorithm, for some sizes at least. Empty if there is only one.
  std::span<const AlgorithmChoice> algorithms = {};
  /// Whether it rounds operand `k`, of float32, to bfloat16 before all else: then the runtime may have it stored so,
  /// and the view says it. Sizes are set, and data of constants. Null: never.
  bool (*rounds)(const KernelCall&, std::size_t k) = nullptr;
  /// Whether output 0, of float32, may be stored in bfloat16, rounded once. Null: never.
  bool (*stores_rounded)(const KernelCall&) = nullptr;
  /// Output 0 may have any strides except along its last axis, whose elements are adjacent: the strides that make the
  /// permutation that is its only reader contiguous.
  bool result_strided = false;
  /// What it widens, where the state does not say it. The call has a state and no data. Null: nothing.
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
void register_collective(KernelTable& t);  ///< of every device

/// Copies `from` (any strides) to `to` (any strides) of the same shape and dtype, in parallel when large.
void copy_strided(const TensorView& from, const TensorView& to);

}  // namespace tern
