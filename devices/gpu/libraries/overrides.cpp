// "override": nodes run by the vendor's libraries.
#include <cstring>

#include "devices/gpu/handles.h"
#include "devices/gpu/libraries/crossovers.h"
#include "devices/gpu/libraries/provider.h"
#include "devices/gpu/libraries/shared_library.h"
#include "devices/gpu/profiler.h"
#include "devices/gpu/status.h"
#include "devices/gpu/tables.h"

namespace tern::gpu {
namespace {

constexpr Provider kProviders[] = {
    {"matmul", has_product, prepare_product},
    {"cholesky", has_factorization, prepare_factorization, false},
    {"eigh", has_factorization, prepare_factorization, false},
    {"lu_factor", has_factorization, prepare_factorization, false},
    {"qr", has_factorization, prepare_factorization, false},
    {"svd", has_factorization, prepare_factorization, false},
};

VendorKernel* node_of(tern_device_override handle) {
  return reinterpret_cast<VendorKernel*>(handle);
}

tern_device_status prepare(std::int32_t device, const tern_device_op* op, tern_device_override* override,
                           std::uint64_t* scratch_bytes) {
  if (matrices_of(*op))
    if (std::string why = wrong_solver(); !why.empty()) return failed(TERN_DEVICE_INVALID, std::move(why));
  if (const Provider* provider = provider_of(*op)) {
    TERN_GPU_ENTER(device);
    if (std::unique_ptr<VendorKernel> node = provider->prepare(*d, *op, Activation::none)) {
      *scratch_bytes = node->scratch_bytes();
      *override = reinterpret_cast<tern_device_override>(node.release());
      return TERN_DEVICE_OK;
    }
  }
  return failed(TERN_DEVICE_UNSUPPORTED, std::string("no library runs this node: ") + op->name);
}

tern_device_status run(std::int32_t device, tern_device_stream stream, tern_device_override override,
                       const tern_device_op* op, tern_device_address scratch) {
  TERN_GPU_ENTER(device);
  const TimedWork timed(*stream);
  return node_of(override)->run(stream->current(), *op, scratch);
}

tern_device_status release(std::int32_t device, tern_device_override override) {
  const DeviceScope scope(device);
  delete node_of(override);
  return TERN_DEVICE_OK;
}

tern_device_status run_matrices(std::int32_t device, tern_device_stream stream, tern_device_override override,
                                const tern_device_op* op, tern_device_address scratch, tern_device_address unfinished) {
  TERN_GPU_ENTER(device);
  const TimedWork timed(*stream);
  return node_of(override)->run_matrices(*stream, *op, scratch, unfinished);
}

constexpr tern_device_override_functions kOverrides = {
    sizeof kOverrides, TERN_DEVICE_OVERRIDE_COLUMNS, prepare, run, release, run_matrices};

}  // namespace

tern_device_status VendorKernel::run_matrices(const tern_device_stream_s&, const tern_device_op& op, Address, Address) {
  return failed(TERN_DEVICE_FAILED, std::string("the library's node has no matrices: ") + op.name);
}

const Provider* provider_of(const tern_device_op& op) {
  for (const std::span<const Provider> list : {std::span<const Provider>(kProviders), vendor_providers()})
    for (const Provider& p : list)
      if (std::strcmp(p.op, op.name) == 0 && p.supports(op)) return &p;
  return nullptr;
}

const tern_device_override_functions* override_functions() {
  return wants_libraries() ? &kOverrides : nullptr;
}

}  // namespace tern::gpu
