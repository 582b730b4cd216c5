#include "worker/data/libsvm_reader.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "worker/data/cell.h"
#include "worker/data/groups.h"

namespace winnow {
namespace {

constexpr int64_t kMaxIndex = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxCells = int64_t{1} << 31;  // 8 GiB of floats

// Takes what is before the next `end` off the front of *text, and that `end` too.
std::string_view TakeUntil(std::string_view* text, char end) {
  const size_t at = std::min(text->find(end), text->size());
  const std::string_view taken = text->substr(0, at);
  text->remove_prefix(std::min(at + 1, text->size()));
  return taken;
}

// Takes the next line, its comment and end removed.
std::string_view TakeLine(std::string_view* text) {
  const size_t end = std::min(text->find_first_of("\r\n"), text->size());
  std::string_view line = text->substr(0, end);
  const bool crlf = text->substr(end, 2) == "\r\n";
  text->remove_prefix(std::min(end + (crlf ? 2 : 1), text->size()));
  return TrimBlanks(TakeUntil(&line, '#'));
}

std::string_view TakeToken(std::string_view* line) {
  *line = TrimBlanks(*line);
  const size_t end = std::min(line->find_first_of(" \t"), line->size());
  const std::string_view token = line->substr(0, end);
  line->remove_prefix(end);
  return token;
}

std::optional<float> FiniteNumber(std::string_view text) {
  float value;
  return ParseCell(text, &value) == CellKind::kNumber ? std::optional<float>(value) : std::nullopt;
}

std::optional<int64_t> Index(std::string_view text) {
  int64_t index = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size() || index < 0 || index > kMaxIndex)
    return std::nullopt;
  return index;
}

bool IsPair(std::string_view token) {
  const std::string_view index = TakeUntil(&token, ':');
  return Index(index).has_value() && FiniteNumber(token).has_value();
}

class LibsvmParser {
 public:
  absl::Status ParseFile(const SourceFile& file) {
    path_ = &file.path;
    line_ = 0;
    std::string_view text = file.bytes;
    while (!text.empty()) {
      ++line_;
      const std::string_view line = TakeLine(&text);
      if (line.empty()) continue;
      if (absl::Status status = ParseLine(line); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  struct Entry {
    int64_t row;
    int32_t index;
    float value;
  };
  const std::vector<Entry>& entries() const { return entries_; }
  std::vector<float>& label() { return label_; }
  std::vector<float>& weight() { return weight_; }
  const std::vector<GroupStart>& group_starts() const { return group_starts_; }
  int64_t smallest() const { return smallest_; }
  int64_t largest() const { return largest_; }

 private:
  absl::Status Error(const std::string& what) const {
    return absl::InvalidArgumentError(fmt::format("{}:{}: {}", *path_, line_, what));
  }

  absl::Status ParseLine(std::string_view line) {
    std::string_view head = TakeToken(&line);
    const std::string whole(head);
    const std::string_view label_text = TakeUntil(&head, ':');
    const std::optional<float> label = FiniteNumber(label_text);
    if (!label)
      return Error(fmt::format("label \"{}\"; expected a number first on the line", Excerpt(label_text)));
    const bool weighted = whole.find(':') != std::string::npos;
    if (weighted) {
      const std::optional<float> weight = FiniteNumber(head);
      if (!weight || *weight < 0) {
        return Error(fmt::format("weight in \"{}\"; expected label:weight with a weight of 0 or more",
                                 Excerpt(whole)));
      }
      weight_.push_back(*weight);
    }
    label_.push_back(*label);
    if (!weight_.empty() && weight_.size() != label_.size()) {
      return Error(
          fmt::format("a row {} weight after rows {} one; expected label:weight in every row or in none",
                      weighted ? "with a" : "without a", weighted ? "without" : "with"));
    }
    if (absl::Status status = TakeGroup(&line); !status.ok()) return status;
    row_indices_.clear();
    while (!(line = TrimBlanks(line)).empty()) {
      if (absl::Status status = ParseEntry(TakeToken(&line)); !status.ok()) return status;
    }
    std::sort(row_indices_.begin(), row_indices_.end());
    const auto twice = std::adjacent_find(row_indices_.begin(), row_indices_.end());
    if (twice != row_indices_.end()) {
      return Error(fmt::format("index {} comes twice; expected each index once in a row", *twice));
    }
    return absl::OkStatus();
  }

  // Takes "qid:ID" off the front of *line if it stands there.
  absl::Status TakeGroup(std::string_view* line) {
    std::string_view rest = *line;
    std::string_view id = TakeToken(&rest);
    const bool grouped = id.starts_with("qid:");
    if (label_.size() > 1 && grouped == group_starts_.empty()) {
      return Error(
          fmt::format("a row {} a qid after rows {} one; expected label qid:ID in every row or in none",
                      grouped ? "with" : "without", grouped ? "without" : "with"));
    }
    if (!grouped) return absl::OkStatus();
    *line = rest;
    id.remove_prefix(4);
    if (id.empty() || id.find_first_not_of("0123456789") != std::string_view::npos)
      return Error(fmt::format("\"qid:{}\"; expected qid: and a whole number of 0 or more", Excerpt(id)));
    if (group_starts_.empty() || group_starts_.back().id != id)
      group_starts_.push_back({std::string(id), static_cast<int64_t>(label_.size()) - 1, {path_, line_}});
    return absl::OkStatus();
  }

  absl::Status ParseEntry(std::string_view token) {
    std::string_view value_text = token;
    const std::string_view index_text = TakeUntil(&value_text, ':');
    if (index_text == "qid") {
      return Error(
          fmt::format("\"{}\" after other entries; expected it once, behind the label", Excerpt(token)));
    }
    const std::optional<int64_t> index = Index(index_text);
    if (!index || token.find(':') == std::string_view::npos) {
      return Error(
          fmt::format("\"{}\"; expected index:value with a whole index of 0 or more", Excerpt(token)));
    }
    float value;
    const CellKind kind = ParseCell(value_text, &value);
    if (kind != CellKind::kNumber && (kind != CellKind::kMissing || value_text.empty())) {
      return Error(
          fmt::format("column \"f{}\": \"{}\"; expected a finite number", *index, Excerpt(value_text)));
    }
    row_indices_.push_back(static_cast<int32_t>(*index));
    smallest_ = std::min(smallest_, *index);
    largest_ = std::max(largest_, *index);
    entries_.push_back({static_cast<int64_t>(label_.size()) - 1, static_cast<int32_t>(*index), value});
    return absl::OkStatus();
  }

  const std::string* path_ = nullptr;
  int64_t line_ = 0;
  std::vector<Entry> entries_;
  std::vector<float> label_, weight_;
  std::vector<GroupStart> group_starts_;
  std::vector<int32_t> row_indices_;
  int64_t smallest_ = kMaxIndex, largest_ = -1;
};

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

}  // namespace

bool LooksLikeLibsvm(const SourceFile& file) {
  std::string_view name = file.path;
  if (name.ends_with(".gz")) name.remove_suffix(3);
  for (const std::string_view suffix : {".libsvm", ".svm", ".svmlight"}) {
    if (name.ends_with(suffix)) return true;
  }
  std::string_view text = file.bytes, line;
  while (!text.empty() && line.empty()) line = TakeLine(&text);
  std::string_view head = TakeToken(&line);
  if (!FiniteNumber(TakeUntil(&head, ':')).has_value()) return false;
  std::string_view token = TakeToken(&line);
  if (token.starts_with("qid:")) token = TakeToken(&line);
  if (token.empty()) return false;
  for (; !token.empty(); token = TakeToken(&line)) {
    if (!IsPair(token)) return false;
  }
  return true;
}

absl::StatusOr<DataSet> ReadLibsvm(const std::vector<SourceFile>& files, const PartReading& reading) {
  const std::string& path = files.front().path;
  const DataOptions& options = reading.options;
  const DataSchema* const like = reading.like;
  if (absl::Status status = CheckOptions(path, options); !status.ok()) return status;
  LibsvmParser parser;
  for (const SourceFile& file : files) {
    if (absl::Status status = parser.ParseFile(file); !status.ok()) return status;
  }
  DataSet data;
  data.rows = static_cast<int64_t>(parser.label().size());
  TableFacts mine;
  mine.rows = data.rows;
  mine.weighted = !parser.weight().empty();
  mine.grouped = !parser.group_starts().empty();
  if (mine.grouped) {
    mine.first_group = parser.group_starts().front().id;
    mine.last_group = parser.group_starts().back().id;
  }
  mine.smallest = parser.smallest();
  mine.largest = parser.largest();
  const absl::StatusOr<TableFacts> all = AgreeOnFacts(reading.path, mine, reading.rank, reading.exchange);
  if (!all.ok()) return all.status();
  data.first_row = all->first_row;
  if (all->rows == 0) {
    return absl::InvalidArgumentError(
        fmt::format("{}: the file is empty; expected lines of label index:value", path));
  }
  if (like != nullptr) {
    data.schema = *like;
  } else {
    if (all->largest < 0) {
      return absl::InvalidArgumentError(
          fmt::format("{}: no row has an index:value entry; expected some", path));
    }
    const int64_t first = std::min<int64_t>(all->smallest, 1);
    const int64_t cells = (all->largest - first + 1) * data.rows;
    if (cells > kMaxCells) {
      return absl::InvalidArgumentError(fmt::format(
          "{}: the largest index is {}, and {} rows of so many features need {} GiB; expected at most 8 "
          "GiB: number the features from 1 without gaps",
          path, all->largest, data.rows, cells >> 28));
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
        column.name.starts_with("f") ? Index(std::string_view(column.name).substr(1)) : std::nullopt;
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
  data.categorical.assign(column_of.size(), false);
  data.columns.assign(column_of.size(), std::vector<float>(static_cast<size_t>(data.rows),
                                                           std::numeric_limits<float>::quiet_NaN()));
  for (const LibsvmParser::Entry& entry : parser.entries()) {
    if (const auto found = column_of.find(entry.index); found != column_of.end()) {
      data.columns[found->second][static_cast<size_t>(entry.row)] = entry.value;
    }
  }
  data.label = std::move(parser.label());
  data.weight = std::move(parser.weight());
  if (!parser.group_starts().empty()) {
    absl::StatusOr<std::vector<int64_t>> begins = GroupBegins(parser.group_starts(), data.rows);
    if (!begins.ok()) return begins.status();
    data.group_begin = *std::move(begins);
    if (absl::Status status = WeighGroups(path, data.group_begin, &data.weight); !status.ok()) return status;
  }
  return data;
}

}  // namespace winnow
