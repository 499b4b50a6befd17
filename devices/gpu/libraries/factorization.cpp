// cholesky, eigh, lu_factor, qr and svd by the vendor's solvers. Tern's kernels handle the matrices left by a solver:
// matrices with NaN or infinities, solver failures, and all matrices in graphs, because no vendor documents capturable
// solvers.
#include <algorithm>

#include "devices/gpu/handles.h"
#include "devices/gpu/libraries/attributes.h"
#include "devices/gpu/libraries/crossovers.h"
#include "devices/gpu/libraries/matrix_kernels.h"
#include "devices/gpu/libraries/provider.h"
#include "devices/gpu/libraries/solver.h"
#include "devices/gpu/libraries/staging.h"
#include "devices/gpu/status.h"

namespace tern::gpu {
namespace {

constexpr std::uint64_t kAlignment = 256;
/// Most matrices per call: libraries have miscounted larger batches.
constexpr std::int64_t kMaxMatrices = 1 << 15;
/// XsyevBatched needs hundreds of kilobytes for a 16 x 16 matrix.
constexpr std::uint64_t kMaxWork = 256 << 20;

/// Consecutive memory blocks, each aligned.
struct ScratchCursor {
  Address next = 0;
  Address allocate(std::uint64_t bytes) {
    const Address here = next;
    next = aligned(next + bytes, kAlignment);
    return here;
  }
};

class FactorizationNode : public VendorKernel {
 public:
  FactorizationNode(const MatrixBatch& batch, const MatrixKernels& kernels, std::unique_ptr<Solver> solver)
      : m_(batch), kernels_(kernels), solver_(std::move(solver)) {}

  std::uint64_t scratch_bytes() const override {
    ScratchCursor cursor;
    allocate_factors(cursor, nullptr);
    return cursor.next + kAlignment;
  }

  tern_device_status run(Stream, const tern_device_op&, Address) override {
    return failed(TERN_DEVICE_FAILED, "a factorization needs run_matrices of tern/device.h");
  }

  tern_device_status run_matrices(const tern_device_stream_s& stream, const tern_device_op& op, Address scratch,
                                  Address unfinished) override {
    const Stream s = stream.current();
    if (stream.recording) return kernels_.leave_all(s, unfinished, m_.count);
    ScratchCursor cursor{aligned(scratch, kAlignment)};
    const Factors f = allocate_factors(cursor, &op);
    PackedInput in;
    in.matrix = matrix_elements();
    in.rows = m_.rows;
    in.columns = m_.columns;
    if (m_.kind == Factorization::cholesky || m_.kind == Factorization::eigh) in.triangle = m_.upper ? 2 : 1;
    TERN_GPU_TRY(kernels_.pack_all(s, op.inputs[0], in, m_.type, f, unfinished, m_.count, m_.min_side()));
    TERN_GPU_TRY(
        each_part(f, [&](const Factors& part, std::int64_t count) { return solver_->factor(s, part, count); }));
    TERN_GPU_TRY(unpack(s, op, f));
    const bool has_result = m_.kind == Factorization::cholesky || m_.kind == Factorization::lu;
    const int last = op.output_count - 1;
    return kernels_.finish_all(s, unfinished, solver_->has_info() ? f.info : 0, has_result ? op.outputs[last].data : 0,
                               m_.count);
  }

 private:
  std::int64_t matrix_elements() const { return static_cast<std::int64_t>(m_.rows) * m_.room(); }
  std::int64_t u_elements() const { return static_cast<std::int64_t>(m_.rows) * solver_->u_columns(); }
  std::int64_t v_elements() const { return static_cast<std::int64_t>(m_.columns) * solver_->v_rows(); }

  /// Assigns scratch memory, and results written in place by the solver. Without a node, only measures.
  Factors allocate_factors(ScratchCursor& cursor, const tern_device_op* op) const {
    const auto count = static_cast<std::uint64_t>(m_.count), steps = static_cast<std::uint64_t>(m_.min_side());
    const std::uint64_t element = element_bytes(m_.type), real = real_bytes(m_.type);
    // Reserves memory even for results in place: optional results vary between nodes.
    const auto result = [&](int output, std::uint64_t bytes) {
      const Address own = cursor.allocate(bytes);
      return op != nullptr && op->outputs[output].data != 0 ? op->outputs[output].data : own;
    };
    Factors f;
    f.a = cursor.allocate(count * static_cast<std::uint64_t>(matrix_elements()) * element);
    f.info = cursor.allocate(count * 4);
    f.a_places = cursor.allocate(count * 8);
    switch (m_.kind) {
      case Factorization::cholesky: break;
      case Factorization::eigh: f.values = result(0, count * steps * real); break;
      case Factorization::lu: f.pivots = result(1, count * steps * 4); break;
      case Factorization::qr:
        f.tau = cursor.allocate(count * steps * element);
        f.tau_places = cursor.allocate(count * 8);
        break;
      case Factorization::svd:
        f.values = result(1, count * steps * real);
        f.u = cursor.allocate(count * static_cast<std::uint64_t>(u_elements()) * element);
        f.v = cursor.allocate(count * static_cast<std::uint64_t>(v_elements()) * element);
        break;
    }
    f.workspace = cursor.allocate(solver_->work_bytes());
    return f;
  }

