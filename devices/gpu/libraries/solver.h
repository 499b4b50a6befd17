// A vendor's solver for one batch of matrices.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <memory>
#include <string>

#include "devices/gpu/devices.h"
#include "devices/gpu/libraries/matrices.h"

namespace tern::gpu {

/// Where matrices lie, column-major and one after the other. What the factorization has not is 0.
struct Factors {
  Address a = 0;                         ///< [count, room(), rows]: the matrices, then their factors
  Address values = 0;                    ///< [count, least()], real: eigenvalues, rising; singular values, falling
  Address tau = 0;                       ///< [count, least()]: factors of reflections
  Address u = 0;                         ///< [count, u_columns(), rows]
  Address v = 0;                         ///< [count, v_rows(), v_columns()] as a row-major matrix
  Address pivots = 0;                    ///< int32 [count, least()]
  Address info = 0;                      ///< int32 [count]: 0 for success
  Address a_places = 0, tau_places = 0;  ///< [count]: the addresses of each matrix and of its tau
  Address work = 0;                      ///< work_bytes()
};

/// The work_bytes() of a batch whose workspace the library has counted in too few bits.
constexpr std::uint64_t kNoRoom = ~0ull;

class Solver {
 public:
  Solver() = default;
  virtual ~Solver() = default;
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  /// For MatrixBatch::at_once matrices.
  [[nodiscard]] virtual std::uint64_t work_bytes() const = 0;
  /// svd: the columns of U that it writes.
  [[nodiscard]] virtual int u_columns() const { return 0; }
  /// svd: the extents of what it writes for V, column-major: [v_rows(), n], the adjoint, or with `v_is_plain` [n,
  /// v_rows()], V itself.
  [[nodiscard]] virtual int v_rows() const { return 0; }
  [[nodiscard]] virtual bool v_is_plain() const { return false; }
  /// The first step: all but Q. Whether it writes `info`.
  [[nodiscard]] virtual bool has_info() const { return true; }
  /// Puts it on the stream, for `count` matrices. The device is current.
  virtual tern_device_status factor(Stream stream, const Factors& f, std::int64_t count) = 0;
  /// qr: the reflections in `a` become the columns of Q.
  virtual tern_device_status make_q(Stream stream, const Factors& f, std::int64_t count) { return TERN_DEVICE_OK; }
};

/// Each vendor defines these. Null where the library is missing, or has no such routine.
std::unique_ptr<Solver> make_solver(const GpuDevice& d, const MatrixBatch& batch, Routine routine);
/// "cuSOLVER 12.0.4", or why it is not used.
std::string describe_solvers(const GpuDevice& d);
/// Destroys the handles that calls on the stream have made. No work is on it.
tern_device_status release_solvers(const GpuDevice& d, Stream stream);

}  // namespace tern::gpu
