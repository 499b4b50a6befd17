// Streams that delay their work as long as tern/device.h allows: until a wait.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tern::testing {

using Work = std::function<void()>;
using WorkList = std::vector<Work>;

inline void run_all(const WorkList& list) {
  for (const Work& w : list) w();
}

using Spans = std::vector<tern_device_span>;

struct Queue {
  std::deque<Work> work;
  std::uint64_t put = 0, done = 0;
  std::vector<std::shared_ptr<WorkList>> recorded;  ///< a graph during recording, and its open bodies
  std::shared_ptr<Spans> spans;                     ///< during profiling
  std::uint64_t mark = 0, clock = 0;
  std::string failure;  ///< first error of completed work

  void add(Work w) {
    if (!recorded.empty()) {
      recorded.back()->push_back(std::move(w));
      return;
    }
    work.push_back(std::move(w));
    ++put;
  }
  /// Adds work of duration `time` on the queue's clock.
  void add_timed(std::uint64_t time, Work w) {
    if (spans == nullptr) return add(std::move(w));
    add([this, time, w = std::move(w), kept = spans, id = mark] {
      w();
      kept->push_back({id, clock, clock + time});
      clock += time;
    });
  }
  /// Runs work up to, but not including, number `until`.
  void run(std::uint64_t until) {
    while (done < until) {
      const Work w = std::move(work.front());
      work.pop_front();
      ++done;
      w();
    }
  }
};

struct Moment {
  std::shared_ptr<Queue> queue;  ///< null before the first record
  std::uint64_t place = 0;
  double seconds = 0;  ///< time of the event

  void wait() const {
    if (queue != nullptr) queue->run(place);
  }
};

}  // namespace tern::testing
