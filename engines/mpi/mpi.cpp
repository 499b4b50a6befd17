// Engine over MPI: non-blocking messages, polled by MPI_Test so that waits can time out.
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <future>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "engines/message.h"

using namespace tern_engine_impl;
using std::chrono::milliseconds;

struct tern_engine_request_s {
  std::vector<MPI_Request> chunks;  ///< each at most as many bytes as an int counts
};

struct tern_engine_group_s {
  MPI_Comm comm = MPI_COMM_NULL;
  std::atomic<bool> stopped{false};
  int max_tag = 0;                                               ///< a power of two minus 1
  std::vector<std::unique_ptr<tern_engine_request_s>> requests;  ///< pending and free requests
  std::vector<tern_engine_request> idle;
};

namespace {

/// Serializes MPI calls if the library requires.
std::recursive_mutex& calls() {
  static std::recursive_mutex mutex;
  return mutex;
}
bool one_at_a_time = false;
/// set to skip MPI_Finalize, which would wait for failed ranks.
std::atomic<bool> failed{false};

std::string text_of(int error) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(error, text, &length);
  return {text, static_cast<std::size_t>(length)};
}

/// set while messages of a failed group are still active: MPI would write to memory returned to the application when
/// called for another group.
std::atomic<bool> unsafe{false};

template <class Call>
void check(const char* what, Call call) {
  if (unsafe)
    throw std::runtime_error(
        "a group of this process has failed while a rank was stopped in the middle of a message: "
        "no group of MPI can be used any more");
  std::unique_lock lock(calls(), std::defer_lock);
  if (one_at_a_time) lock.lock();
  const int error = call();
  if (error != MPI_SUCCESS) throw std::runtime_error(std::string(what) + ": " + text_of(error));
}

/// Initialises MPI once per process; MPI ends with the process.
void initialise() {
  const std::lock_guard lock(calls());
  int initialised = 0, finalised = 0, level = 0;
  MPI_Initialized(&initialised);
  MPI_Finalized(&finalised);
  if (finalised != 0) throw std::runtime_error("MPI has been finalised in this process");
  if (initialised == 0) {
    check("MPI_Init_thread", [&] { return MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level); });
    std::atexit([] {
      int ended = 0;
      MPI_Finalized(&ended);
      if (ended == 0 && !failed) MPI_Finalize();
    });
  }
  MPI_Query_thread(&level);
  one_at_a_time = level < MPI_THREAD_MULTIPLE;
}

void check_world(const tern_engine_place& place) {
  int rank = 0, ranks = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank != place.rank || ranks != place.ranks)
    throw std::runtime_error("this process is rank " + std::to_string(rank) + " of " + std::to_string(ranks) +
                             " in MPI's world, but its rank in the group is " + std::to_string(place.rank) + " of " +
                             std::to_string(place.ranks) + ": start it with mpirun");
}

std::string key_of(const char* about, int rank) {
  return std::string(about) + " " + std::to_string(rank);
}
void publish(const tern_engine_place& place, const char* about, const std::string& text) {
  const tern_engine_store& store = *place.store;
  if (store.set(store.context, key_of(about, place.rank).c_str(), text.data(), text.size()) != TERN_ENGINE_OK)
    throw std::runtime_error("this rank cannot notify the others that it is ready");
}
std::string hear(const tern_engine_place& place, const char* about, int rank) {
  std::string text;
  const auto take = [](void* to, const void* value, std::uint64_t bytes) {
    static_cast<std::string*>(to)->assign(static_cast<const char*>(value), bytes);
  };
  if (place.store->get(place.store->context, key_of(about, rank).c_str(), take, &text) != TERN_ENGINE_OK)
    throw std::runtime_error("rank " + std::to_string(rank) + " is not ready");
  return text;
}

