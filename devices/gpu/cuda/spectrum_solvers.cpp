// Eigenvalues of hermitian matrices and singular values by cuSOLVER.
#include <vector>

#include "devices/gpu/cuda/cuda_solver.h"

namespace tern::gpu {
namespace {

class EighJacobi : public CudaSolver {
 public:
  using CudaSolver::CudaSolver;
  ~EighJacobi() override {
    if (options_ != nullptr) api_.syevj_destroy(options_);
  }
  bool ask(SolverHandle handle) override {
    return api_.syevj_create(&options_) == kSuccess && api_.syevj_tolerance(options_, epsilon()) == kSuccess &&
           api_.syevj_batched_size[type_](handle, vectors(), uplo(), m_.rows, 0, m_.rows, 0, &length_, options_,
                                          m_.max_per_call) == kSuccess;
  }
  int call(const Cusolver::Handles& h, const Factors& f, int count) override {
    return api_.syevj_batched[type_](h.solver, vectors(), uplo(), m_.rows, f.a, m_.rows, f.values, f.workspace, length_,
                                     f.info, options_, count);
  }

 private:
  JacobiOptions options_ = nullptr;
};

class EighQr : public CudaSolver {
 public:
  using CudaSolver::CudaSolver;
  ~EighQr() override {
    if (options_ != nullptr) api_.options_destroy(options_);
  }
  bool ask(SolverHandle handle) override {
    if (api_.options_create == nullptr || api_.options_destroy == nullptr || api_.options_create(&options_) != kSuccess)
      return false;
    std::size_t bytes = 0, host = 0;
    if (api_.syev_batched_size(handle, options_, vectors(), uplo(), m_.rows, number_type(), 0, m_.rows, real_type(), 0,
                               number_type(), &bytes, &host, m_.max_per_call) != kSuccess)
      return false;
    bytes_ = bytes;
    host_.resize(host);
    return true;
  }
  int call(const Cusolver::Handles& h, const Factors& f, int count) override {
    return api_.syev_batched(h.solver, options_, vectors(), uplo(), m_.rows, number_type(), f.a, m_.rows, real_type(),
                             f.values, number_type(), f.workspace, bytes_, host_.empty() ? nullptr : host_.data(),
                             host_.size(), f.info, count);
  }

 private:
  [[nodiscard]] int number_type() const { return cusolver::kTypes[type_]; }
  [[nodiscard]] int real_type() const { return cusolver::kTypes[real_bytes(m_.type) == 4 ? 0 : 1]; }

  SolverOptions options_ = nullptr;
  std::vector<std::byte> host_;
};

/// A = U S V^H; the routines return V. They need memory for U and V even for singular values only: without, gesvdj
/// fails and gesvdjBatched writes elsewhere (PyTorch's BatchLinearAlgebraLib.cpp).
class SvdJacobi : public CudaSolver {
 public:
  using CudaSolver::CudaSolver;
  ~SvdJacobi() override {
    if (options_ != nullptr) api_.gesvdj_destroy(options_);
  }
  bool ask(SolverHandle handle) override {
    return api_.gesvdj_create(&options_) == kSuccess && api_.gesvdj_tolerance(options_, epsilon()) == kSuccess &&
           ask_size(handle);
  }
  int u_columns() const override { return m_.is_full ? m_.rows : m_.min_side(); }
  int v_rows() const override { return m_.is_full ? m_.columns : m_.min_side(); }
  bool v_is_plain() const override { return true; }
  int call(const Cusolver::Handles& h, const Factors& f, int count) override {
    const std::uint64_t element = element_bytes(m_.type);
    const auto of = [&](Address address, std::uint64_t b, int rows, int columns) {
      return address + b * static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(columns) * element;
    };
    return for_each_matrix(count, [&](std::uint64_t b) {
      return api_.gesvdj[type_](h.solver, vectors(), m_.is_full ? 0 : 1, m_.rows, m_.columns, a_of(f, b), m_.rows,
                                f.values + b * min_side() * real_bytes(m_.type), of(f.u, b, m_.rows, u_columns()),
                                m_.rows, of(f.v, b, m_.columns, v_rows()), m_.columns, f.workspace, length_,
                                f.info + 4 * b, options_);
    });
  }

 protected:
  virtual bool ask_size(SolverHandle handle) {
    return api_.gesvdj_size[type_](handle, vectors(), m_.is_full ? 0 : 1, m_.rows, m_.columns, 0, m_.rows, 0, 0,
                                   m_.rows, 0, m_.columns, &length_, options_) == kSuccess;
  }

  JacobiOptions options_ = nullptr;
};

class SvdBatched : public SvdJacobi {
 public:
  using SvdJacobi::SvdJacobi;
  int u_columns() const override { return m_.rows; }
  int v_rows() const override { return m_.columns; }
  int call(const Cusolver::Handles& h, const Factors& f, int count) override {
    return api_.gesvdj_batched[type_](h.solver, vectors(), m_.rows, m_.columns, f.a, m_.rows, f.values, f.u, m_.rows,
                                      f.v, m_.columns, f.workspace, length_, f.info, options_, count);
  }

 protected:
  bool ask_size(SolverHandle handle) override {
    constexpr int kMost = 32;  // "m and n can be at most 32" (cuSOLVER, gesvdjBatched)
    return m_.rows <= kMost && m_.columns <= kMost &&
           api_.gesvdj_batched_size[type_](handle, vectors(), m_.rows, m_.columns, 0, m_.rows, 0, 0, m_.rows, 0,
                                           m_.columns, &length_, options_, m_.max_per_call) == kSuccess;
  }
};

}  // namespace

std::unique_ptr<CudaSolver> eigh_solver(Cusolver& c, const MatrixBatch& m, bool small) {
  const bool has_qr = c.api.syev_batched != nullptr && c.api.syev_batched_size != nullptr;  // CUDA 12.6.2 and later
  if (small || !has_qr) return std::make_unique<EighJacobi>(c, m);
  return std::make_unique<EighQr>(c, m);
}

std::unique_ptr<CudaSolver> svd_solver(Cusolver& c, const MatrixBatch& m, bool small) {
  if (small) return std::make_unique<SvdBatched>(c, m);
  return std::make_unique<SvdJacobi>(c, m);
}

}  // namespace tern::gpu
