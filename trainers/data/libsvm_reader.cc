#include "trainers/data/libsvm_reader.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "trainers/data/cell.h"
#include "trainers/data/groups.h"
#include "trainers/data/libsvm_part.h"
#include "trainers/data/parallel.h"
#include "trainers/data/table_facts.h"
#include "trainers/data/text_stream.h"

namespace winnow {
namespace {

constexpr int64_t kMaxCells = int64_t{1} << 31;  // 8 GiB of floats
constexpr size_t kPartBytes = 1 << 20;
constexpr size_t kPartsOfWindow = 8;  // for each thread

absl::Status CheckOptions(const std::string& path, const DataOptions& options) {
  const auto refuse = [&](const char* name, const std::string& value, const char* why) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {} is \"{}\", but the file is LIBSVM: {}", path, name, value, why));
  };
  if (!options.label.empty())
    return refuse("label", options.label, "its label stands first; leave label empty");
  if (!options.weight.empty())
    return refuse("weight", options.weight, "write label:weight, and leave weight empty");
  if (!options.group.empty())
    return refuse("group", options.group, "write qid:ID behind the label, and leave group empty");
  return absl::OkStatus();
}

// A LIBSVM table, part by part in order.
class LibsvmTable {
 public:
  absl::Status AddFile(const std::string& path, int threads);

  TableFacts Facts() const {
    TableFacts facts;
    facts.rows = rows_;
    facts.weighted = weighted();
    facts.grouped = grouped();
    if (facts.grouped) {
      facts.first_group = groups_.front().id;
      facts.last_group = groups_.back().id;
    }
    for (const auto& part : parts_) {
      facts.smallest = std::min(facts.smallest, part->smallest());
      facts.largest = std::max(facts.largest, part->largest());
    }
    return facts;
  }
  const std::vector<GroupStart>& groups() const { return groups_; }
  // Sets all but the schema. The column of feature `index` is column_of[index].
  void MoveTo(const std::unordered_map<int64_t, size_t>& column_of, int threads, DataSet* data);

 private:
  bool weighted() const { return !parts_.empty() && !parts_.front()->weight().empty(); }
  bool grouped() const { return !groups_.empty(); }
  absl::Status AddParts(std::vector<std::unique_ptr<LibsvmPart>> parts, const std::string& path,
                        int64_t* lines);

  std::vector<std::unique_ptr<LibsvmPart>> parts_;  // those with rows
  std::vector<int64_t> first_rows_;                 // [part]
  std::vector<GroupStart> groups_;
  int64_t rows_ = 0;
};

absl::Status LibsvmTable::AddFile(const std::string& path, int threads) {
  const size_t window_bytes = kPartsOfWindow * kPartBytes * static_cast<size_t>(std::max(threads, 1));
  absl::StatusOr<TextStream> stream = TextStream::Open(path, window_bytes, threads);
  if (!stream.ok()) return stream.status();
  int64_t lines = 0;
  for (;;) {
    const std::string_view text = stream->window().bytes;
    std::vector<size_t> cuts = {0};
    while (cuts.back() + kPartBytes < text.size()) {
      const size_t line_end = text.find('\n', cuts.back() + kPartBytes);
      if (line_end == std::string_view::npos) break;
      cuts.push_back(line_end + 1);
    }
    if (stream->at_end() && cuts.back() < text.size()) cuts.push_back(text.size());
    std::vector<std::unique_ptr<LibsvmPart>> parts(cuts.size() - 1);
    ParallelFor(threads, parts.size(), [&](size_t i) {
      parts[i] = std::make_unique<LibsvmPart>(stream->window(), cuts[i], cuts[i + 1]);
    });
    if (absl::Status status = AddParts(std::move(parts), path, &lines); !status.ok()) return status;
    if (stream->at_end()) return absl::OkStatus();
    const absl::Status status = cuts.size() == 1 ? stream->Grow() : stream->Advance(cuts.back());
    if (!status.ok()) return status;
  }
}

// *lines: in, the lines of the file before the parts; out, those before the text that follows them.
absl::Status LibsvmTable::AddParts(std::vector<std::unique_ptr<LibsvmPart>> parts, const std::string& path,
                                   int64_t* lines) {
  for (std::unique_ptr<LibsvmPart>& part : parts) {
    const auto error = [&](int64_t line, std::string_view what) {
      return absl::InvalidArgumentError(fmt::format("{}:{}: {}", path, *lines + line, what));
    };
    // Its rows agree with each other, and must agree with those before.
    const bool has_weight = !part->weight().empty(), has_group = !part->groups().empty();
    if (part->rows() > 0 && rows_ > 0 && has_weight != weighted()) {
      return error(
          part->first_line(),
          fmt::format("a row {} weight after rows {} one; expected label:weight in every row or in none",
                      has_weight ? "with a" : "without a", has_weight ? "without" : "with"));
    }
    if (part->rows() > 0 && rows_ > 0 && has_group != grouped()) {
      return error(
          part->first_line(),
          fmt::format("a row {} a qid after rows {} one; expected label qid:ID in every row or in none",
                      has_group ? "with" : "without", has_group ? "without" : "with"));
    }
    if (part->error()) return error(part->error()->line, part->error()->what);
    for (const LibsvmPart::Group& group : part->groups())
      groups_.push_back({group.id, rows_ + group.row, {&path, *lines + group.line}});
    *lines += part->lines();
    if (part->rows() == 0) continue;
    first_rows_.push_back(rows_);
    rows_ += part->rows();
    parts_.push_back(std::move(part));
  }
  return absl::OkStatus();
}

