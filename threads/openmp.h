// Settings of OpenMP's runtime on this thread. Builds without OpenMP keep the same settings themselves (absent/).
#pragma once

namespace tern::openmp {

/// Returns true inside a parallel region; false without OpenMP.
bool in_parallel();
/// Returns this thread's setting: set_max_threads, else OMP_NUM_THREADS, else the cores of this process.
int max_threads();
void set_max_threads(int count);

}  // namespace tern::openmp
