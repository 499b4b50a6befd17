// The threads of a running block: runnable threads, and the waits of all others.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/gpu/fibers/context.h"
#include "tests/gpu/fibers/fibers.h"
#include "tests/gpu/fibers/stacks.h"

namespace tern::fibers {

class Block {
 public:
  explicit Block(const tern_fibers& of);
  void run();

  // Called by the running thread.
  void yield();
  tern_fibers_votes barrier(std::uint32_t id, std::uint32_t threads, bool vote, int line, bool waits);
  void exchange(std::uint64_t mask, tern_fibers_combine combine, std::uint64_t key, void* user, std::uint32_t* words,
                std::uint32_t count, const char* what, int line);
  std::uint64_t lanes() const;

  static Block& current();

 private:
  struct Fiber {
    Context context;
    bool ended = false;
    std::string waits_for;  // "" if runnable
  };
  struct Barrier {
    std::uint32_t arrived = 0, yes = 0;
    struct Waiter {
      std::uint32_t thread;
      tern_fibers_votes* votes;
    };
    std::vector<Waiter> waiting;
  };
  struct Exchange {
    std::uint64_t mask, key;
    tern_fibers_combine combine;
    std::uint64_t arrived = 0;
    std::uint64_t unread = 0;  // lanes that have not read their words
    bool complete = false;
    tern_fibers_words words;
  };

  static void enter();
  void wait(std::string what);
  void make_ready(std::uint32_t thread);
  [[noreturn]] void deadlock();

  const tern_fibers& fibers_api_;
  Stacks stacks_;
  std::vector<Fiber> fibers_;
  std::deque<std::uint32_t> ready_threads_;
  Context scheduler_;
  std::uint32_t running_ = 0;
  std::map<std::uint32_t, Barrier> barriers_;
  std::vector<std::list<Exchange>> exchanges_;  // per warp
};

}  // namespace tern::fibers
