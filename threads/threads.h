// Thread count of a run. A run sets its count on its thread by a ThreadScope: loops (parallel.h) and kernels read the
// count there, and OpenMP libraries read OpenMP's own setting, restored by the scope.
#pragma once

namespace tern {

class Threads {
 public:
  explicit constexpr Threads(int count) : count_(count < 1 ? 1 : count) {}
  /// OpenMP's thread count: the caller's omp_set_num_threads, OMP_NUM_THREADS, else all cores. One inside a parallel
  /// region of OpenMP.
  static Threads openmp_default();
  /// `count`, or openmp_default() for 0; one inside a parallel region.
  static Threads chosen(int count);
  /// Count of this thread's innermost ThreadScope; outside any scope, openmp_default().
  static Threads current();

  constexpr int count() const { return count_; }
  friend constexpr bool operator==(Threads, Threads) = default;

 private:
  int count_;
};

/// Sets this thread's count to `threads` until the scope ends. Scopes nest.
class ThreadScope {
 public:
  explicit ThreadScope(Threads threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int outer_;   ///< count of the enclosing scope; 0: none
  int openmp_;  ///< OpenMP's setting before
};

}  // namespace tern
