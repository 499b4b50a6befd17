#include "tools/check_file.h"

#include <algorithm>
#include <new>

#include "exporter/file_kind.h"
#include "exporter/importer.h"
#include "loader/validate.h"
#include "tools/exit_codes.h"
#include "tools/files/any.h"
#include "tools/inputs.h"

namespace tern {
namespace {

/// The finding of a failed import; the error's code distinguishes broken from unsupported files.
Finding finding_of(const Error& e) {
  const bool unsupported = e.code() == ErrorCode::unsupported;
  Finding f;
  f.rule = unsupported ? "pt2.supported" : "pt2.import";
  f.code = unsupported ? ErrorCode::unsupported : ErrorCode::bad_file;
  f.message = e.what();
  return f;
}

std::vector<Finding> check_pt2(const std::string& path) {
  try {
    const Program program = import_pt2(path);
    for (std::uint32_t i = 0; i < program.storages.size(); ++i) {
      if (program.storages[i].size > 0) program.source->bytes(i);
    }
    Findings findings(Findings::Mode::collect);
    validate(program, findings);
    return findings.list();
  } catch (const Error& e) {
    if (e.code() == ErrorCode::io || e.code() == ErrorCode::out_of_memory) throw;
    return {finding_of(e)};
  }
}

}  // namespace

int FileCheck::status() const {
  if (failure) return static_cast<int>(failure->code());
  if (findings.empty()) return 0;
  const bool broken = std::ranges::any_of(findings, [](const Finding& f) { return f.code != ErrorCode::unsupported; });
  return broken ? kExitFindings : static_cast<int>(ErrorCode::unsupported);
}

FileCheck check_file(const std::string& path) {
  FileCheck check{path, {}, {}};
  try {
    if (const FileKind kind = kind_of_file(path);
        !kind.name.empty() && kind.code != ErrorCode::io && !kind.is_program()) {
      check.findings = {{"prologue.magic", ErrorCode::bad_file, kind.text(), 0, {}}};
      return check;
    }
    check_program_file(path);
    check.findings = is_pt2(path) ? check_pt2(path) : validate_archive(path);
  } catch (const Error& e) {
    check.failure = e;
  } catch (const std::bad_alloc&) {
    check.failure = Error(ErrorCode::out_of_memory, "out of memory");
  } catch (const std::exception& e) {
    check.failure = Error(ErrorCode::internal, e.what());
  }
  return check;
}

}  // namespace tern
