#include "threads/loop_recorder.h"

#include <chrono>
#include <thread>
#include <utility>

#include "threads/openmp.h"
#include "threads/threads.h"

namespace tern {
namespace {

thread_local LoopRecorder* recorder_here = nullptr;

struct TimedChunk {
  std::thread::id thread;
  double begin = 0, end = 0;
};

/// Each chunk writes to its own element; the pool orders these writes before the end of the loop.
struct TimedLoop {
  ThreadPool::ChunkFunction run_chunk;
  void* context;
  std::vector<TimedChunk> times;

  static void run(void* context, std::int64_t i) {
    auto& loop = *static_cast<TimedLoop*>(context);
    TimedChunk& t = loop.times[static_cast<std::size_t>(i)];
    t.begin = LoopRecorder::now();
    loop.run_chunk(loop.context, i);
    t.end = LoopRecorder::now();
    t.thread = std::this_thread::get_id();
  }
};

/// Numbers the caller 0, and the other threads in the order of their first chunks.
std::vector<ChunkTime> numbered(const std::vector<TimedChunk>& times) {
  std::vector<std::thread::id> threads = {std::this_thread::get_id()};
  std::vector<ChunkTime> chunks;
  for (const TimedChunk& t : times) {
    std::size_t number = 0;
    while (number < threads.size() && threads[number] != t.thread) ++number;
    if (number == threads.size()) threads.push_back(t.thread);
    chunks.push_back({static_cast<int>(number), t.begin, t.end});
  }
  return chunks;
}

}  // namespace

std::atomic<int> LoopRecorder::active_scopes = 0;

LoopRecorder* LoopRecorder::thread_recorder() {
  return recorder_here;
}

double LoopRecorder::now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void LoopRecorder::run(std::int64_t chunk_count, ThreadPool::ChunkFunction run_chunk, void* context,
                       ThreadPool::Note note) {
  TimedLoop timed{run_chunk, context, std::vector<TimedChunk>(static_cast<std::size_t>(chunk_count))};
  LoopTime loop;
  loop.note = note;
  {
    const RecorderScope unrecorded(nullptr);
    loop.begin = now();
    if (mode_ == Mode::serial) {
      const ThreadScope one{Threads(1)};
      for (std::int64_t i = 0; i < chunk_count; ++i) TimedLoop::run(&timed, i);
    } else {
      ThreadPool::shared().run(chunk_count, TimedLoop::run, &timed);
    }
    loop.end = now();
  }
  loop.chunks = numbered(timed.times);
  loops_.push_back(std::move(loop));
}

void LoopRecorder::add_openmp(double begin, double end) {
  loops_.push_back({begin, end, {}, true, {}});
}

void LoopRecorder::end_node(std::uint32_t function, std::uint32_t node, double begin, double end) {
  nodes_.push_back({function, node, begin, end, std::exchange(loops_, {})});
}

std::vector<NodeLoops> LoopRecorder::take_nodes() {
  loops_.clear();
  return std::exchange(nodes_, {});
}

RecorderScope::RecorderScope(LoopRecorder* recorder) : outer_(std::exchange(recorder_here, recorder)) {
  LoopRecorder::active_scopes.fetch_add(1, std::memory_order_relaxed);
}

RecorderScope::~RecorderScope() {
  LoopRecorder::active_scopes.fetch_sub(1, std::memory_order_relaxed);
  recorder_here = outer_;
}

OpenMpScope::OpenMpScope() : recorder_(Threads::current().count() > 1 ? LoopRecorder::current() : nullptr) {
  if (recorder_ == nullptr) return;
  begin_ = LoopRecorder::now();
  threads_ = openmp::max_threads();
  if (recorder_->mode() == LoopRecorder::Mode::serial) openmp::set_max_threads(1);
}

OpenMpScope::~OpenMpScope() {
  if (recorder_ == nullptr) return;
  openmp::set_max_threads(threads_);
  recorder_->add_openmp(begin_, LoopRecorder::now());
}

}  // namespace tern