/// Exchanges readiness, or a rank's `problem`, before MPI calls: MPI itself waits for missing ranks forever.
void meet(const tern_engine_place& place, const std::string& problem) {
  publish(place, "mpi", problem);
  if (!problem.empty()) throw std::runtime_error(problem);
  for (int r = 0; r < place.ranks; ++r) {
    const std::string theirs = hear(place, "mpi", r);
    if (!theirs.empty()) throw std::runtime_error("rank " + std::to_string(r) + ": " + theirs);
  }
}

/// True if all ranks agree.
bool agree(const tern_engine_place& place, const char* about, bool yes) {
  publish(place, about, yes ? "yes" : "no");
  for (int r = 0; r < place.ranks; ++r) yes = hear(place, about, r) == "yes" && yes;
  return yes;
}

bool done_until(MPI_Request& request, std::chrono::steady_clock::time_point end) {
  for (;;) {
    int done = 0;
    check("ending a request", [&] { return MPI_Test(&request, &done, MPI_STATUS_IGNORE); });
    if (done != 0) return true;
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

/// The largest power of two minus 1 within MPI's limit.
int max_tag() {
  int* most = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found);
  constexpr int kLeast = 32767;  // guaranteed by every MPI
  const auto limit = static_cast<unsigned>(found != 0 ? *most : kLeast);
  return static_cast<int>(std::bit_floor(limit + 1) - 1);
}

bool has_parent(const tern_engine_place& place) {
  return place.size >= offsetof(tern_engine_place, members) + sizeof place.members && place.parent != nullptr;
}

/// Runs a blocking MPI call without a non-blocking form on a thread; abandons the thread after a timeout.
template <class Create>
auto run_with_timeout(milliseconds timeout, const char* what, Create create) {
  if (one_at_a_time) return create();
  std::packaged_task<decltype(create())()> task(create);
  auto made = task.get_future();
  std::thread thread(std::move(task));
  if (made.wait_for(timeout) != std::future_status::ready) {
    failed = true;
    thread.detach();
    throw std::runtime_error(std::string(what) + " did not end in time");
  }
  thread.join();
  return made.get();
}

MPI_Comm communicator_of_some(const tern_engine_place& place) {
  const MPI_Comm parent = place.parent->comm;
  const std::vector<int> members(place.members, place.members + place.ranks);
  return run_with_timeout(milliseconds(place.timeout_ms), "MPI_Comm_create_group", [parent, members] {
    MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    check("MPI_Comm_group", [&] { return MPI_Comm_group(parent, &all); });
    check("MPI_Group_incl",
          [&] { return MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &some); });
    check("MPI_Comm_create_group", [&] { return MPI_Comm_create_group(parent, some, 0, &comm); });
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    return comm;
  });
}

constexpr std::uintptr_t kAlignment = 64;

/// Aligns an address: MPI guarantees no alignment. Skips equally many bytes on every rank, because mappings begin at a
/// page.
void* aligned(void* address) {
  const auto past = reinterpret_cast<std::uintptr_t>(address) % kAlignment;
  return static_cast<char*>(address) + (kAlignment - past) % kAlignment;
}

/// Creates a window shared by all ranks, if all run on one host. Never freed: freeing would wait for the other ranks.
std::vector<void*> window(const tern_engine_place& place, MPI_Comm comm, std::uint64_t bytes) {
  constexpr milliseconds kWindow{5000};  // timeout, because a failure on one rank leaves the others waiting
  const milliseconds timeout = std::min(kWindow, milliseconds(place.timeout_ms));
  return run_with_timeout(timeout, "MPI_Win_allocate_shared", [comm, bytes, rank = place.rank, ranks = place.ranks] {
    MPI_Comm host = MPI_COMM_NULL;
    check("MPI_Comm_split_type",
          [&] { return MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host); });
    int here = 0;
    MPI_Comm_size(host, &here);
    std::vector<void*> addresses;
    if (here == ranks) {  // equal on all ranks
      MPI_Comm_set_errhandler(host, MPI_ERRORS_RETURN);
      void* mine = nullptr;
      MPI_Win win = MPI_WIN_NULL;
      check("MPI_Win_allocate_shared", [&] {
        return MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes + kAlignment), 1, MPI_INFO_NULL, host, &mine, &win);
      });
      std::memset(mine, 0, bytes + kAlignment);
      check("MPI_Win_lock_all", [&] { return MPI_Win_lock_all(MPI_MODE_NOCHECK, win); });
      for (int r = 0; r < ranks; ++r) {
        MPI_Aint size = 0;
        int unit = 0;
        void* address = nullptr;
        check("MPI_Win_shared_query", [&] { return MPI_Win_shared_query(win, r, &size, &unit, &address); });
        addresses.push_back(aligned(address));
      }
    }
    return addresses;
  });
}

