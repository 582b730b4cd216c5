#include "trainers/mlp/data/raw_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>

#include "trainers/data/cache/byte_codec.h"
#include "trainers/data/file_source.h"
#include "trainers/data/idx_reader.h"
#include "trainers/data/part_reading.h"
#include "trainers/data/reader.h"
#include "trainers/data/shard.h"
#include "trainers/data/split.h"

namespace winnow::mlp {
namespace {

std::string FeatureName(const FeatureSchema& schema, std::size_t feature) {
  if (feature < schema.names.size()) return fmt::format("feature {}", schema.names[feature]);
  if (schema.image_columns == 0) return fmt::format("feature {}", feature + 1);
  const auto columns = static_cast<std::size_t>(schema.image_columns);
  return fmt::format("the pixel of row {}, column {}", feature / columns + 1, feature % columns + 1);
}

absl::Status CheckFinite(const std::string& path, const FeatureSchema& schema,
                         const std::vector<float>& values, bool may_be_missing) {
  const auto features = static_cast<std::size_t>(schema.features);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i]) || (may_be_missing && std::isnan(values[i]))) continue;
    return absl::InvalidArgumentError(fmt::format("{}: data row {}: {} is {}: expected a finite number{}",
                                                  path, i / features + 1, FeatureName(schema, i % features),
                                                  values[i], may_be_missing ? " or a missing value" : ""));
  }
  return absl::OkStatus();
}

bool IsIdxSchema(const FeatureSchema& schema) { return schema.table.columns.empty(); }

absl::StatusOr<std::vector<IdxFiles>> IdxFilesOf(const std::string& path, const DataOptions& reading,
                                                 Communicator* ranks, bool label_may_be_absent) {
  absl::StatusOr<std::vector<IdxFiles>> files = FindIdxFiles(path, reading, label_may_be_absent);
  if (!files.ok() || ranks == nullptr) return files;
  const auto count = static_cast<int64_t>(files->size());
  if (count < ranks->size()) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: {} files of images for {} ranks: expected at least one for each, as its rows are to be sharded "
        "by file",
        path, count, ranks->size()));
  }
  const auto [begin, end] = RowRange(count, ranks->rank(), ranks->size());
  return std::vector<IdxFiles>(files->begin() + begin, files->begin() + end);
}

absl::Status CheckIdxOptions(const std::string& path, const DataOptions& reading) {
  const std::pair<const char*, bool> given[] = {{"weight", !reading.weight.empty()},
                                                {"group", !reading.group.empty()},
                                                {"drop", !reading.drop.empty()}};
  for (const auto& [name, is_given] : given) {
    if (is_given)
      return absl::InvalidArgumentError(fmt::format(
          "{}: the option {} is given: expected it with tables alone, not with IDX files", path, name));
  }
  return absl::OkStatus();
}

std::string ShapeOf(const FeatureSchema& schema) {
  const char* const kind = schema.of_bytes ? "bytes" : "numbers that are not bytes";
  if (schema.image_rows == 0) return fmt::format("{} features, {}", schema.features, kind);
  return fmt::format("images of {} x {}, {}", schema.image_rows, schema.image_columns, kind);
}

absl::StatusOr<FeatureSchema> SchemaOf(const std::string& path, const IdxArray& array) {
  if (array.shape.size() < 2)
    return absl::InvalidArgumentError(
        path + ": has one dimension, as labels have: expected two or more, rows and their features");
  if (array.row_size() > std::numeric_limits<int>::max())
    return absl::InvalidArgumentError(
        fmt::format("{}: {} features: expected fewer than 2^31", path, array.row_size()));
  FeatureSchema schema;
  schema.features = static_cast<int>(array.row_size());
  schema.of_bytes = array.type == IdxType::kByte;
  schema.of_bytes = array.type == IdxType::kByte;
  if (array.shape.size() == 3) {
    schema.image_rows = static_cast<int>(array.shape[1]);
    schema.image_columns = static_cast<int>(array.shape[2]);
  }
  return schema;
}

absl::StatusOr<std::vector<float>> ReadIdxLabels(const IdxFiles& files, int64_t rows, int threads) {
  const absl::StatusOr<IdxArray> array = ReadIdx(files.labels, threads);
  if (!array.ok()) return array.status();
  if (array->shape.size() != 1)
    return absl::InvalidArgumentError(fmt::format("{}: has {} dimensions: expected one, as labels have",
                                                  files.labels, array->shape.size()));
  if (array->rows() != rows)
    return absl::InvalidArgumentError(fmt::format("{}: {} labels: expected {}, one for each row of {}",
                                                  files.labels, array->rows(), rows, files.features));
  return IdxNumbers(*array);
}

