// Differences between the vendors beyond names. cuda/ and hip/ each define all functions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "devices/gpu/devices.h"
#include "devices/gpu/handles.h"
#include "devices/gpu/library.h"

namespace tern::gpu {

/// Reads the device's architecture (`d.arch`). Returns the error's text, or an empty text.
std::string describe_device(GpuDevice& d);

/// True if matrix units multiply 2:4 sparse operands as they lie in memory (kernels/portable/text/sparse_units.inc).
bool has_sparse_units(const GpuDevice& d);

/// Makes the device current on this thread, and creates its context at first use.
Status enter_device(const GpuDevice& d, CallerDevice& caller);
/// Makes the caller's device current again.
void leave_device(const CallerDevice& caller);

/// The name of a GPU for the functions of peer memory.
names::Peer peer_of(const GpuDevice& d);

/// Formats the driver's version for messages and cache keys: "CUDA 13.0".
std::string version_text(int version);

/// True if the driver maps memory piece by piece.
bool has_segments(const GpuDevice& d);

/// True if several threads may compile at once.
bool has_threads(const Compiler& compiler);

/// Compiler options for the device, or the reason for this compiler's inability.
struct CompileOptions {
  std::vector<std::string> options;
  bool to_ptx = false;  ///< the compiler emits PTX; the driver translates PTX to machine code
  std::string error;
};
CompileOptions compile_options(const GpuDevice& d, const Compiler& compiler);

/// Archive targets supported by this plugin's compiler, separated by spaces.
const char* archive_targets();

/// Returns the options for an archive target, or an error.
CompileOptions archive_options(const std::string& target, const Compiler& compiler);

/// Targets of kernels the device can run, best first, separated by spaces.
std::string device_targets(const GpuDevice& d);

/// Explains why the driver refuses to load code, with the way out; empty without an explanation.
std::string reason_of_refusal(const GpuDevice& d, Status error, const std::string& code);

/// Returns the PTX of a compiled program.
std::string ptx_of(const Compiler& compiler, Program program);

/// True if streams may use a share of a device.
bool has_parts();

/// Takes a share of at least `share.units` multiprocessors, and stores the actual share in `share`.
tern_device_status take_part(const GpuDevice& d, tern_device_share& share, std::shared_ptr<StreamPart>& part);

/// Called before capturing a graph: compiles the kernels needed by bodies of control flow.
tern_device_status prepare_graphs(const GpuDevice& d);

/// Gives an executable graph the parameters of another graph with the same nodes. An error leaves both unchanged.
Status update_graph(GraphExec exec, Graph graph);

/// Ends the capture of the innermost open body and removes it from the list.
Status close_body(std::vector<OpenBody>& bodies);

}  // namespace tern::gpu
