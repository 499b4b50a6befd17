// Atomic additions available only as intrinsics, not as LLVM instructions.
#ifndef TERN_TESTS_GPU_AMD_RUNTIME_ATOMICS_H
#define TERN_TESTS_GPU_AMD_RUNTIME_ATOMICS_H

#include "run.h"

static float tern_add_f32(float* at, float value) {
  uint32_t old = __atomic_load_n((uint32_t*)at, __ATOMIC_RELAXED), next;
  float now;
  do {
    memcpy(&now, &old, 4);
    const float sum = now + value;
    memcpy(&next, &sum, 4);
  } while (!__atomic_compare_exchange_n((uint32_t*)at, &old, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return now;
}
static double tern_add_f64(double* at, double value) {
  uint64_t old = __atomic_load_n((uint64_t*)at, __ATOMIC_RELAXED), next;
  double now;
  do {
    memcpy(&now, &old, 8);
    const double sum = now + value;
    memcpy(&next, &sum, 8);
  } while (!__atomic_compare_exchange_n((uint64_t*)at, &old, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return now;
}
float tern_amdgcn_global_atomic_fadd_f32_p0_f32(float* at, float value) {
  return tern_add_f32(at, value);
}
double tern_amdgcn_global_atomic_fadd_f64_p0_f64(double* at, double value) {
  return tern_add_f64(at, value);
}
float tern_amdgcn_flat_atomic_fadd_f32_p0_f32(float* at, float value) {
  return tern_add_f32(at, value);
}
double tern_amdgcn_flat_atomic_fadd_f64_p0_f64(double* at, double value) {
  return tern_add_f64(at, value);
}
float tern_amdgcn_ds_fadd_f32(float* at, float value, uint32_t ordering, uint32_t scope, uint32_t is_volatile) {
  return tern_add_f32(at, value);
}
double tern_amdgcn_ds_fadd_f64(double* at, double value, uint32_t ordering, uint32_t scope, uint32_t is_volatile) {
  return tern_add_f64(at, value);
}

#endif
