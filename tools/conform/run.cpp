#include "tools/conform/run.h"

#include <fmt/format.h>
#include <tern/collective.h>
#include <tern/graph.h>
#include <tern/tern.h>

#include <chrono>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iterator>
#include <thread>

#include "exporter/archive_writer.h"
#include "exporter/importer.h"
#include "exporter/kernels/add_kernels.h"
#include "exporter/target_name.h"
#include "kernels/custom/library.h"
#include "tools/conform/bits.h"
#include "tools/conform/case.h"
#include "tools/conform/gradients.h"
#include "tools/conform/reference.h"
#include "tools/files/streams.h"
#include "tools/subgroups.h"

namespace tern {
namespace {

Tensor to_tensor(const HostTensor& t) {
  Tensor r(t.dtype, t.sizes);
  if (!t.data.empty()) std::memcpy(r.data(), t.data.data(), std::min(t.data.size(), r.byte_size()));
  return r;
}

HostTensor to_host(const Tensor& t) {
  HostTensor r{t.dtype(), t.sizes(), {}};
  const auto* bytes = static_cast<const std::byte*>(t.data());
  r.data.assign(bytes, bytes + t.byte_size());
  return r;
}

/// A device's results: outputs, and modified inputs, of all calls.
using RunResults = std::vector<std::pair<std::string, HostTensor>>;

/// Findings of comparing a rank's results.
struct ConformFindings {
  std::string first;  ///< the first failure
  double worst_ulp = 0;
  std::vector<std::string> nearer;  ///< results outside the tolerance, but nearer to float64 than PyTorch's
  RunResults results;
};

/// Compares a tensor (`gradient`: a gradient). `wide` returns the same tensor in float64, or null.
template <class Wide>
void check(const std::string& value_name, const Tensor& actual, const HostTensor& golden, const ConformCase& c,
           Wide&& wide, ConformFindings* findings, bool gradient = false) {
  const HostTensor& host = findings->results.emplace_back(value_name, to_host(actual)).second;
  const Comparison result = compare(host, golden, c.tolerance);
  if (!result.ok && result.mismatch.empty()) {
    const HostTensor* reference = can_be_nearer(golden, result.tolerance, gradient) ? wide() : nullptr;
    if (reference != nullptr && is_nearer(host, golden, *reference, result.tolerance)) {
      findings->nearer.push_back(value_name);
      return;
    }
  }
  findings->worst_ulp = std::max(findings->worst_ulp, result.worst_ulp);
  if (!result.ok && findings->first.empty()) findings->first = value_name + ": " + describe(result, host, golden);
}

/// Runs by capturing and replaying a graph; directly if a graph cannot hold the run. The results are the graph's.
const std::vector<Tensor>& run_as_graph(Session& session, const std::string& function,
                                        const std::vector<Tensor>& inputs, Graph& graph) {
  graph.capture_begin(session.stream());
  const std::vector<Tensor>* outputs = nullptr;
  try {
    outputs = &session.run(function, inputs);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::unsupported) throw;
  }
  graph.capture_end();
  if (outputs == nullptr) return session.run(function, inputs);
  graph.replay();
  session.stream().synchronize();
  return *outputs;
}

/// Runs a call expected to fail. Returns empty, or a description of the unexpected behaviour.
std::string run_refused(const std::string& expected, const std::string& function, const std::vector<Tensor>& inputs,
                        Session& session) {
  try {
    session.run(function, inputs);
  } catch (const Error& e) {
    if (std::string_view(e.what()).find(expected) != std::string_view::npos) return {};
    return fmt::format("the error is \"{}\" and lacks \"{}\"", e.what(), expected);
  }
  return fmt::format("succeeds, but the error \"{}\" is expected", expected);
}

/// Runs a rank's calls; results are kept after a first finding, too.
void run_calls(const ConformCase& c, std::size_t rank, const FunctionInfo& info, Session& session, bool as_graph,
               bool with_gradients, Reference& reference, ConformFindings* findings) {
  const std::vector<CaseCall>& calls = c.ranks[rank];
  const auto missing = [&](std::string value_name) {
    if (findings->first.empty()) findings->first = std::move(value_name);
  };
  for (std::size_t k = 0; k < calls.size(); ++k) {
    const CaseCall& call = calls[k];
    std::vector<Tensor> inputs;
    for (const auto& [i, tensor] : call.inputs) inputs.push_back(to_tensor(*tensor));
    const std::string position = (c.ranks.size() > 1 ? fmt::format("rank {}, ", rank) : std::string()) +
                                 (calls.size() > 1 ? fmt::format("call {}, ", k) : std::string());
    if (!call.error.empty()) {
      if (std::string reason = run_refused(call.error, info.name, inputs, session); !reason.empty())
        missing(position + reason);
      continue;
    }
    Graph graph;
    const std::vector<Tensor>& outputs =
        as_graph ? run_as_graph(session, info.name, inputs, graph) : session.run(info.name, inputs);
    for (const auto& [i, golden] : call.outputs) {
      if (with_gradients) break;  // other cases compare these
      const auto position_index = static_cast<std::size_t>(i);
      if (position_index >= outputs.size())
        return missing(fmt::format("{}output {} is missing: there are {}", position, i, outputs.size()));
      check(
          fmt::format("{}output {}", position, i), outputs[position_index], *golden, c,
          [&] { return reference.output(k, position_index); }, findings);
    }
    std::size_t next = outputs.size() - (with_gradients ? call.gradients.size() : 0);
    for (const auto& [i, golden] : call.gradients) {
      if (!with_gradients) break;
      const std::size_t position_index = next++;
      check(
          fmt::format("gradient of input {}", i), outputs[position_index], *golden, c,
          [&] { return reference.output(k, position_index); }, findings, true);
    }
    for (const auto& [i, golden] : call.mutated) {
      const auto position_index = static_cast<std::size_t>(i);
      if (position_index >= inputs.size()) return missing(fmt::format("{}input {} is missing", position, i));
      check(
          fmt::format("{}input {} after the call", position, i), inputs[position_index], *golden, c,
          [&] { return reference.input(k, position_index); }, findings);
    }
  }
}

/// Runs all ranks; a group's ranks have a thread each.
ConformFindings run_ranks(const ConformCase& c, const Program& program, const FunctionInfo& info,
                          const PreparedModel& prepared, bool as_graph, bool with_gradients, Reference& reference) {
  ConformFindings findings;
  if (c.ranks.size() == 1) {
    Session session(prepared);
    run_calls(c, 0, info, session, as_graph, with_gradients, reference, &findings);
    return findings;
  }
  struct Rank {
    ConformFindings findings;
    std::exception_ptr failure;
  };
  std::vector<Rank> ranks(c.ranks.size());
  const auto groups = local_group(static_cast<int>(ranks.size()));
  {
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      threads.emplace_back([&, r] {
        Rank& mine = ranks[r];
        try {
          Session session(prepared);
          set_groups(session, program, groups[r], groups_of(program, c.groups));
          Reference none;
          run_calls(c, r, info, session, as_graph, false, none, &mine.findings);
        } catch (...) {
          mine.failure = std::current_exception();
          groups[r]->abort("its calls ended early");
        }
      });
    }
  }
  for (Rank& r : ranks) {
    if (r.failure != nullptr) std::rethrow_exception(r.failure);
    if (findings.first.empty()) findings.first = std::move(r.findings.first);
    findings.worst_ulp = std::max(findings.worst_ulp, r.findings.worst_ulp);
    std::ranges::move(r.findings.results, std::back_inserter(findings.results));
  }
  return findings;
}

