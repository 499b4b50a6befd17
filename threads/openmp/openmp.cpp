#include "threads/openmp.h"

#include <omp.h>

namespace tern::openmp {

bool in_parallel() {
  return omp_in_parallel() != 0;
}

int max_threads() {
  return omp_get_max_threads();
}

void set_max_threads(int count) {
  omp_set_num_threads(count);
}

}  // namespace tern::openmp
