// A session has one caller at a time: operators that use or replace their running session, and threads that share a
// session, get errors. Exceptions of an operator become errors with its name.
#include <gtest/gtest.h>
#include <tern/custom_op.h>
#include <tern/graph.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "platform/library.h"
#include "schema/custom_arguments.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::floats;
using testing::TestProgram;

Model model() {
  TestProgram p;
  Node n;
  n.op = Op::custom;
  n.inputs = {p.input(DType::f32, {1})};
  n.set(AttrKey::name, std::string("tests::call"));
  n.set(AttrKey::text, format_custom_arguments({{"x", CustomArgument::Kind::tensors, 1, ""}}));
  n.set(AttrKey::dtype, Dims{static_cast<std::int64_t>(DType::f32)});
  n.set(AttrKey::counts, Dims{1});
  n.set(AttrKey::sizes, Dims{1});
  p.output(p.b().add(std::move(n))[0]);
  return p.model();
}

/// The operator runs the action in its next call only.
std::function<void()> action;  // NOLINT: the operator calls a function without context
void act() {
  if (const auto now = std::exchange(action, nullptr)) now();
}

class SessionUses : public ::testing::Test {
 protected:
  SessionUses() {
    load_ops(TERN_TEST_OPS);
    session.emplace(model().prepare());
    hook_ = static_cast<void (**)()>(platform::find_symbol(platform::open_library(TERN_TEST_OPS), "tests_hook"));
    *hook_ = act;
  }
  ~SessionUses() override { *hook_ = nullptr; }

  void run() { session->run({floats({1}, {1})}); }
  /// The error of a run whose operator runs the action; empty if none.
  std::string error_of(std::function<void()> what) {
    action = std::move(what);
    return error_in([&] { run(); });
  }
  static std::string error_in(const std::function<void()>& what) {
    try {
      what();
      return {};
    } catch (const Error& e) {
      return e.what();
    }
  }

  std::optional<Session> session;

 private:
  void (**hook_)() = nullptr;
};

#define EXPECT_IN_USE(call) EXPECT_NE(error_of([&] { call; }).find("in use"), std::string::npos) << #call

TEST_F(SessionUses, AnOperatorCannotUseItsOwnSession) {
  EXPECT_EQ(error_of([] {}), "");
  const Tensor x = floats({1}, {1}), y(DType::f32, {1});
  EXPECT_IN_USE(run());
  EXPECT_IN_USE(session->enqueue("forward", std::vector{x}));
  EXPECT_IN_USE(session->run_into(std::vector{x}, std::vector{y}));
  EXPECT_IN_USE(session->enqueue_into("forward", std::vector{x}, std::vector{y}));
  EXPECT_IN_USE(session->run_into_new("forward", std::vector{x}));
  EXPECT_IN_USE(session->run_on_device("forward", std::vector{x}));
  EXPECT_IN_USE(session->output("out0"));
  EXPECT_IN_USE(session->reset_state());
  EXPECT_IN_USE(session->set_group(nullptr));
  EXPECT_IN_USE(session->set_seed(1));
  EXPECT_IN_USE(session->set_profiling(true));
  EXPECT_IN_USE(session->stats());
  EXPECT_EQ(error_of([] {}), "");
}
#undef EXPECT_IN_USE

TEST_F(SessionUses, AnOperatorMayUseAnother) {
  Session other(model().prepare());
  EXPECT_EQ(error_of([&] { other.run({floats({1}, {1})}); }), "");
}

TEST_F(SessionUses, ASessionThatIsReplacedInItsRunGivesNoResults) {
  for (const auto& what : std::vector<std::function<void()>>{[&] { session = Session(model().prepare()); },
                                                             [&] { *session = Session(model().prepare()); },
                                                             [&] { session.emplace(model().prepare()); }}) {
    EXPECT_NE(error_of(what).find("replaced or destroyed"), std::string::npos);
    EXPECT_EQ(error_of([] {}), "");
  }
  Tensor y(DType::f32, {1});
  action = [&] { session.emplace(model().prepare()); };
  EXPECT_NE(error_in([&] { session->run_into({floats({1}, {1})}, {y}); }).find("replaced"), std::string::npos);
  EXPECT_EQ(error_of([] {}), "");
}

TEST_F(SessionUses, AMovedSessionIsAnError) {
  Session other = std::move(*session);
  EXPECT_NE(error_in([&] { run(); }).find("moved"), std::string::npos);
}

TEST_F(SessionUses, AnotherThreadIsRefused) {
  std::string error;
  EXPECT_EQ(error_of([&] { std::thread([&] { error = error_in([&] { run(); }); }).join(); }), "");
  EXPECT_NE(error.find("in use"), std::string::npos);
}

TEST_F(SessionUses, GraphsInTheirReplay) {
  auto graph = std::make_unique<Graph>();
  const auto capture = [&] {
    graph->capture_begin(session->stream());
    run();
    graph->capture_end();
  };
  const auto error = [&](std::function<void()> what) {
    action = std::move(what);
    return error_in([&] { graph->replay(); });
  };
  capture();
  EXPECT_EQ(error([] {}), "");
  EXPECT_NE(error([&] { run(); }).find("in use"), std::string::npos);
  for (const auto& what : std::vector<std::function<void()>>{[&] { graph->replay(); }, [&] { graph->reset(); },
                                                             [&] { graph->capture_begin(session->stream()); }})
    EXPECT_NE(error(what).find("being replayed"), std::string::npos);
  EXPECT_EQ(error([&] { *graph = Graph(); }), "");
  capture();
  EXPECT_EQ(error([&] { graph = nullptr; }), "");
}

TEST_F(SessionUses, WhatAnOperatorThrowsNamesIt) {
  const std::string error = error_of([] { throw std::runtime_error("no\nluck"); });
  EXPECT_NE(error.find("'tests::call'"), std::string::npos) << error;
  EXPECT_NE(error.find("no\\x0aluck"), std::string::npos) << error;
  EXPECT_NE(error_of([] { throw 42; }).find("'tests::call'"), std::string::npos);
  EXPECT_EQ(error_of([] { fail(ErrorCode::unsupported, "an Error"); }), "node 0 of 'forward' (custom): an Error");
  EXPECT_EQ(error_of([] {}), "");
}

}  // namespace
}  // namespace tern