/// Removes names and other text used only in messages.
void remove_texts(Program& program) {
  program.origins.clear();
  for (Function& f : program.functions) {
    for (Value& v : f.values) v.name.clear();
    for (Node& n : f.nodes) {
      n.origin = -1;
      n.annotations.clear();
    }
  }
}

/// Describes the first result with other bits; empty if all bits are equal. All NaN count as equal.
std::string other_bits(const RunResults& actual, const RunResults& expected) {
  for (std::size_t i = 0; i < expected.size() && i < actual.size(); ++i) {
    const Comparison result = compare(actual[i].second, expected[i].second, Tolerance{0, 0});
    if (!result.ok) return expected[i].first + ": " + describe(result, actual[i].second, expected[i].second);
  }
  return {};
}

}  // namespace

ConformResult run_case(const std::string& pt2_path, const std::string& name, const ConformOptions& options) {
  ConformResult result;
  result.name = name;
  const auto start = std::chrono::steady_clock::now();
  const char* stage = "read";
  try {
    const ConformCase c = read_case(pt2_path, name);
    result.op = c.op;
    result.dtype = c.dtype;
    stage = "export";
    ImportOptions to_operators;
    to_operators.store_weights = false;
    if (options.gradients) {
      if (is_archive_case(pt2_path))
        fail(ErrorCode::invalid_argument, "gradients are computed from a .pt2 file, not from an archive");
      if (c.ranks.size() != 1 || c.ranks[0].size() != 1 || c.ranks[0][0].gradients.empty())
        fail(ErrorCode::invalid_argument, "a case with gradients has one call, and gradK");
      to_operators.transform = [&](Program& p) {
        stage = "gradients";
        add_case_gradients(p, c);
        stage = "export";
      };
    }
    Program imported = import_case(pt2_path, to_operators);
    result.operators = operators_of(imported);  // before fusion merges nodes of several operators
    if (!is_archive_case(pt2_path)) store_weights(imported, {});
    if (options.target != nullptr) {
      stage = "compile";
      add_kernels(imported, *options.target, {});
    }
    if (options.removes_texts) remove_texts(imported);
    auto program = std::make_shared<const Program>(std::move(imported));
    const TemporaryFile file("tern-conform");
    if (options.through_archive) {
      stage = "archive";
      program = report_target_name(file.path(), "the archive of " + pt2_path, [&] {
        write_archive(*program, file.path(), {});
        return Model::open(file.path(), {Access::map, Verify::now}).program();
      });
    }
    Model model(program);
    const std::vector<FunctionInfo> functions = model.functions();
    if (functions.empty()) fail(ErrorCode::bad_file, "the program has no function");
    RunResults first;
    Reference reference(c, options.gradients);
    const bool several = options.devices.size() > 1;
    std::string unlike;  // PyTorch's results: the agreement of devices is reported anyway
    for (const std::string& device : options.devices) {
      const std::string device_prefix = several ? device + ": " : std::string();
      stage = "prepare";
      PrepareOptions prepare;
      prepare.threads = options.threads;
      prepare.device = device;
      prepare.reproducible = options.reproducible;
      prepare.native_code = options.native_code;
      const PreparedModel prepared = model.prepare(prepare);
      stage = "run";
      const std::uint64_t old_host_nodes = custom_nodes_on_host();
      ConformFindings findings =
          run_ranks(c, *model.program(), functions.front(), prepared, options.graph, options.gradients, reference);
      std::string reason = std::move(findings.first);
      result.worst_ulp = std::max(result.worst_ulp, findings.worst_ulp);
      result.nearer = std::move(findings.nearer);
      RunResults& results = findings.results;
      stage = "compare";
      if (const std::uint64_t n = custom_nodes_on_host() - old_host_nodes; reason.empty() && n > 0) {
        reason = fmt::format("{} nodes ran on the host: their operator's library has no kernel for devices", n);
        stage = "run";
      }
      if (several && !reason.empty() && stage == std::string_view("compare")) {
        if (unlike.empty()) unlike = device_prefix + reason;
        reason.clear();
      }
      if (reason.empty() && !first.empty()) {
        reason = other_bits(results, first);
        stage = "bits";
      }
      if (!reason.empty()) {
        result.message = device_prefix + reason;
        break;
      }
      stage = "";
      if (first.empty()) first = std::move(results);
    }
    if (result.message.empty() && !unlike.empty()) {
      result.message = unlike + "; all devices have the same bits";
      stage = "compare";
    }
    for (const auto& [value_name, tensor] : first) result.bits = hash_bits(result.bits, tensor);
  } catch (const Error& e) {
    result.message = e.what();
    result.refused = e.code() == ErrorCode::unsupported && stage == std::string_view("gradients");
  } catch (const std::exception& e) {
    result.message = e.what();
  }
  if (result.op.empty()) result.op = name;
  if (!result.message.empty() || *stage != 0) result.stage = stage;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace tern
