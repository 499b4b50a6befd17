// What differs between the two vendors by more than a name. cuda/ and hip/ each define all of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "devices/gpu/devices.h"
#include "devices/gpu/handles.h"
#include "devices/gpu/library.h"

namespace tern::gpu {

/// Makes the device usable: its context (`d.context`), and its architecture (`d.arch`). Success or the error's text.
std::string open_device(GpuDevice& d);

/// Makes the device current on this thread.
Status enter_device(const GpuDevice& d);

/// The driver's version, for people and caches: "CUDA 13.0".
std::string version_text(int version);

/// Whether the driver maps memory piece by piece.
bool has_segments(const GpuDevice& d);

/// Whether several threads may compile at once.
bool has_threads(const Compiler& compiler);

/// The options that compile a text for the device, or an error that says why this compiler cannot.
struct CompileOptions {
  std::vector<std::string> options;
  bool to_ptx = false;  ///< the driver makes machine code of what the compiler gives
  std::string error;
};
CompileOptions compile_options(const GpuDevice& d, const Compiler& compiler);

/// The targets of archives that this plugin compiles for, separated by spaces.
const char* archive_targets();

/// The options for one of them, or an error.
CompileOptions archive_options(const std::string& target, const Compiler& compiler);

/// The targets whose kernels the device runs, best first, separated by spaces.
std::string device_targets(const GpuDevice& d);

/// The compiled code of a program whose options asked for PTX.
std::string ptx_of(const Compiler& compiler, Program program);

/// Whether streams may have a part of a device.
bool has_parts();

/// Takes a part of the device, of at least `share.units` multiprocessors, and says in `share` what it got.
tern_device_status take_part(const GpuDevice& d, tern_device_share& share, std::shared_ptr<StreamPart>& part);

/// Called before a graph is captured: compiles what bodies of control flow need.
tern_device_status prepare_graphs(const GpuDevice& d);

/// Ends the capture of the innermost open body and forgets it.
Status close_body(std::vector<OpenBody>& bodies);

}  // namespace tern::gpu
