// Collectives: communication among sessions that run one program together, in several processes or threads. A program
// calls them through torch.distributed: all_reduce, all_gather_into_tensor, reduce_scatter_tensor, broadcast.
//
//   auto group = tern::connect_group("10.0.0.1:4711", rank, 2);  // in each of two processes
//   tern::Session session(prepared);
//   session.set_group(group);
//   session.run({input});  // in both processes; each waits for the other's data
#pragma once

#include <tern/api.h>
#include <tern/dtype.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tern {

/// The numbers are part of the archive format.
enum class CollectiveKind : std::uint8_t {
  all_reduce = 0,      ///< each rank gets the reduction of all inputs, element by element
  all_gather = 1,      ///< each rank gets all inputs, in the order of ranks
  reduce_scatter = 2,  ///< as all_reduce, but each rank gets one part: rank 0 the first
  broadcast = 3,       ///< each rank gets the input of one rank
};

/// How to reduce, as in torch.distributed.ReduceOp.
enum class ReduceOp : std::uint8_t { sum = 0, avg = 1, product = 2, min = 3, max = 4, band = 5, bor = 6, bxor = 7 };

/// One call. `in` and `out` are host memory: the same (all_reduce, broadcast) or disjoint.
struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  ReduceOp reduce = ReduceOp::sum;  ///< for all_reduce and reduce_scatter
  /// all_gather and broadcast take every type of at least one byte. Reductions take bool, integers, and floats of 16
  /// bits or more (a complex element counts as two); avg takes floats only; band, bor and bxor take no floats.
  DType dtype = DType::invalid;
  std::int64_t count = 0;  ///< elements of `in`; for reduce_scatter a multiple of the number of ranks
  int root = 0;            ///< for broadcast: the rank whose input all ranks get
  const void* in = nullptr;
  void* out = nullptr;  ///< `count` elements; all_gather: times the number of ranks; reduce_scatter: divided by it
};

/// One rank's end of a group. Implement it over your own transport (MPI, NCCL with copies), or use one of the groups
/// below. Pass it to Session::set_group.
///
/// Threads: each rank has its own object, which one thread uses at a time. Order: all ranks make the same calls in the
/// same order. Tern adds one all_gather of three int64 before the first call of each session; on devices with their own
/// collectives (tern/device.h) it also adds a broadcast of uint8 and another all_gather.
class TERN_API ProcessGroup {
 public:
  virtual ~ProcessGroup();
  virtual int rank() const = 0;  ///< 0 to size() - 1
  virtual int size() const = 0;
  /// Returns when `out` is complete and no rank reads `in` any more. On failure throws tern::Error on all ranks.
  virtual void run(const Collective& call) = 0;
  /// Tells the other ranks that this rank has failed, and why: their pending and later calls fail instead of waiting.
  /// The group cannot be used afterwards. A session calls it if a run, a capture or a replay fails. It does not call it
  /// for errors that it finds before a run begins (invalid_argument, unsupported), nor for errors that
  /// Stream::synchronize throws: report those yourself. The default does nothing; other ranks then wait until their
  /// timeout.
  virtual void abort(const std::string& why) noexcept;
};

/// A group of threads in this process, for several devices or for tests; element r belongs to rank r. Results have the
/// same bits on every rank and in every run: ranks are reduced in order, in the element type (float16 and bfloat16
/// round after each addition, as PyTorch's gloo does; avg divides the sum). All ranks fail if their calls differ, if a
/// rank's object is destroyed, or if a rank waits longer than `timeout`.
TERN_API std::vector<std::shared_ptr<ProcessGroup>> local_group(
    int size, std::chrono::milliseconds timeout = std::chrono::minutes(10));

/// A group of processes, on hosts of one byte order, over TCP. Rank 0 listens at `address` ("HOST:PORT"), the others
/// connect to it. Returns when all ranks are connected; throws tern::Error (io) after `timeout`. All data pass through
/// rank 0, which reduces as local_group does: suitable for a few ranks. There is no encryption and no authentication:
/// use it only on networks that you trust.
TERN_API std::shared_ptr<ProcessGroup> connect_group(const std::string& address, int rank, int size,
                                                     std::chrono::milliseconds timeout = std::chrono::minutes(10));

}  // namespace tern