// Adds one file's rows. *rows is empty, or has rows of *schema.
absl::Status AppendIdx(const IdxFiles& files, const RowShare& share, FeatureSchema* schema, RawRows* rows) {
  absl::StatusOr<IdxArray> array = ReadIdx(files.features, share.threads);
  if (!array.ok()) return array.status();
  const absl::StatusOr<FeatureSchema> own = SchemaOf(files.features, *array);
  if (!own.ok()) return own.status();
  if (schema->features == 0) *schema = *own;
  if (own->features != schema->features || own->image_rows != schema->image_rows ||
      own->image_columns != schema->image_columns || own->of_bytes != schema->of_bytes) {
    return absl::InvalidArgumentError(fmt::format("{}: {}: expected {}, as in the other files",
                                                  files.features, ShapeOf(*own), ShapeOf(*schema)));
  }
  rows->features = schema->features;
  rows->of_bytes = schema->of_bytes;
  const int64_t count = array->rows();
  if (rows->of_bytes) {
    if (rows->rows == 0)
      rows->bytes = std::move(array->bytes);
    else
      rows->bytes.insert(rows->bytes.end(), array->bytes.begin(), array->bytes.end());
  } else {
    const std::vector<float> values = IdxNumbers(*array);
    if (absl::Status status = CheckFinite(files.features, *schema, values, false); !status.ok())
      return status;
    rows->values.insert(rows->values.end(), values.begin(), values.end());
  }
  if (!files.labels.empty()) {
    const absl::StatusOr<std::vector<float>> label = ReadIdxLabels(files, count, share.threads);
    if (!label.ok()) return label.status();
    rows->label.insert(rows->label.end(), label->begin(), label->end());
  }
  rows->rows += count;
  return absl::OkStatus();
}

absl::StatusOr<RawRows> ReadIdxRows(const std::string& path, const DataOptions& reading,
                                    const RowShare& share, FeatureSchema* schema) {
  if (absl::Status status = CheckIdxOptions(path, reading); !status.ok()) return status;
  const absl::StatusOr<std::vector<IdxFiles>> files =
      IdxFilesOf(path, reading, share.ranks, share.label_may_be_absent);
  if (!files.ok()) return files.status();
  RawRows rows;
  for (const IdxFiles& one : *files) {
    if (absl::Status status = AppendIdx(one, share, schema, &rows); !status.ok()) return status;
  }
  // Data to predict of which only some files have labels.
  if (static_cast<int64_t>(rows.label.size()) != rows.rows) rows.label.clear();
  return rows;
}

absl::StatusOr<bool> IsLibsvm(const std::string& path, const DataOptions& reading) {
  if (reading.format != "auto") return reading.format == "libsvm";
  const absl::StatusOr<std::vector<std::string>> files = ListFiles(path);
  if (!files.ok()) return files.status();
  const absl::StatusOr<SourceFile> head = ReadTextHead(files->front());
  if (!head.ok()) return head.status();
  return LooksLikeLibsvm(*head);
}

// `label`: its column, as requested.
absl::Status CheckTable(const std::string& path, const DataSet& data, const std::string& label,
                        const RowShare& share) {
  if (!data.group_begin.empty())
    return absl::InvalidArgumentError(
        path + ": the rows are divided into groups: expected none, as winnow-mlp does not rank");
  if (data.columns.empty()) return absl::InvalidArgumentError(path + ": there are no feature columns");
  if (!share.label_may_be_absent && static_cast<int64_t>(data.label.size()) != data.rows)
    return absl::InvalidArgumentError(path + ": the data has no label column" +
                                      (label.empty() ? "" : " \"" + label + "\""));
  return absl::OkStatus();
}

