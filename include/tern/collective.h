// Collectives: communication among sessions running a program together, in several processes or threads. A program
// calls collectives through torch.distributed: all_reduce, all_gather_into_tensor, all_to_all_single and others.
//
//   tern::GroupOptions options = tern::launched_group_options();  // settings of torchrun, mpirun or srun
//   auto group = tern::connect_group("gloo", options);            // in each process
//   tern::Session session(prepared);
//   session.set_group(group);
//   session.run({input});  // in all processes; each waits for the others' data
#pragma once

#include <tern/api.h>
#include <tern/dtype.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tern {

/// The numbers are part of the archive format.
enum class CollectiveKind : std::uint8_t {
  all_reduce = 0,        ///< each rank gets the reduction of all inputs, element by element
  all_gather = 1,        ///< each rank gets all inputs, in the order of ranks
  reduce_scatter = 2,    ///< all_reduce, but each rank gets only part r of the result
  broadcast = 3,         ///< each rank gets the root's input
  all_to_all = 4,        ///< rank r gets part r of each input, in the order of ranks
  gather = 5,            ///< `root` gets all inputs, in the order of ranks
  scatter = 6,           ///< rank r gets part r of the root's input
  reduce = 7,            ///< `root` gets the reduction of all inputs
  all_gather_v = 8,      ///< all_gather with inputs of different sizes
  reduce_scatter_v = 9,  ///< reduce_scatter with parts of different sizes
  barrier = 10,          ///< returns after all ranks have called barrier
  send = 11,             ///< this rank's input goes to rank `root`
  receive = 12,          ///< this rank gets the data sent by rank `root`
};

/// Reductions, see torch.distributed.ReduceOp. premul_sum multiplies by Collective::factor first.
enum class ReduceOp : std::uint8_t {
  sum = 0,
  avg = 1,
  product = 2,
  min = 3,
  max = 4,
  band = 5,
  bor = 6,
  bxor = 7,
  premul_sum = 8
};

/// A single call. `input` and `output` are host memory: the same (all_reduce, reduce, broadcast) or disjoint.
struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  ReduceOp reduce = ReduceOp::sum;  ///< all_reduce, reduce and reduce_scatter(_v)
  /// Kinds without a reduction take every type with elements of whole bytes. Reductions take bool, integers, and floats
  /// of 16 bits or more (a complex element counts as two); avg and premul_sum take floats only; band, bor and bxor take
  /// no floats.
  DType dtype = DType::invalid;
  /// Elements of `input`; of `output` for receive; of the root's `input`, on all ranks, for scatter. A multiple of the
  /// number of ranks for reduce_scatter, scatter, and all_to_all without parts.
  std::int64_t count = 0;
  int root = 0;  ///< root of broadcast, gather, scatter and reduce; peer of send and receive
  const void* input = nullptr;
  /// Receives the results; `kind` determines the number of elements. gather and reduce use only the root's `output`.
  void* output = nullptr;
  /// all_to_all: elements for each rank; none: equal parts. reduce_scatter_v: each rank's elements, the same list on
  /// all ranks.
  std::span<const std::int64_t> input_splits = {};
  /// all_to_all: elements from each rank; none: equal parts. all_gather_v: each rank's elements, the same list on all.
  std::span<const std::int64_t> output_splits = {};
  double factor = 1;  ///< factor of premul_sum
  int tag = 0;        ///< message tag of send and receive
  /// Location of the call in the program ("model.py:12"), for errors and the flight recorder. Valid during the call.
  const char* location = "";
};

