#include "tests/gpu/fibers/block.h"

#include <algorithm>
#include <cstdlib>

namespace tern::fibers {
namespace {

thread_local Block* running_block = nullptr;

}  // namespace

Block& Block::current() {
  return *running_block;
}

Block::Block(const tern_fibers& of)
    : fibers_api_(of), stacks_(of.threads), fibers_(of.threads), exchanges_((of.threads + of.lanes - 1) / of.lanes) {}

void Block::enter() {
  Block& block = current();
  block.fibers_api_.body(block.fibers_api_.user, block.running_);
  Fiber& fiber = block.fibers_[block.running_];
  fiber.ended = true;
  switch_to(fiber.context, block.scheduler_);
  std::abort();  // an ended thread never continues
}

void Block::run() {
  Block* before = std::exchange(running_block, this);
  for (std::uint32_t i = 0; i < fibers_api_.threads; ++i) {
    const std::uint32_t thread = fibers_api_.backwards ? fibers_api_.threads - 1 - i : i;
    prepare(fibers_[thread].context, stacks_[thread], kStackBytes, enter);
    ready_threads_.push_back(thread);
  }
  while (!ready_threads_.empty()) {
    running_ = ready_threads_.front();
    ready_threads_.pop_front();
    switch_to(scheduler_, fibers_[running_].context);
  }
  if (!std::all_of(fibers_.begin(), fibers_.end(), [](const Fiber& fiber) { return fiber.ended; })) deadlock();
  running_block = before;
}

void Block::make_ready(std::uint32_t thread) {
  fibers_[thread].waits_for.clear();
  ready_threads_.push_back(thread);
}

void Block::wait(std::string what) {
  Fiber& fiber = fibers_[running_];
  fiber.waits_for = std::move(what);
  switch_to(fiber.context, scheduler_);
}

void Block::yield() {
  ready_threads_.push_back(running_);
  switch_to(fibers_[running_].context, scheduler_);
}

std::uint64_t Block::lanes() const {
  const std::uint32_t first = running_ / fibers_api_.lanes * fibers_api_.lanes,
                      count = std::min(fibers_api_.lanes, fibers_api_.threads - first);
  return count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

tern_fibers_votes Block::barrier(std::uint32_t id, std::uint32_t threads, bool vote, int line, bool waits) {
  const std::uint32_t expected = threads ? threads : fibers_api_.threads;
  Barrier& barrier = barriers_[id];
  barrier.arrived += 1;
  barrier.yes += vote;
  tern_fibers_votes votes{barrier.yes, barrier.arrived};
  if (barrier.arrived >= expected) {
    for (const Barrier::Waiter& waiter : barrier.waiting) {
      *waiter.votes = votes;
      make_ready(waiter.thread);
    }
    barrier = {};
    // Waiting threads run first, so that the last thread sees their effects.
    if (waits) yield();
  } else if (waits) {
    barrier.waiting.push_back({running_, &votes});
    wait("barrier " + std::to_string(id) + " at line " + std::to_string(line) + ", for " + std::to_string(expected) +
         " threads");
  }
  return votes;
}

void Block::exchange(std::uint64_t mask, tern_fibers_combine combine, std::uint64_t key, void* user,
                     std::uint32_t* words, std::uint32_t count, const char* what, int line) {
  const std::uint32_t lane = running_ % fibers_api_.lanes, first = running_ - lane;
  const std::uint64_t self = std::uint64_t{1} << lane;
  std::list<Exchange>& all = exchanges_[running_ / fibers_api_.lanes];
  if (!(mask & self)) {
    const std::string why = std::string(what) + " at line " + std::to_string(line) + ": lane " + std::to_string(lane) +
                            " is not in its own mask of lanes";
    fibers_api_.deadlock(fibers_api_.user, why.c_str());
    std::abort();
  }
  mask &= lanes();
  auto found = std::find_if(all.begin(), all.end(), [&](const Exchange& one) {
    return !one.complete && one.mask == mask && one.key == key && one.combine == combine && !(one.arrived & self);
  });
  if (found == all.end()) {
    all.emplace_front();
    found = all.begin();
    found->mask = mask, found->key = key, found->combine = combine;
  }
  std::copy_n(words, count, found->words[lane]);
  found->arrived |= self;
  if (found->arrived == mask) {
    found->combine(mask, found->words, user);
    found->complete = true;
    found->unread = mask;
    for (std::uint32_t other = 0; other < fibers_api_.lanes; ++other) {
      if (mask >> other & 1 && other != lane) make_ready(first + other);
    }
  } else {
    wait(std::string(what) + " at line " + std::to_string(line));
  }
  std::copy_n(found->words[lane], count, words);
  found->unread &= ~self;
  if (found->unread == 0) all.erase(found);
}

void Block::deadlock() {
  std::map<std::string, std::vector<std::uint32_t>> waiting;
  std::uint32_t ended = 0;
  for (std::uint32_t i = 0; i < fibers_.size(); ++i) {
    if (fibers_[i].ended)
      ++ended;
    else
      waiting[fibers_[i].waits_for].push_back(i);
  }
  std::string why = "threads wait for others that never come:";
  for (const auto& [what, threads] : waiting) {
    why += " " + std::to_string(threads.size()) + " (the first is " + std::to_string(threads.front()) + ") at " + what +
           ";";
  }
  why += " " + std::to_string(ended) + " of " + std::to_string(fibers_api_.threads) + " have ended";
  fibers_api_.deadlock(fibers_api_.user, why.c_str());
  std::abort();
}

}  // namespace tern::fibers

using tern::fibers::Block;

extern "C" {

void tern_fibers_run(const tern_fibers* block) {
  Block(*block).run();
}
void tern_fibers_yield(void) {
  Block::current().yield();
}
tern_fibers_votes tern_fibers_barrier(uint32_t id, uint32_t threads, int vote, int line) {
  return Block::current().barrier(id, threads, vote != 0, line, true);
}
void tern_fibers_arrive(uint32_t id, uint32_t threads, int line) {
  Block::current().barrier(id, threads, false, line, false);
}
void tern_fibers_exchange(uint64_t mask, tern_fibers_combine combine, uint64_t key, void* user, uint32_t* words,
                          uint32_t count, const char* what, int line) {
  Block::current().exchange(mask, combine, key, user, words, count, what, line);
}
uint64_t tern_fibers_lanes(void) {
  return Block::current().lanes();
}

}  // extern "C"
