#include "runtime/collective/transport_group.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <cstring>

#include "runtime/collective/call.h"
#include "runtime/collective/flight.h"
#include "runtime/collective/reduce.h"

namespace tern {
namespace {

using std::chrono::milliseconds;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15)) * 0xbf58476d1ce4e5b9;
  return x ^ x >> 31;
}

}  // namespace

TransportGroup::TransportGroup(Identity identity, std::unique_ptr<Transport> transport, std::unique_ptr<Watch> watch,
                               std::unique_ptr<Divider> divider)
    : identity_(std::move(identity)),
      transport_(std::move(transport)),
      watch_(std::move(watch)),
      divider_(std::move(divider)),
      algorithms_(*transport_, identity_.rank, identity_.size) {
  FlightRecorder::process().add_group(identity_.name, identity_.size, identity_.rank, is_in_process());
}

bool TransportGroup::is_in_process() const {
  return identity_.engine == FlightRecorder::kInProcess;
}

TransportGroup::~TransportGroup() {
  watch_.reset();
}

std::shared_ptr<void> TransportGroup::add_failure_callback(FailureActs::Act act) {
  std::shared_ptr<void> owner = watch_->acts().add(std::move(act));
  if (const std::string why = watch_->failure(milliseconds(0)); !why.empty()) watch_->acts().run(why);
  return owner;
}

/// Computes the call's result in a group of one rank.
void TransportGroup::alone(const Collective& c) const {
  const std::size_t bytes = bytes_of(c, results_of(c, 0, 1));
  if (bytes == 0) return;
  if (c.output != c.input) std::memcpy(c.output, c.input, bytes);
  if (reduces(c.kind) && c.reduce == ReduceOp::premul_sum) scale(c.dtype, c.output, c.count, c.factor);
}

void TransportGroup::fail_in(const CallState& state, const std::string& message, bool from_elsewhere) {
  std::string why = watch_->failure(from_elsewhere ? Watch::kReasonComes : milliseconds(0));
  if (why.empty()) {
    why = fmt::format("group '{}': rank {} has failed in {}: {}", identity_.name, identity_.rank, describe(state),
                      message);
    watch_->stop(why);
  }
  transport_->close();
  FlightRecorder::process().write_on_failure(is_in_process() ? identity_.rank : -1);
  fail(ErrorCode::runtime, why);
}

template <class Work>
void TransportGroup::guarded(const CallState& state, Work work) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    watch_->begin(state);
    work(begin + identity_.timeout);
    watch_->end();
  } catch (const WaitedTooLong& w) {
    const std::string why =
        fmt::format("group '{}': rank {} has waited {} ms in {} for rank {}{}", identity_.name, identity_.rank,
                    identity_.timeout.count(), describe(state), w.peer, watch_->place_of(w.peer));
    watch_->stop(why);
    fail_in(state, why, false);
  } catch (const Error& e) {
    fail_in(state, e.what(), e.code() == ErrorCode::io);
  } catch (const std::exception& e) {
    fail_in(state, e.what(), false);
  }
}

/// Gives mismatched calls different tags, so they never meet.
std::uint64_t TransportGroup::tag_of(const Collective& c) const {
  if (!is_point_to_point(c.kind)) return mix(calls_, fingerprint(c));
  const bool sends = c.kind == CollectiveKind::send;
  const auto from = static_cast<std::uint64_t>(sends ? identity_.rank : c.root),
             to = static_cast<std::uint64_t>(sends ? c.root : identity_.rank);
  return mix(mix(from << 32 | to, static_cast<std::uint64_t>(c.tag)), static_cast<std::uint64_t>(c.dtype));
}

void TransportGroup::run(const Collective& call) {
  if (is_point_to_point(call.kind)) return run_batch({&call, 1});
  FlightRecorder& flight = FlightRecorder::process();
  const std::uint64_t record = flight.schedule(
      {identity_.engine, identity_.name, identity_.rank, identity_.size, is_in_process()}, call, ++calls_);
  guarded(state_of(call, calls_), [&](auto end) {
    check_call(call, identity_.rank, identity_.size);
    flight.start(record);
    if (identity_.size == 1) return alone(call);
    algorithms_.run(call, tag_of(call), end);
  });
  flight.complete(record);
}

void TransportGroup::run_batch(std::span<const Collective> calls) {
  if (calls.empty()) return;
  FlightRecorder& flight = FlightRecorder::process();
  ++messages_;
  records_.clear();
  for (const Collective& c : calls)
    records_.push_back(flight.schedule(
        {identity_.engine, identity_.name, identity_.rank, identity_.size, is_in_process()}, c, messages_));
  nth_.clear();
  for (const Collective& c : calls)
    nth_.push_back(++sent_and_received_[{c.root, c.kind == CollectiveKind::send, c.tag}]);
  guarded(state_of(calls[0], messages_, nth_[0]), [&](auto end) {
    tags_.clear();
    for (const Collective& c : calls) {
      if (!is_point_to_point(c.kind)) fail(ErrorCode::invalid_argument, "a batch takes only send and receive");
      check_call(c, identity_.rank, identity_.size);
      tags_.push_back(tag_of(c));
    }
    for (const std::uint64_t r : records_) flight.start(r);
    algorithms_.run_batch(calls, tags_, end, [&](std::size_t i) {
      if (i > 0) watch_->begin(state_of(calls[i], messages_, nth_[i]));
    });
  });
  for (const std::uint64_t r : records_) flight.complete(r);
}

void TransportGroup::abort(const std::string& why) noexcept {
  stop(fmt::format("group '{}': rank {} has failed: {}", identity_.name, identity_.rank, why));
}

void TransportGroup::stop(const std::string& why) noexcept {
  watch_->stop(why);
  transport_->interrupt();
}

}  // namespace tern
