// Groups of ranks in threads, for the tests of collectives.
#pragma once

#include <gtest/gtest.h>
#include <tern/collective.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/support.h"

namespace tern::testing {

using Groups = std::vector<std::shared_ptr<ProcessGroup>>;

/// Longer than every wait of these tests.
constexpr std::chrono::milliseconds kCollectiveSoon{20000};

/// Error message of each rank's thread, or "".
inline std::vector<std::string> run_all(std::size_t ranks, const std::function<void(int)>& work) {
  std::vector<std::string> messages(ranks);
  std::vector<std::jthread> threads;
  for (std::size_t r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      try {
        work(static_cast<int>(r));
      } catch (const Error& e) {
        messages[r] = e.what();
        EXPECT_FALSE(messages[r].empty());
      }
    });
  }
  threads.clear();
  return messages;
}

/// Message of the Error that `work` throws, or "".
inline std::string failure_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

inline Collective call_on(CollectiveKind kind, const std::vector<float>& in, std::vector<float>& out) {
  return {.kind = kind,
          .dtype = DType::f32,
          .count = static_cast<std::int64_t>(in.size()),
          .input = in.data(),
          .output = out.data()};
}

}  // namespace tern::testing