absl::StatusOr<RawRows> ReadTableRows(const std::string& path, const DataOptions& reading,
                                      const FeatureSchema* like, const RowShare& share,
                                      FeatureSchema* schema) {
  if (reading.categorical)
    return absl::InvalidArgumentError(
        path +
        ": categorical is true: expected false, as a network takes texts as a 0/1 column for each level");
  const DataSchema* const table = like != nullptr ? &like->table : nullptr;
  absl::StatusOr<DataSet> data = absl::UnknownError("");
  if (share.ranks == nullptr) {
    data = ReadDataSet(path, reading, table, share.threads);
  } else {
    Communicator& ranks = *share.ranks;
    const Exchange exchange = [&](std::string_view mine) { return ranks.AllGather(mine); };
    data = ReadShard(path, reading, table, ranks.rank(), ranks.size(), exchange, share.threads);
  }
  if (!data.ok()) return data.status();
  if (absl::Status status = CheckTable(path, *data, reading.label, share); !status.ok()) return status;
  const absl::StatusOr<bool> absent_is_zero = IsLibsvm(path, reading);
  if (!absent_is_zero.ok()) return absent_is_zero.status();
  if (like == nullptr) {
    schema->names = data->feature_names;
    schema->table = data->schema;
    schema->label_levels = data->schema.label_levels;
    schema->features = static_cast<int>(data->columns.size());
  }
  RawRows rows;
  rows.rows = data->rows;
  rows.features = schema->features;
  rows.label = std::move(data->label);
  rows.weight = std::move(data->weight);
  const auto features = static_cast<std::size_t>(rows.features);
  if (data->columns.size() != features)
    return absl::InvalidArgumentError(
        fmt::format("{}: {} feature columns: expected {}, as in the training data", path,
                    data->columns.size(), features));
  rows.values.resize(static_cast<std::size_t>(rows.rows) * features);
  for (std::size_t f = 0; f < features; ++f) {
    const std::vector<float> column = std::move(data->columns[f]);  // freed after the copy
    for (std::size_t i = 0; i < column.size(); ++i)
      rows.values[i * features + f] = *absent_is_zero && std::isnan(column[i]) ? 0 : column[i];
  }
  if (absl::Status status = CheckFinite(path, *schema, rows.values, true); !status.ok()) return status;
  return rows;
}

}  // namespace

absl::StatusOr<RawRows> ReadRawRows(const std::string& path, const DataOptions& reading,
                                    const FeatureSchema* like, const RowShare& share, FeatureSchema* schema) {
  FeatureSchema as_like;
  if (like != nullptr) as_like = *like;
  FeatureSchema* const of_rows = like != nullptr ? &as_like : schema;
  const bool idx = IsIdxChannel(path, reading);
  if (like != nullptr && idx != IsIdxSchema(*like)) {
    return absl::InvalidArgumentError(fmt::format("{}: {}: expected {}, as the training data are", path,
                                                  idx ? "an IDX file" : "a table",
                                                  idx ? "a table" : "IDX files of " + ShapeOf(*like)));
  }
  return idx ? ReadIdxRows(path, reading, share, of_rows)
             : ReadTableRows(path, reading, like, share, of_rows);
}

absl::StatusOr<std::vector<std::string>> FilesOfChannel(const std::string& path, const DataOptions& reading,
                                                        Communicator* ranks) {
  if (!IsIdxChannel(path, reading))
    return ranks == nullptr ? ListFiles(path) : ShardFiles(path, ranks->rank(), ranks->size());
  const absl::StatusOr<std::vector<IdxFiles>> files = IdxFilesOf(path, reading, ranks, false);
  if (!files.ok()) return files.status();
  std::vector<std::string> paths;
  for (const IdxFiles& one : *files) paths.insert(paths.end(), {one.features, one.labels});
  return paths;
}

