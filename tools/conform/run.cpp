#include "tools/conform/run.h"

#include <fmt/format.h>
#include <tern/tern.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>

#include "exporter/archive_writer.h"
#include "exporter/importer.h"
#include "tools/conform/case.h"

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

/// A file that is gone when this goes out of scope.
class TemporaryFile {
 public:
  TemporaryFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tern-conform-XXXXXX").string();
    const int fd = mkstemp(pattern.data());
    if (fd < 0)
      fail(ErrorCode::io,
           fmt::format("no temporary file can be made in '{}'", std::filesystem::temp_directory_path().string()));
    close(fd);
    path_ = pattern;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Compares one tensor; the message is empty when it is close enough.
std::string differs(const std::string& what, const Tensor& actual, const HostTensor& golden, const ConformCase& c,
                    double* worst) {
  const HostTensor host = to_host(actual);
  const Comparison result = compare(host, golden, c.tolerance);
  *worst = std::max(*worst, result.worst_ulp);
  return result.ok ? std::string() : what + ": " + describe(result, host, golden);
}

std::string run_calls(const ConformCase& c, const FunctionInfo& info, Session& session, double* worst) {
  for (std::size_t k = 0; k < c.calls.size(); ++k) {
    const CaseCall& call = c.calls[k];
    std::vector<Tensor> inputs;
    for (const auto& [i, tensor] : call.inputs) inputs.push_back(to_tensor(*tensor));
    const std::vector<Tensor>& outputs = session.run(info.name, inputs);
    const std::string where = c.calls.size() > 1 ? fmt::format("call {}, ", k) : std::string();
    for (const auto& [i, golden] : call.outputs) {
      if (static_cast<std::size_t>(i) >= outputs.size())
        return fmt::format("{}output {} is missing: there are {}", where, i, outputs.size());
      std::string why =
          differs(fmt::format("{}output {}", where, i), outputs[static_cast<std::size_t>(i)], *golden, c, worst);
      if (!why.empty()) return why;
    }
    for (const auto& [i, golden] : call.mutated) {
      if (static_cast<std::size_t>(i) >= inputs.size()) return fmt::format("{}input {} is missing", where, i);
      std::string why = differs(fmt::format("{}input {} after the call", where, i), inputs[static_cast<std::size_t>(i)],
                                *golden, c, worst);
      if (!why.empty()) return why;
    }
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
    auto program = std::make_shared<const Program>(import_pt2(pt2_path));
    result.operators = operators_of(*program);
    TemporaryFile file;
    if (options.through_archive) {
      stage = "archive";
      write_archive(*program, file.path(), {});
      program = Model::open(file.path(), {Access::map, Verify::now}).program();
    }
    stage = "prepare";
    Model model(program);
    const std::vector<FunctionInfo> functions = model.functions();
    if (functions.empty()) fail(ErrorCode::bad_file, "the program has no function");
    PrepareOptions prepare;
    prepare.threads = options.threads;
    prepare.device = options.device;
    Session session(model.prepare(prepare));
    stage = "run";
    const std::string why = run_calls(c, functions.front(), session, &result.worst_ulp);
    stage = why.empty() ? "" : "compare";
    result.message = why;
  } catch (const std::exception& e) {
    result.message = e.what();
  }
  if (result.op.empty()) result.op = name;
  if (!result.message.empty() || *stage != 0) result.stage = stage;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace tern
