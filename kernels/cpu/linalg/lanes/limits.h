// Up to which sizes one matrix a lane is faster than one matrix after the other: measured with `./dev bench --linalg`.
#pragma once

#include "kernels/kernel.h"

namespace tern::cpu::lanes {

/// The most rows and columns, and the fewest matrices.
struct Limit {
  std::int64_t float_size, double_size, count;
};
inline constexpr Limit kCholesky = {64, 64, 2}, kLuFactor = {64, 64, 2}, kLuSolve = {64, 64, 2},
                       kTriangularSolve = {64, 64, 2}, kQr = {64, 64, 2}, kHouseholder = {64, 64, 2},
                       kEigh = {64, 64, 2}, kSvd = {64, 64, 2};

/// `count` matrices of at most `size` rows and columns.
inline bool within(const Limit& l, DType type, std::int64_t size, std::int64_t count) {
  return count >= l.count && size <= (type == DType::f64 ? l.double_size : l.float_size);
}

}  // namespace tern::cpu::lanes
