// How many threads a run uses. A run puts its number in force on its thread with a ThreadScope: loops (parallel.h) and
// kernels read it there, and libraries with OpenMP read OpenMP's own setting, which the scope puts back.
#pragma once

namespace tern {

class Threads {
 public:
  explicit constexpr Threads(int count) : count_(count < 1 ? 1 : count) {}
  /// As many as OpenMP would use here: the caller's omp_set_num_threads, OMP_NUM_THREADS, else all cores. Inside a
  /// parallel region of OpenMP, one.
  static Threads of_openmp();
  /// `count`, or of_openmp() where that is 0; inside a parallel region, one.
  static Threads chosen(int count);
  /// Those of this thread's innermost ThreadScope; outside any scope, of_openmp().
  static Threads current();

  constexpr int count() const { return count_; }
  friend constexpr bool operator==(Threads, Threads) = default;

 private:
  int count_;
};

/// Has this thread use `threads` until the scope ends. Scopes nest.
class ThreadScope {
 public:
  explicit ThreadScope(Threads threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int outer_;   ///< of the scope around; 0: none
  int openmp_;  ///< OpenMP's setting before
};

}  // namespace tern
