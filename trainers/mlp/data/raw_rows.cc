#include "trainers/mlp/data/raw_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "trainers/data/file_source.h"
#include "trainers/data/idx_reader.h"
#include "trainers/data/libsvm_reader.h"
#include "trainers/data/reader.h"
#include "trainers/data/shard.h"

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
    return absl::InvalidArgumentError(fmt::format("{}: row {}: {} is {}: expected a finite number{}", path,
                                                  i / features + 1, FeatureName(schema, i % features),
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

}  // namespace winnow::mlp
