// Expressions, segments, storages, states and origins of an index.
#include <fmt/format.h>

#include "loader/index_reader.h"

namespace tern {
void read_expressions(IndexReader& reader, ExprPool& pool) {
  const archive::Index& root = *reader.root();
  Findings& findings = reader.findings();
  std::vector<Symbol> symbols;
  const std::size_t symbol_count = reader.count(root.symbols());
  symbols.reserve(symbol_count);
  for (std::size_t i = 0; i < symbol_count; ++i) {
    const auto* row = root.symbols()->Get(static_cast<flatbuffers::uoffset_t>(i));
    symbols.push_back({reader.name(row->name(), row), row->min(), row->max()});
    Symbol& s = symbols.back();
    if (s.name.size() > kMaxSymbolName) {
      findings.add("texts.length", reader.offset_of(row), fmt::format("symbol {}", i),
                   fmt::format("its name has {} bytes; at most {} are allowed", s.name.size(), kMaxSymbolName));
      s.name.resize(1);
    }
    if (s.min > s.max || s.min == kUndefined) {
      findings.add("symbols.range", reader.offset_of(row), fmt::format("symbol '{}'", s.name),
                   fmt::format("its range {} to {} is invalid", s.min, s.max));
      s.min = 0, s.max = kNoBound;
    }
  }
  std::vector<ExprNode> nodes;
  const std::size_t count = reader.count(root.expressions());
  nodes.reserve(count);
  std::vector<std::uint32_t> depths(count, 1);
  for (std::size_t i = 0; i < count; ++i) {
    const archive::Expression& row = *root.expressions()->Get(static_cast<flatbuffers::uoffset_t>(i));
    ExprNode n{static_cast<ExprOp>(row.op()), row.a(), row.b(), row.c(), row.value()};
    const auto wrong = [&](const char* rule, std::string message, ErrorCode code = ErrorCode::bad_file) {
      findings.add(rule, reader.offset_of(&row), fmt::format("expression {}", i), std::move(message), code);
      n = {};
    };
    if (row.op() >= kExprOpCount) {
      wrong("expressions.op",
            fmt::format("operation {} is not known to this version (it knows 0 to {})", row.op(), kExprOpCount - 1),
            ErrorCode::unsupported);
    } else if (n.op == ExprOp::symbol && (n.value < 0 || static_cast<std::uint64_t>(n.value) >= symbols.size())) {
      wrong("expressions.symbol", fmt::format("symbol {} does not exist; there are {}", n.value, symbols.size()));
    } else {
      const std::uint32_t operands[] = {n.a, n.b, n.c};
      for (int k = 0; k < operand_count(n.op); ++k) {
        if (operands[k] >= i) {
          wrong("expressions.order", fmt::format("it reads expression {}, which is not an earlier one", operands[k]));
          break;
        }
        depths[i] = std::max(depths[i], depths[operands[k]] + 1);
      }
      if (depths[i] > kMaxExpressionDepth) {
        wrong("expressions.depth", fmt::format("it is nested more than {} deep", kMaxExpressionDepth));
        depths[i] = 1;
      }
    }
    nodes.push_back(n);
  }
  pool.assign(std::move(nodes), std::move(symbols));
}

std::vector<SegmentInfo> read_segments(IndexReader& reader) {
  const auto* rows = reader.root()->segments();
  std::vector<SegmentInfo> segments(reader.count(rows));
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const auto* row = rows->Get(static_cast<flatbuffers::uoffset_t>(i));
    SegmentInfo& s = segments[i];
    s = {row->offset(),
         row->stored_size(),
         row->size(),
         row->alignment(),
         row->codec() == archive::Codec::zstd,
         row->codec() <= archive::Codec::zstd,
         {row->hash_low(), row->hash_high()},
         row->frame_size(),
         {},
         reader.offset_of(row)};
    const std::size_t frames = reader.count(row->frames());
    if (frames > 0) s.frames.assign(row->frames()->begin(), row->frames()->end());
    const auto wrong = [&](const char* rule, std::string message, ErrorCode code = ErrorCode::bad_file) {
      reader.findings().add(rule, s.table_offset, fmt::format("segment {}", i), std::move(message), code);
    };
    if (!s.known_codec) {
      wrong("segments.codec", fmt::format("codec {} is not known to this version", static_cast<int>(row->codec())),
            ErrorCode::unsupported);
    }
    if (s.alignment < kSegmentAlignment || s.alignment > (1u << 21) || (s.alignment & (s.alignment - 1)) != 0) {
      wrong("segments.alignment", fmt::format("its alignment {} is not a power of two from {} to {}", s.alignment,
                                              kSegmentAlignment, 1 << 21));
      s.alignment = kSegmentAlignment;
    }
    if (s.size == 0 || s.stored_size == 0) wrong("segments.size", "it is empty");
    if (!s.compressed) {
      if (s.known_codec && s.size != s.stored_size) {
        wrong("segments.size", fmt::format("it is not compressed, but has {} bytes in {}", s.size, s.stored_size));
      }
      continue;
    }
    if (s.frame_size == 0 || s.frame_size > kMaxFrameSize) {
      wrong("segments.frames", fmt::format("frames of {} bytes; at most {} are allowed", s.frame_size, kMaxFrameSize));
      continue;
    }
    const std::uint64_t expected = s.size / s.frame_size + (s.size % s.frame_size != 0 ? 1 : 0);
    std::uint64_t sum = 0;
    for (std::uint32_t frame : s.frames) sum += frame;
    if (s.frames.size() != expected || sum != s.stored_size) {
      wrong("segments.frames", fmt::format("it has {} frames of {} bytes in total, but declares {} of {}",
                                           s.frames.size(), sum, expected, s.stored_size));
    }
  }
  return segments;
}

