// Communication among the sessions that run one program together, in processes of one or several hosts or in threads of
// a process: what a program's all_reduce, all_gather_into_tensor, reduce_scatter_tensor and broadcast
// (torch.distributed) need of the application.
//
//   auto group = tern::connect_group("10.0.0.1:4711", rank, 2);  // in each of two processes
//   tern::Session session(prepared);
//   session.set_group(group);
//   session.run({input});  // in both: each waits for what it needs of the other
#pragma once

#include <tern/api.h>
#include <tern/dtype.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tern {

/// What a call does with the elements of all ranks. The numbers are part of the archive format.
enum class CollectiveKind : std::uint8_t {
  all_reduce = 0,      ///< all get all inputs, joined element by element
  all_gather = 1,      ///< all get all inputs, one after the other
  reduce_scatter = 2,  ///< as all_reduce, but that each rank gets its part: rank 0 the first
  broadcast = 3,       ///< all get the input of one
};

/// How elements of the ranks become one, as in torch.distributed.ReduceOp.
enum class ReduceOp : std::uint8_t { sum = 0, avg = 1, product = 2, min = 3, max = 4, band = 5, bor = 6, bxor = 7 };

/// One call. `in` and `out` are the host's; they are either the same (all_reduce, broadcast) or share nothing.
struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  ReduceOp reduce = ReduceOp::sum;  ///< of all_reduce and reduce_scatter
  /// What is only copied may be of any type without parts of bytes. What is reduced is boolean, an integer or a real
  /// float of 16 bits or more (a complex element is two): avg takes floats, band, bor and bxor take what is not float.
  DType dtype = DType::invalid;
  std::int64_t count = 0;  ///< elements of `in`; of reduce_scatter a multiple of the number of ranks
  int root = 0;            ///< of broadcast: the rank whose input all get
  const void* in = nullptr;
  void* out = nullptr;  ///< `count` elements; of all_gather times the number of ranks, of reduce_scatter divided by it
};

/// A rank's place in a group: implement it over what an application has (MPI, NCCL with copies, its own network), or
/// take one of those below. Session::set_group hands it over.
///
/// Threads: one at a time, as the sessions that have it; each rank has an object of its own. Order: all ranks make the
/// same calls, each in the same order. Beside the program's calls, Tern makes one all_gather of three int64 before the
/// first one of each session, and on devices with collectives of their own (tern/device.h) a broadcast of uint8 and
/// one more all_gather.
class TERN_API ProcessGroup {
 public:
  virtual ~ProcessGroup();
  virtual int rank() const = 0;  ///< 0 to size() - 1
  virtual int size() const = 0;
  /// Returns when `out` is there and `in` is needed by nobody. Throws tern::Error where that cannot be, on all ranks.
  virtual void run(const Collective& call) = 0;
  /// This rank has failed, and why: others that wait for it, or will, fail instead. The group is over then. A session
  /// calls it when a run, a capture or a replay of it fails; what was refused (invalid_argument, unsupported) has not
  /// begun, and the others wait; what fails in between (Stream::synchronize) is the application's to tell. Where this
  /// does nothing, they wait for as long as the group lets them.
  virtual void abort(const std::string& why) noexcept;
};

/// Ranks in threads of this process, rank r at place r: several devices, or tests. Results have the same bits on every
/// rank and in every run: elements are joined in the order of the ranks, in their own type (float16 and bfloat16 are
/// rounded after each addition, as PyTorch's gloo does; a mean is the sum, divided). Calls that differ between ranks, a
/// rank whose object is gone, and one that others have waited for longer than `timeout` are errors on all of them.
TERN_API std::vector<std::shared_ptr<ProcessGroup>> local_group(
    int size, std::chrono::milliseconds timeout = std::chrono::minutes(10));

/// Ranks in processes of one or several hosts of one byte order, over TCP: rank 0 listens at `address`, "HOST:PORT",
/// the others connect to it; returns when all are there, and throws (io) after `timeout`. All data goes through rank 0,
/// which joins as local_group does: for a few ranks. Nothing is encrypted, and nobody has to prove who he is: for
/// networks whose hosts trust each other.
TERN_API std::shared_ptr<ProcessGroup> connect_group(const std::string& address, int rank, int size,
                                                     std::chrono::milliseconds timeout = std::chrono::minutes(10));

}  // namespace tern