void LibsvmTable::MoveTo(const std::unordered_map<int64_t, size_t>& column_of, int threads, DataSet* data) {
  const auto rows = static_cast<size_t>(rows_);
  data->rows = rows_;
  data->categorical.assign(column_of.size(), false);
  data->columns.resize(column_of.size());
  ParallelFor(threads, column_of.size(), [&](size_t column) {
    data->columns[column].assign(rows, std::numeric_limits<float>::quiet_NaN());
  });
  data->label.resize(rows);
  if (weighted()) data->weight.resize(rows);
  ParallelFor(threads, parts_.size(), [&](size_t i) {
    std::unique_ptr<LibsvmPart>& part = parts_[i];
    const auto first_row = static_cast<size_t>(first_rows_[i]);
    std::copy(part->label().begin(), part->label().end(), data->label.begin() + first_rows_[i]);
    std::copy(part->weight().begin(), part->weight().end(), data->weight.begin() + first_rows_[i]);
    size_t at = 0;
    for (size_t row = 0; row < part->row_ends().size(); ++row) {
      for (; at < part->row_ends()[row]; ++at) {
        const auto found = column_of.find(part->entries()[at].index);
        if (found != column_of.end())
          data->columns[found->second][first_row + row] = part->entries()[at].value;
      }
    }
    part.reset();
  });
  parts_.clear();
}

}  // namespace

bool LooksLikeLibsvm(const SourceFile& file) {
  std::string_view name = file.path;
  if (name.ends_with(".gz")) name.remove_suffix(3);
  for (const std::string_view suffix : {".libsvm", ".svm", ".svmlight"}) {
    if (name.ends_with(suffix)) return true;
  }
  // The tokens of the first line that has one.
  std::vector<std::string_view> tokens;
  for (size_t at = 0; at < file.bytes.size() && tokens.empty();) {
    const size_t end = std::min(file.bytes.find_first_of("\r\n", at), file.bytes.size());
    std::string_view line = file.bytes.substr(at, end - at);
    line = line.substr(0, line.find('#'));
    at = end + 1;
    while (!(line = TrimBlanks(line)).empty()) {
      tokens.push_back(line.substr(0, line.find_first_of(" \t")));
      line.remove_prefix(tokens.back().size());
    }
  }
  if (tokens.empty() || !FiniteNumber(tokens[0].substr(0, tokens[0].find(':')))) return false;
  const size_t first = tokens.size() > 1 && tokens[1].starts_with("qid:") ? 2 : 1;
  return tokens.size() > first &&
         std::all_of(tokens.begin() + static_cast<std::ptrdiff_t>(first), tokens.end(),
                     [](std::string_view token) { return IsLibsvmEntry(token); });
}

absl::StatusOr<DataSet> ReadLibsvm(const std::vector<std::string>& paths, const PartReading& reading) {
  const std::string& path = paths.front();
  const DataOptions& options = reading.options;
  const DataSchema* const like = reading.like;
  if (absl::Status status = CheckOptions(path, options); !status.ok()) return status;
  LibsvmTable table;
  for (const std::string& each : paths) {
    if (absl::Status status = table.AddFile(each, reading.threads); !status.ok()) return status;
  }
  const absl::StatusOr<TableFacts> all =
      AgreeOnFacts(reading.path, table.Facts(), reading.rank, reading.exchange);
  if (!all.ok()) return all.status();
  if (all->rows == 0) {
    return absl::InvalidArgumentError(
        fmt::format("{}: the file is empty; expected lines of label index:value", path));
  }
  DataSet data;
  data.first_row = all->first_row;
  if (like != nullptr) {
    data.schema = *like;
  } else {
    if (all->largest < 0) {
      return absl::InvalidArgumentError(
          fmt::format("{}: no row has an index:value entry; expected some", path));
    }
    const int64_t first = std::min<int64_t>(all->smallest, 1);
    const int64_t cells = (all->largest - first + 1) * all->rows;
    if (cells > kMaxCells) {
      return absl::InvalidArgumentError(fmt::format(
          "{}: the largest index is {}, and {} rows of so many features need {} GiB; expected at most 8 "
          "GiB: number the features from 1 without gaps",
          path, all->largest, all->rows, cells >> 28));
    }
    for (int64_t index = first; index <= all->largest; ++index) {
      std::string name = fmt::format("f{}", index);
      const bool dropped = std::find(options.drop.begin(), options.drop.end(), name) != options.drop.end();
      if (!dropped) data.schema.columns.push_back({std::move(name), false, {}});
    }
  }
  std::unordered_map<int64_t, size_t> column_of;
  for (size_t i = 0; i < data.schema.columns.size(); ++i) {
    const ColumnSchema& column = data.schema.columns[i];
    const std::optional<int64_t> index =
        column.name.starts_with("f") ? LibsvmIndex(std::string_view(column.name).substr(1)) : std::nullopt;
    if (!index || column.text) {
      return absl::InvalidArgumentError(
          fmt::format("{}: the training data has a column \"{}\", which a LIBSVM file cannot hold; expected "
                      "the format of the "
                      "training data",
                      path, column.name));
    }
    column_of.emplace(*index, i);
    data.feature_names.push_back(column.name);
  }
  if (column_of.empty()) {
    return absl::InvalidArgumentError(fmt::format("{}: drop leaves no feature; expected at least one", path));
  }
  table.MoveTo(column_of, reading.threads, &data);
  if (!table.groups().empty()) {
    absl::StatusOr<std::vector<int64_t>> begins = GroupBegins(table.groups(), data.rows);
    if (!begins.ok()) return begins.status();
    data.group_begin = *std::move(begins);
    if (absl::Status status = WeighGroups(path, data.group_begin, &data.weight); !status.ok()) return status;
  }
  return data;
}

}  // namespace winnow