/// Falls back to messages if some rank's MPI has no windows, or its system no memory for one.
tern_engine_status share(tern_engine_group group, const tern_engine_place* place, std::uint64_t bytes,
                         void** addresses) {
  return guarded([&] {
    static std::atomic<bool> none{false};  // set after a failure in this process
    if (!agree(*place, "may share", !none && !one_at_a_time)) return TERN_ENGINE_OK;
    std::vector<void*> shared;
    try {
      shared = window(*place, group->comm, bytes);
    } catch (const std::exception&) {
      none = true;
    }
    // Windows start as zeros.
    if (agree(*place, "shares", !shared.empty())) std::ranges::copy(shared, addresses);
    return TERN_ENGINE_OK;
  });
}

tern_engine_status connect_some(const tern_engine_place& place, tern_engine_group* group) {
  meet(place, {});
  auto made = std::make_unique<tern_engine_group_s>();
  made->comm = communicator_of_some(place);
  MPI_Comm_set_errhandler(made->comm, MPI_ERRORS_RETURN);
  made->max_tag = max_tag();
  *group = made.release();
  return TERN_ENGINE_OK;
}

tern_engine_status connect_all(const tern_engine_place* place, tern_engine_group* group) {
  return guarded([&] {
    if (has_parent(*place)) return connect_some(*place, group);
    std::string problem;
    try {
      initialise();
      check_world(*place);
    } catch (const std::exception& e) {
      problem = e.what();
    }
    meet(*place, problem);
    auto made = std::make_unique<tern_engine_group_s>();
    MPI_Request request = MPI_REQUEST_NULL;
    check("MPI_Comm_idup", [&] { return MPI_Comm_idup(MPI_COMM_WORLD, &made->comm, &request); });
    const auto end = std::chrono::steady_clock::now() + milliseconds(place->timeout_ms);
    if (!done_until(request, end)) {
      failed = true;
      made.release();  // MPI may still write to the request
      throw std::runtime_error("MPI_Comm_idup did not end in time");
    }
    MPI_Comm_set_errhandler(made->comm, MPI_ERRORS_RETURN);
    made->max_tag = max_tag();
    *group = made.release();
    return TERN_ENGINE_OK;
  });
}

int tag_of(std::uint64_t tag, int most) {
  return static_cast<int>((tag ^ tag >> 32) & static_cast<std::uint64_t>(most));
}

constexpr std::uint64_t kMaxMessageBytes = 1 << 30;
constexpr milliseconds kCloses{1000};  ///< shared by all messages of a group

template <class Start>
tern_engine_status begin(tern_engine_group group, std::uint64_t bytes, tern_engine_request* request, Start start) {
  return guarded([&] {
    if (group->stopped) throw std::runtime_error("the group has been stopped");
    if (group->idle.empty()) {
      group->requests.push_back(std::make_unique<tern_engine_request_s>());
      group->idle.push_back(group->requests.back().get());
    }
    *request = group->idle.back();
    group->idle.pop_back();
    (*request)->chunks.clear();
    for (std::uint64_t at = 0; at < bytes; at += kMaxMessageBytes) {
      (*request)->chunks.push_back(MPI_REQUEST_NULL);
      check("starting a message", [&] {
        return start(at, static_cast<int>(std::min(kMaxMessageBytes, bytes - at)), &(*request)->chunks.back());
      });
    }
    return TERN_ENGINE_OK;
  });
}