/// A rank's end of a group. Implement this interface over your own transport, or use a group from below. Pass the group
/// to Session::set_group.
///
/// Threads: each rank has its own object, used by a single thread at a time; any thread may call abort. Order: all
/// ranks make the same calls in the same order. Tern adds an all_gather of three int64 before the first call of each
/// session; on devices with their own collectives (tern/device.h) Tern also adds a broadcast of uint8 and another
/// all_gather.
class TERN_API ProcessGroup {
 public:
  virtual ~ProcessGroup();
  virtual int rank() const = 0;  ///< 0 to size() - 1
  virtual int size() const = 0;
  /// Returns when `out` is complete and no rank reads `in` any more. On failure throws tern::Error on all ranks.
  virtual void run(const Collective& call) = 0;
  /// Runs calls of kinds send and receive together; returns when all are done. Messages between two ranks with the same
  /// tag keep their order. The default runs the calls in sequence.
  virtual void run_batch(std::span<const Collective> calls);
  /// Reports this rank's failure and the reason to the other ranks: their pending and later calls fail instead of
  /// waiting. The group cannot be used afterwards. A session calls abort if a run, a capture or a replay fails, but not
  /// for errors found before a run begins (invalid_argument, unsupported), nor for errors thrown by
  /// Stream::synchronize: report these errors yourself. The default does nothing; other ranks then wait until their
  /// timeout.
  virtual void abort(const std::string& why) noexcept;
};

/// A group of threads in this process, for several devices or for tests; element r belongs to rank r. Results have the
/// same bits on every rank and in every run: ranks are reduced in order, in the element type (float16 and bfloat16
/// round after each addition, like PyTorch's gloo; avg divides the sum). All ranks fail if their calls differ, if a
/// rank's object is destroyed before its calls are done, or if a rank waits longer than `timeout`.
TERN_API std::vector<std::shared_ptr<ProcessGroup>> local_group(
    int size, std::chrono::milliseconds timeout = std::chrono::minutes(10));

/// Position in a group of processes.
struct GroupOptions {
  int rank = 0, size = 1;
  int local_rank = 0;  ///< rank among the ranks of this host: the number of the device to use
  /// "HOST:PORT" of rank 0's listening socket; the other ranks send their addresses to this socket. Each group needs
  /// its own port.
  std::string address;
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
  std::string name = "0";     ///< name in errors and the flight recorder
  std::string launcher = {};  ///< "torchrun", "mpirun", "srun", or empty
};

/// A group of processes over an engine: "gloo" (TCP) or "mpi" (Open MPI; start the processes with its mpirun or srun).
/// An engine is a library, libtern_gloo.so or libtern_mpi.so, in the folder engines/ beside Tern's; TERN_ENGINE_PATH
/// names other folders. Reductions have the bits of local_group. Returns when all ranks are connected. Throws
/// tern::Error (io) after the timeout, and unsupported if the engine is missing.
///
/// A rank's exit or a differing call fails the other ranks within seconds; a hanging rank fails the others after their
/// timeout. Connections have no encryption and no authentication: use groups only on trusted networks.
TERN_API std::shared_ptr<ProcessGroup> connect_group(const std::string& engine, const GroupOptions& options);

/// An engine: its version ("gloo 0.5.0") if the library loads, else the problem.
struct EngineInfo {
  std::string name, version, path, problem;
};
TERN_API std::vector<EngineInfo> group_engines();

/// Reads rank, size and address from a launcher's environment variables:
///   torchrun --no-python   RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT (Tern listens at MASTER_PORT + 1)
///   mpirun of Open MPI     OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK
///   srun                   SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID, SLURM_LAUNCH_NODE_IPADDR
/// TERN_GROUP_ADDRESS overrides the address. Throws invalid_argument, naming the variables, for missing, non-numeric or
/// contradictory variables.
TERN_API GroupOptions launched_group_options();

/// Writes the flight recorder's entries (the process's last calls) to FOLDER/tern_flight_RANK, in the format read by
/// PyTorch's torchfrtrace. Another name is chosen if another running process has written this file. Returns the path.
/// Throws tern::Error (io).
TERN_API std::string write_flight_record(const std::string& folder, int rank);

/// Sets the folder of automatic flight records: Tern writes a record if a group of this process fails, or on SIGUSR2
/// while the process has a group. The environment variable TERN_FLIGHT_FOLDER sets the folder from the first group on.
TERN_API void set_flight_folder(const std::string& folder);

}  // namespace tern