  /// Calls `call` for at most MatrixBatch::max_per_call matrices at a time.
  template <class Call>
  tern_device_status each_part(const Factors& f, const Call& call) const {
    const std::uint64_t element = element_bytes(m_.type);
    const auto steps = static_cast<std::int64_t>(m_.min_side());
    for (std::int64_t first = 0; first < m_.count; first += m_.max_per_call) {
      const auto from = [&](Address address, std::int64_t elements, std::uint64_t bytes) {
        return address == 0 ? 0 : address + static_cast<std::uint64_t>(first * elements) * bytes;
      };
      Factors part;
      part.a = from(f.a, matrix_elements(), element);
      part.values = from(f.values, steps, real_bytes(m_.type));
      part.tau = from(f.tau, steps, element);
      part.u = from(f.u, u_elements(), element);
      part.v = from(f.v, v_elements(), element);
      part.pivots = from(f.pivots, steps, 4);
      part.info = from(f.info, 1, 4);
      part.a_places = from(f.a_places, 1, 8);
      part.tau_places = from(f.tau_places, 1, 8);
      part.workspace = f.workspace;
      TERN_GPU_TRY(call(part, std::min<std::int64_t>(m_.max_per_call, m_.count - first)));
    }
    return TERN_DEVICE_OK;
  }

  /// Unpacks a result of `rows` x `columns` from column-major matrices of `ld` rows, `matrix` elements apart.
  tern_device_status result(Stream s, Address from, const tern_device_tensor& to, int rows, int columns, int ld,
                            std::int64_t matrix, int triangle = 0) const {
    if (to.data == 0) return TERN_DEVICE_OK;
    const PackedOutput how{m_.count * rows * columns, matrix, 1, ld, rows, columns, triangle, 0};
    return kernels_.unpack_all(s, from, to.data, how);
  }

  tern_device_status unpack(Stream s, const tern_device_op& op, const Factors& f) {
    const int m = m_.rows, n = m_.columns, k = m_.min_side();
    switch (m_.kind) {
      case Factorization::cholesky: return result(s, f.a, op.outputs[0], n, n, n, matrix_elements(), m_.upper ? 2 : 1);
      case Factorization::lu: return result(s, f.a, op.outputs[0], m, n, m, matrix_elements());
      case Factorization::eigh:
        return m_.has_vectors ? result(s, f.a, op.outputs[1], n, n, n, matrix_elements()) : TERN_DEVICE_OK;
      case Factorization::qr: return unpack_qr(s, op, f);
      case Factorization::svd: break;
    }
    if (!m_.has_vectors) return TERN_DEVICE_OK;
    TERN_GPU_TRY(result(s, f.u, op.outputs[0], m, m_.is_full ? m : k, m, u_elements()));
    if (op.outputs[2].data == 0) return TERN_DEVICE_OK;
    const int rows = m_.is_full ? n : k;
    PackedOutput vh{m_.count * rows * n, v_elements(), 1, solver_->v_rows(), rows, n, 0, 0};
    if (solver_->v_is_plain()) {
      vh.row = n;
      vh.column = 1;
      vh.conjugate = 1;
    }
    return kernels_.unpack_all(s, f.v, op.outputs[2].data, vh);
  }

  tern_device_status unpack_qr(Stream s, const tern_device_op& op, const Factors& f) {
    const int m = m_.rows, n = m_.columns, k = m_.min_side();
    const std::int64_t matrix = matrix_elements();
    const auto mode = integer_of(op, "mode", 0);
    if (mode == kReflectors) {
      TERN_GPU_TRY(result(s, f.a, op.outputs[0], m, n, m, matrix));
      if (op.outputs[1].data == 0) return TERN_DEVICE_OK;
      return kernels_.unpack_all(s, f.tau, op.outputs[1].data, {m_.count * k, k, 1, 1, k, 1, 0, 0});
    }
    const int inner = mode == kComplete ? m : k;
    TERN_GPU_TRY(result(s, f.a, op.outputs[1], inner, n, m, matrix, 2));
    if (!m_.has_vectors) return TERN_DEVICE_OK;
    TERN_GPU_TRY(
        each_part(f, [&](const Factors& part, std::int64_t count) { return solver_->make_q(s, part, count); }));
    return result(s, f.a, op.outputs[0], m, inner, m, matrix);
  }

  static constexpr std::int64_t kComplete = 1, kReflectors = 3;  // QrKind of schema/linalg_kinds.h

  const MatrixBatch m_;
  const MatrixKernels& kernels_;
  const std::unique_ptr<Solver> solver_;
};

/// Uses the largest batch allowed by kMaxWork, at least one matrix. Returns null if make_solver does, or if every
/// workspace is too large.
std::unique_ptr<Solver> fitting_solver(const GpuDevice& d, MatrixBatch* m) {
  m->max_per_call = static_cast<int>(std::min(m->count, kMaxMatrices));
  std::unique_ptr<Solver> solver = make_solver(d, *m, routine_for(*m));
  while (solver != nullptr && solver->work_bytes() > kMaxWork && m->max_per_call > 1) {
    m->max_per_call = (m->max_per_call + 1) / 2;
    solver = make_solver(d, *m, routine_for(*m));
  }
  return solver != nullptr && solver->work_bytes() != kNoRoom ? std::move(solver) : nullptr;
}

}  // namespace

bool has_factorization(const tern_device_op& op) {
  const std::optional<MatrixBatch> batch = matrices_of(op);
  return batch && routine_for(*batch) != Routine::native;
}

std::unique_ptr<VendorKernel> prepare_factorization(const GpuDevice& d, const tern_device_op& op, Activation) {
  std::optional<MatrixBatch> batch = matrices_of(op);
  std::unique_ptr<Solver> solver = fitting_solver(d, &*batch);
  if (solver == nullptr) return nullptr;
  const MatrixKernels* kernels = matrix_kernels(d, batch->type);
  if (kernels == nullptr) return nullptr;
  return std::make_unique<FactorizationNode>(*batch, *kernels, std::move(solver));
}

}  // namespace tern::gpu
