#include "threads/openmp.h"

#include <algorithm>
#include <charconv>
#include <thread>

#include "platform/environment.h"

namespace tern::openmp {
namespace {

/// Returns the first number of OMP_NUM_THREADS ("4,2": 4), else the number of cores.
int initial_count() {
  if (const auto text = platform::trusted_variable("OMP_NUM_THREADS")) {
    int count = 0;
    const char* end = text->data() + text->size();
    if (const auto [stop, error] = std::from_chars(text->data(), end, count);
        error == std::errc() && count > 0 && (stop == end || *stop == ','))
      return count;
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

thread_local int setting = 0;  // 0: initial_count()

}  // namespace

bool in_parallel() {
  return false;
}

int max_threads() {
  static const int initial = initial_count();
  return setting > 0 ? setting : initial;
}

void set_max_threads(int count) {
  setting = std::max(1, count);
}

}  // namespace tern::openmp