tern_engine_status send(tern_engine_group group, std::int32_t peer, std::uint64_t tag, const void* data,
                        std::uint64_t bytes, tern_engine_request* request) {
  return begin(group, bytes, request, [&](std::uint64_t at, int n, MPI_Request* r) {
    return MPI_Isend(static_cast<const char*>(data) + at, n, MPI_BYTE, peer, tag_of(tag, group->max_tag), group->comm,
                     r);
  });
}
tern_engine_status receive(tern_engine_group group, std::int32_t peer, std::uint64_t tag, void* data,
                           std::uint64_t bytes, tern_engine_request* request) {
  return begin(group, bytes, request, [&](std::uint64_t at, int n, MPI_Request* r) {
    return MPI_Irecv(static_cast<char*>(data) + at, n, MPI_BYTE, peer, tag_of(tag, group->max_tag), group->comm, r);
  });
}

/// MPI makes progress only inside calls. The loop yields the processor between polls, and later sleeps.
tern_engine_status wait(tern_engine_group group, tern_engine_request request, std::int64_t timeout_ms) {
  return guarded([&] {
    using Clock = std::chrono::steady_clock;
    constexpr auto kEager = milliseconds(2);
    const auto start = Clock::now();
    for (int turn = 0;; ++turn) {
      int done = 0;
      check("waiting for a message", [&] {
        return MPI_Testall(static_cast<int>(request->chunks.size()), request->chunks.data(), &done,
                           MPI_STATUSES_IGNORE);
      });
      if (done != 0) break;
      if (group->stopped) throw std::runtime_error("the group has been stopped");
      constexpr int kTurns = 16;
      if (turn % kTurns != 0) {
        sched_yield();
        continue;
      }
      const auto waited = Clock::now() - start;
      if (waited >= milliseconds(timeout_ms)) {
        failed = true;
        return TERN_ENGINE_TIMEOUT;
      }
      if (waited > kEager) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    group->idle.push_back(request);
    return TERN_ENGINE_OK;
  });
}

void interrupt(tern_engine_group group) {
  failed = true;
  group->stopped = true;
}

/// MPI can cancel neither sends nor matched receives: they get time to finish. Because MPI transfers data only inside
/// calls, still active messages end the use of MPI in this process.
void close_group(tern_engine_group group) {
  guarded([&] {
    group->stopped = true;
    const auto end = std::chrono::steady_clock::now() + kCloses;
    for (const auto& r : group->requests) {
      for (MPI_Request& part : r->chunks) {
        if (part == MPI_REQUEST_NULL) continue;
        try {
          check("ending a message", [&] { return MPI_Cancel(&part); });
          if (!done_until(part, end)) failed = unsafe = true;
        } catch (const std::exception&) {
          failed = true;  // continues ending the other messages
        }
      }
      r->chunks.clear();
    }
    return TERN_ENGINE_OK;
  });
}

constexpr tern_engine kEngine = {
    TERN_ENGINE_ABI,
    sizeof(tern_engine),
    "mpi",
#ifdef OMPI_MAJOR_VERSION
    "Open MPI " TERN_TEXT(OMPI_MAJOR_VERSION) "." TERN_TEXT(OMPI_MINOR_VERSION) "." TERN_TEXT(OMPI_RELEASE_VERSION),
#else
    "MPI " TERN_TEXT(MPI_VERSION) "." TERN_TEXT(MPI_SUBVERSION),
#endif
    last_message,
    connect_all,
    send,
    receive,
    wait,
    interrupt,
    close_group,
    destroy_group<tern_engine_group_s>,  // skips MPI_Comm_free, which would wait for the other ranks
    share};

}  // namespace

const tern_engine* tern_engine_library(void) {
  return &kEngine;
}