std::vector<std::int32_t> read_storages(IndexReader& reader, Program& program) {
  const auto* rows = reader.root()->storages();
  std::vector<std::int32_t> segments;
  const std::size_t n = reader.count(rows);
  segments.reserve(n);
  program.storages.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto* row = rows->Get(static_cast<flatbuffers::uoffset_t>(i));
    program.storages.push_back({row->size()});
    segments.push_back(row->segment());
  }
  return segments;
}

void read_states(IndexReader& reader, Program& program) {
  const auto* rows = reader.root()->states();
  const std::size_t n = reader.count(rows);
  reader.expand(n * sizeof(State));
  program.states.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto* row = rows->Get(static_cast<flatbuffers::uoffset_t>(i));
    State s;
    s.name = reader.name(row->name(), row);
    s.kind = static_cast<State::Kind>(row->kind());
    s.type = reader.type(row->type(), row);
    s.storage = row->storage();
    if (reader.count(row->strides()) > 0) s.strides.assign(row->strides()->begin(), row->strides()->end());
    s.offset = row->offset();
    s.is_mutable = row->is_mutable();
    s.persistent = row->persistent();
    s.tied = row->tied();
    if (row->kind() > archive::StateKind::constant) {
      reader.findings().add("states.kind", reader.offset_of(row), fmt::format("state '{}'", s.name),
                            fmt::format("kind {} is not known to this version", static_cast<int>(row->kind())),
                            ErrorCode::unsupported);
      s.kind = State::Kind::constant;
    }
    program.states.push_back(std::move(s));
  }
}

void read_packings(IndexReader& reader, Program& program) {
  const auto* rows = reader.root()->packings();
  const std::size_t n = reader.count(rows);
  reader.expand(n * sizeof(Packing));
  program.packings.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto* row = rows->Get(static_cast<flatbuffers::uoffset_t>(i));
    const std::size_t storages = program.storages.size();
    if (row->storage() >= storages || row->packed() >= storages || row->storage() == row->packed()) {
      reader.findings().add("packings.storage", reader.offset_of(row), fmt::format("packing {}", i),
                            fmt::format("storages {} and {} must be different and among the {} that exist",
                                        row->storage(), row->packed(), storages));
      continue;
    }
    program.packings.push_back({row->storage(), reader.text(row->key(), row), row->packed()});
  }
}

void read_origins(IndexReader& reader, Program& program) {
  const auto* rows = reader.root()->origins();
  const std::size_t n = reader.count(rows);
  reader.expand(n * sizeof(Origin));
  program.origins.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    const archive::Origin& row = *rows->Get(static_cast<flatbuffers::uoffset_t>(i));
    program.origins.push_back(
        {reader.name(row.op(), &row), reader.name(row.module_(), &row), reader.name(row.source(), &row)});
  }
  const auto* pairs = reader.root()->metadata();
  const std::size_t m = reader.count(pairs);
  reader.expand(m * sizeof(program.metadata[0]));
  program.metadata.reserve(m);
  for (std::size_t i = 0; i < m; ++i) {
    const archive::Metadata& row = *pairs->Get(static_cast<flatbuffers::uoffset_t>(i));
    program.metadata.emplace_back(reader.name(row.key(), &row), reader.text(row.value(), &row));
  }
}

}  // namespace tern
