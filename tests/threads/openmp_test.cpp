// The settings of OpenMP, by its runtime or by Tern itself.
#include "threads/openmp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>

#include "platform/environment.h"

namespace tern {
namespace {

/// Sets OMP_NUM_THREADS for the length of a test.
class Variable {
 public:
  explicit Variable(const char* value) {
    if (const char* before = std::getenv("OMP_NUM_THREADS"); before != nullptr) previous_value_ = before;
    platform::set_variable("OMP_NUM_THREADS", value);
  }
  ~Variable() {
    platform::set_variable("OMP_NUM_THREADS", previous_value_.empty() ? nullptr : previous_value_.c_str());
  }

 private:
  std::string previous_value_;
};

TEST(OpenMpDeathTest, TheFirstNumberOfTheEnvironmentCounts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // starts this program anew
  const Variable variable("3,2");
  EXPECT_EXIT(std::exit(openmp::max_threads()), testing::ExitedWithCode(3), "");
}

TEST(OpenMpDeathTest, AnInvalidNumberOfTheEnvironmentMeansAllCores) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const Variable variable("3 or so");
  EXPECT_EXIT(std::exit(openmp::max_threads()), testing::ExitedWithCode(cores), "");
}

TEST(OpenMp, EachThreadHasItsOwnSetting) {
  const int before = openmp::max_threads();
  openmp::set_max_threads(before + 2);
  int of_new_thread = 0;
  std::thread([&] { of_new_thread = openmp::max_threads(); }).join();
  EXPECT_EQ(openmp::max_threads(), before + 2);
  EXPECT_EQ(of_new_thread, before);
  openmp::set_max_threads(before);
}

}  // namespace
}  // namespace tern
