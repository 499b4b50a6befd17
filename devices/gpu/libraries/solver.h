// A vendor's solver for a batch of matrices.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <memory>
#include <string>

#include "devices/gpu/devices.h"
#include "devices/gpu/libraries/matrices.h"

namespace tern::gpu {

/// Addresses of matrices, column-major and consecutive. 0 for results absent from the factorization.
struct Factors {
  Address a = 0;                         ///< [count, room(), rows]: the matrices, then their factors
  Address values = 0;                    ///< [count, min_side()], real: rising eigenvalues, falling singular values
  Address tau = 0;                       ///< [count, min_side()]: factors of reflections
  Address u = 0;                         ///< [count, u_columns(), rows]
  Address v = 0;                         ///< [count, v_rows(), v_columns()] as a row-major matrix
  Address pivots = 0;                    ///< int32 [count, min_side()]
  Address info = 0;                      ///< int32 [count]: 0 for success
  Address a_places = 0, tau_places = 0;  ///< [count]: addresses of each matrix and its tau
  Address workspace = 0;                 ///< work_bytes()
};

/// work_bytes() of a batch whose workspace overflowed the library's counter.
constexpr std::uint64_t kNoRoom = ~0ull;

class Solver {
 public:
  Solver() = default;
  virtual ~Solver() = default;
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  /// Bytes for MatrixBatch::at_once matrices.
  [[nodiscard]] virtual std::uint64_t work_bytes() const = 0;
  /// svd: number of written columns of U.
  [[nodiscard]] virtual int u_columns() const { return 0; }
  /// svd: extents of V as written, column-major: [v_rows(), n], the adjoint; or [n, v_rows()], V itself, if
  /// `v_is_plain`.
  [[nodiscard]] virtual int v_rows() const { return 0; }
  [[nodiscard]] virtual bool v_is_plain() const { return false; }
  /// True if the first step (all but Q) writes `info`.
  [[nodiscard]] virtual bool has_info() const { return true; }
  /// Enqueues the factorization of `count` matrices. The device is current.
  virtual tern_device_status factor(Stream stream, const Factors& f, std::int64_t count) = 0;
  /// qr: replaces the reflections in `a` by the columns of Q.
  virtual tern_device_status make_q(Stream stream, const Factors& f, std::int64_t count) { return TERN_DEVICE_OK; }
};

/// Defined by vendor code. Null if the library is missing or lacks the routine.
std::unique_ptr<Solver> make_solver(const GpuDevice& d, const MatrixBatch& batch, Routine routine);
/// Returns "cuSOLVER 12.0.4", or the reason for its absence.
std::string describe_solvers(const GpuDevice& d);
/// Destroys the handles created for the stream. The stream must be idle.
tern_device_status release_solvers(const GpuDevice& d, Stream stream);

}  // namespace tern::gpu