namespace {

// Bytes of one rank's rows per round, so that not all are in memory twice.
constexpr std::size_t kRoundBytes = 16 << 20;

struct RankRows {
  uint64_t rows = 0, features = 0, image_rows = 0, of_bytes = 0, labels = 0, weights = 0;
  bool GoesWith(const RankRows& other) const {
    return features == other.features && image_rows == other.image_rows && of_bytes == other.of_bytes;
  }
  std::string Shape() const {
    const std::string images = image_rows > 0 ? fmt::format(" in {} rows of images", image_rows) : "";
    return fmt::format("{} features{}, {}", features, images, of_bytes != 0 ? "bytes" : "numbers");
  }
};

absl::StatusOr<std::vector<RankRows>> GatherCounts(const FeatureSchema& schema, const RawRows& mine,
                                                   Communicator* ranks) {
  ByteWriter writer;
  writer.Number(static_cast<uint64_t>(mine.rows));
  writer.Number(static_cast<uint64_t>(mine.features));
  writer.Number(static_cast<uint64_t>(schema.image_rows));
  writer.Number(mine.of_bytes);
  writer.Number(mine.label.size());
  writer.Number(mine.weight.size());
  const auto all = ranks->AllGather(writer.bytes());
  if (!all.ok()) return all.status();
  std::vector<RankRows> counts;
  for (const std::string& one : *all) {
    ByteReader reader(one);
    RankRows& read = counts.emplace_back();
    for (uint64_t* number :
         {&read.rows, &read.features, &read.image_rows, &read.of_bytes, &read.labels, &read.weights})
      *number = reader.Number();
    if (!reader.ok() || !reader.rest().empty())
      return absl::DataLossError(fmt::format("rank {}: counts of rows cannot be read", counts.size() - 1));
  }
  return counts;
}

// *array becomes all ranks' arrays, of counts[rank] elements, concatenated.
template <typename T>
absl::Status GatherArray(const std::vector<uint64_t>& counts, Communicator* ranks, std::vector<T>* array) {
  const std::vector<T> mine = std::move(*array);
  const std::string_view bytes(reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(T));
  array->assign(std::accumulate(counts.begin(), counts.end(), uint64_t{0}), T());
  const std::size_t longest = *std::max_element(counts.begin(), counts.end()) * sizeof(T);
  for (std::size_t at = 0; at < longest; at += kRoundBytes) {
    const auto round = ranks->AllGather(bytes.substr(std::min(at, bytes.size()), kRoundBytes));
    if (!round.ok()) return round.status();
    char* to = reinterpret_cast<char*>(array->data());
    for (std::size_t rank = 0; rank < counts.size(); to += counts[rank++] * sizeof(T)) {
      const std::size_t whole = counts[rank] * sizeof(T), begin = std::min(at, whole);
      const std::string& part = (*round)[rank];
      if (part.size() != std::min(kRoundBytes, whole - begin))
        return absl::DataLossError(fmt::format("rank {}: {} bytes of rows: expected {}", rank, part.size(),
                                               std::min(kRoundBytes, whole - begin)));
      if (!part.empty()) std::memcpy(to + begin, part.data(), part.size());
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RawRows> GatherRows(const std::string& path, const FeatureSchema& schema, RawRows mine,
                                   Communicator* ranks) {
  const absl::StatusOr<std::vector<RankRows>> counts = GatherCounts(schema, mine, ranks);
  if (!counts.ok()) return counts.status();
  RawRows all = std::move(mine);
  all.rows = 0;
  std::vector<uint64_t> cells, labels, weights;
  for (std::size_t rank = 0; rank < counts->size(); ++rank) {
    const RankRows& one = (*counts)[rank];
    if (!one.GoesWith((*counts)[0])) {
      return absl::InvalidArgumentError(fmt::format("{}: rank {}'s files have {}: expected {}, as rank 0's",
                                                    path, rank, one.Shape(), (*counts)[0].Shape()));
    }
    all.rows += static_cast<int64_t>(one.rows);
    cells.push_back(one.rows * one.features);
    labels.push_back(one.labels);
    weights.push_back(one.weights);
  }
  absl::Status status =
      all.of_bytes ? GatherArray(cells, ranks, &all.bytes) : GatherArray(cells, ranks, &all.values);
  if (status.ok()) status = GatherArray(labels, ranks, &all.label);
  if (status.ok()) status = GatherArray(weights, ranks, &all.weight);
  if (!status.ok()) return status;
  for (const auto& [name, size] :
       {std::pair("labels", all.label.size()), std::pair("weights", all.weight.size())}) {
    if (size != 0 && static_cast<int64_t>(size) != all.rows)
      return absl::InvalidArgumentError(fmt::format(
          "{}: {} {} for {} rows of all ranks: expected one for each", path, size, name, all.rows));
  }
  return all;
}

namespace {

constexpr double kLargestByte = 255;

// 1 for constant values, or a variance below the range of float.
float DeviationOf(double variance) {
  const auto deviation = static_cast<float>(std::sqrt(variance));
  return std::isnormal(deviation) ? deviation : 1;
}

// Sums are exact, so that only the last steps round.
FeatureScaling ScalingOfBytes(const std::vector<uint8_t>& bytes) {
  uint64_t sum = 0, squares = 0;
  for (const uint8_t byte : bytes) {
    sum += byte;
    squares += uint64_t{byte} * byte;
  }
  using Wide = unsigned __int128;
  const Wide count = bytes.size();
  const auto n = static_cast<double>(bytes.size());
  const auto spread = static_cast<double>(count * squares - Wide{sum} * sum);
  FeatureScaling scaling;
  scaling.mean = {static_cast<float>(static_cast<double>(sum) / n / kLargestByte)};
  scaling.deviation = {DeviationOf(spread / n / n / (kLargestByte * kLargestByte))};
  return scaling;
}

// Returns means and deviations of `columns` interleaved columns, each summed in row order.
FeatureScaling ScalingOfValues(const std::vector<float>& values, std::size_t columns) {
  std::vector<double> sum(columns), squares(columns);
  std::vector<int64_t> count(columns);
  std::vector<float> least(columns, std::numeric_limits<float>::infinity()), most(columns, -least[0]);
  for (std::size_t i = 0, c = 0; i < values.size(); ++i, c = c + 1 == columns ? 0 : c + 1) {
    if (std::isnan(values[i])) continue;
    sum[c] += static_cast<double>(values[i]);
    ++count[c];
    least[c] = std::min(least[c], values[i]);
    most[c] = std::max(most[c], values[i]);
  }
  for (std::size_t c = 0; c < columns; ++c)
    sum[c] = count[c] > 0 ? sum[c] / static_cast<double>(count[c]) : 0;
  for (std::size_t i = 0, c = 0; i < values.size(); ++i, c = c + 1 == columns ? 0 : c + 1) {
    if (std::isnan(values[i])) continue;
    const double away = static_cast<double>(values[i]) - sum[c];
    squares[c] += away * away;
  }
  FeatureScaling scaling;
  for (std::size_t c = 0; c < columns; ++c) {
    const bool varies = count[c] > 0 && least[c] < most[c];
    scaling.mean.push_back(static_cast<float>(sum[c]));
    scaling.deviation.push_back(varies ? DeviationOf(squares[c] / static_cast<double>(count[c])) : 1);
  }
  return scaling;
}

// Returns the rows of `all` with the numbers in `rows`.
RawRows RowsOf(const RawRows& all, const std::vector<int64_t>& rows) {
  RawRows part;
  part.rows = static_cast<int64_t>(rows.size());
  part.features = all.features;
  part.of_bytes = all.of_bytes;
  const auto copy = [&](const auto& from, auto* to, int64_t width) {
    if (from.empty()) return;
    to->reserve(rows.size() * static_cast<std::size_t>(width));
    for (const int64_t row : rows)
      to->insert(to->end(), from.begin() + row * width, from.begin() + (row + 1) * width);
  };
  copy(all.bytes, &part.bytes, all.features);
  copy(all.values, &part.values, all.features);
  copy(all.label, &part.label, 1);
  copy(all.weight, &part.weight, 1);
  return part;
}

}  // namespace

absl::StatusOr<std::pair<RawRows, RawRows>> SplitRows(const RawRows& all, double validation_fraction,
                                                      uint64_t seed) {
  std::vector<int64_t> parts[2];
  for (int64_t row = 0; row < all.rows; ++row)
    parts[RowValidates(seed, row, validation_fraction)].push_back(row);
  if (parts[0].empty() || parts[1].empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "validation_fraction {} leaves {} of {} rows for validation; expected at least one row in each part",
        validation_fraction, parts[1].size(), all.rows));
  }
  return std::make_pair(RowsOf(all, parts[0]), RowsOf(all, parts[1]));
}

FeatureScaling ScalingOf(const RawRows& rows, const FeatureSchema& schema, bool standardise) {
  const std::size_t columns = schema.names.empty() ? 1 : schema.names.size();
  if (!standardise) return {std::vector<float>(columns, 0.0f), std::vector<float>(columns, 1.0f)};
  return rows.of_bytes ? ScalingOfBytes(rows.bytes) : ScalingOfValues(rows.values, columns);
}

absl::Status ScaleValues(const std::string& path, const FeatureSchema& schema, RawRows* rows) {
  const FeatureScaling& scaling = schema.scaling;
  const std::size_t columns = scaling.mean.size();
  for (std::size_t i = 0, c = 0; i < rows->values.size(); ++i, c = c + 1 == columns ? 0 : c + 1) {
    float& value = rows->values[i];
    if (std::isnan(value)) {
      value = 0;
      continue;
    }
    const double input = (static_cast<double>(value) - static_cast<double>(scaling.mean[c])) /
                         static_cast<double>(scaling.deviation[c]);
    if (std::abs(input) > static_cast<double>(std::numeric_limits<float>::max())) {
      const std::size_t feature = i % static_cast<std::size_t>(schema.features);
      return absl::InvalidArgumentError(fmt::format(
          "{}: data row {}: feature {} is {}, {} deviations of the training data from their mean: expected "
          "what a float can hold",
          path, i / static_cast<std::size_t>(schema.features) + 1,
          feature < schema.names.size() ? schema.names[feature] : std::to_string(feature + 1), value, input));
    }
    value = static_cast<float>(input);
  }
  return absl::OkStatus();
}

void SetByteScaling(const FeatureScaling& scaling, DenseData* data) {
  const auto mean = static_cast<double>(scaling.mean[0]),
             deviation = static_cast<double>(scaling.deviation[0]);
  data->byte_scale = static_cast<float>(1 / (kLargestByte * deviation));
  data->byte_shift = static_cast<float>(-mean / deviation);
}

}  // namespace winnow::mlp
