// Definitions of the C interface's handles.
#pragma once

#include <tern/c_api.h>
#include <tern/cancel.h>
#include <tern/tern.h>

#include <vector>

struct tern_model {
  tern::Model model;
};
struct tern_prepared {
  tern::PreparedModel prepared;
};
struct tern_session {
  tern::Session session;
  const std::vector<tern::Tensor>* outputs = nullptr;  // results of the last run
  std::vector<tern::Tensor> caller_outputs;            // outputs given to run_into
  tern::CancelToken token{};                           // cancels the current run
};
