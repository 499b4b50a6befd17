#include "tools/trace/events.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "tools/text.h"
#include "tools/trace/parse.h"

namespace tern {
namespace {

using nlohmann::json;
using TracedSpanKind = TracedSpan::Kind;

constexpr std::size_t kMaxSpans = std::size_t{1} << 26;

struct Category {
  std::string_view name;
  TracedSpanKind kind;
};
/// Kineto's activity types used in a summary.
constexpr std::array kCategories = {
    Category{"cpu_op", TracedSpanKind::op},
    Category{"user_annotation", TracedSpanKind::annotation},
    Category{"python_function", TracedSpanKind::module},
    Category{"cuda_runtime", TracedSpanKind::call},
    Category{"cuda_driver", TracedSpanKind::call},
    Category{"xpu_runtime", TracedSpanKind::call},
    Category{"mtia_runtime", TracedSpanKind::call},
    Category{"privateuse1_runtime", TracedSpanKind::call},
    Category{"overhead", TracedSpanKind::overhead},
    Category{"kernel", TracedSpanKind::kernel},
    Category{"gpu_memcpy", TracedSpanKind::copy},
    Category{"gpu_memset", TracedSpanKind::copy},
};

std::optional<TracedSpanKind> kind_of(const json& event) {
  const auto category = event.find("cat");
  if (category == event.end() || !category->is_string()) return std::nullopt;
  const auto found = std::ranges::find(kCategories, category->get_ref<const std::string&>(), &Category::name);
  return found == kCategories.end() ? std::nullopt : std::optional(found->kind);
}

std::string text_of(const json* value) {
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

class Loader {
 public:
  TraceParse parse() {
    return {[this](json&& event) { add(event); }};
  }

  LoadedTrace finish(const json& other_members) {
    std::ranges::stable_sort(trace_.spans, [](const TracedSpan& a, const TracedSpan& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.duration > b.duration;
    });
    if (const auto info = other_members.find("distributedInfo"); info != other_members.end() && info->is_object()) {
      const auto number = [&](const char* key, std::int64_t otherwise) {
        const auto found = info->find(key);
        return trace_integer(found == info->end() ? nullptr : &*found, otherwise);
      };
      trace_.rank = number("rank", -1);
      trace_.world_size = number("world_size", 1);
    }
    trace_.is_merged = other_members.contains("merged_ranks");
    if (const auto dropped = other_members.find("dropped_events"); dropped != other_members.end())
      trace_.dropped = static_cast<std::uint64_t>(std::max<std::int64_t>(0, trace_integer(&*dropped, 0)));
    return std::move(trace_);
  }

 private:
  NameId intern(const std::string& text) {
    if (text.empty()) return 0;
    const auto [at, is_new] = ids_.try_emplace(text, static_cast<NameId>(trace_.names.size()));
    if (is_new) trace_.names.push_back(text);
    return at->second;
  }

  /// Numbers of processes and threads; texts such as "Spans" get negative numbers.
  std::int64_t track_id(const json& event, const char* key) {
    const auto found = event.find(key);
    if (found == event.end()) return 0;
    if (found->is_string()) return -1 - static_cast<std::int64_t>(intern(found->get<std::string>()));
    return trace_integer(&*found, 0);
  }

  void add(const json& event) {
    ++trace_.events;
    const auto phase = event.find("ph");
    const std::optional<TracedSpanKind> kind = kind_of(event);
    if (phase == event.end() || *phase != "X" || !kind) return;
    TracedSpan s;
    s.kind = *kind;
    s.begin = trace_number(event, "ts");
    s.duration = trace_number(event, "dur");
    if (!std::isfinite(s.begin) || !std::isfinite(s.duration) || s.duration < 0) {
      ++trace_.skipped;
      return;
    }
    if (trace_.spans.size() >= kMaxSpans)
      fail(ErrorCode::bad_file, fmt::format("the trace has more than {} spans", kMaxSpans));
    const auto name = event.find("name");
    const std::string text = text_of(name == event.end() ? nullptr : &*name);
    if (s.kind == TracedSpanKind::annotation && text.starts_with("ProfilerStep#")) s.kind = TracedSpanKind::run;
    s.name = intern(text);
    s.process = track_id(event, "pid");
    s.thread = track_id(event, "tid");
    s.external = trace_integer(trace_arg(event, "External id"), 0);
    s.correlation = trace_integer(trace_arg(event, "correlation"), 0);
    s.sequence = trace_integer(trace_arg(event, "Seq"), -1);
    s.op = intern(text_of(trace_arg(event, "Op")));
    s.module = intern(text_of(trace_arg(event, "Module Hierarchy")));
    s.annotation = intern(text_of(trace_arg(event, "User annotation")));
    s.collective = intern(text_of(trace_arg(event, "Collective name")));
    s.group = intern(text_of(trace_arg(event, "Process Group Name")));
    const auto amount = [&](const char* key) {
      const json* v = trace_arg(event, key);
      return v != nullptr && v->is_number() ? v->get<double>() : 0.0;
    };
    s.flops = amount("flops");
    s.bytes = amount("bytes");
    s.waits = s.kind == TracedSpanKind::call && (text.find("ynchronize") != std::string::npos);
    const json* finished = trace_arg(event, "finished");
    s.finished = finished == nullptr || !finished->is_boolean() || finished->get<bool>();
    trace_.spans.push_back(s);
  }

  LoadedTrace trace_;
  std::unordered_map<std::string, NameId> ids_;
};

}  // namespace

const json* trace_arg(const json& event, const char* key) {
  const auto args = event.find("args");
  if (args == event.end() || !args->is_object()) return nullptr;
  const auto found = args->find(key);
  return found == args->end() ? nullptr : &*found;
}

std::int64_t trace_integer(const json* value, std::int64_t otherwise) {
  if (value == nullptr) return otherwise;
  if (value->is_number_unsigned() &&
      value->get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return otherwise;
  if (value->is_number_integer()) return value->get<std::int64_t>();
  if (!value->is_string()) return otherwise;
  const std::string& text = value->get_ref<const std::string&>();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : otherwise;
}

double trace_number(const json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_number() ? found->get<double>() : std::numeric_limits<double>::quiet_NaN();
}

LoadedTrace load_trace(const std::string& path) {
  Loader loader;
  const TraceParse parse = loader.parse();
  return loader.finish(parse_trace_file(path, parse));
}

LoadedTrace load_trace(std::istream& text, const std::string& name) {
  Loader loader;
  const TraceParse parse = loader.parse();
  return loader.finish(parse_trace(text, name, parse));
}

}  // namespace tern
