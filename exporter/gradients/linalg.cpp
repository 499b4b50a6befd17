// Gradients of factorizations and solvers.
#include "exporter/gradients/rules.h"

namespace tern {
namespace {

constexpr GradientEntry kLinalgRules[] = {
    {Op::cholesky, differentiate_cholesky},       {Op::qr, differentiate_qr},
    {Op::householder, differentiate_householder}, {Op::lu_factor, differentiate_lu_factor},
    {Op::lu_solve, differentiate_lu_solve},       {Op::triangular_solve, differentiate_triangular_solve},
    {Op::ldl_solve, differentiate_ldl_solve},     {Op::lstsq, differentiate_lstsq},
};

}  // namespace

std::span<const GradientEntry> gradients_of_linalg() {
  return kLinalgRules;
}

}  // namespace tern
