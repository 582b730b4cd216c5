#include "trainers/gbdt/training_data.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/hash.h"
#include "trainers/common/whole_numbers.h"
#include "trainers/data/shard.h"

namespace winnow::gbdt {
namespace {

// Rows with bins and targets in memory.
BinnedRows InMemory(DataSet data, BinMatrix matrix, int64_t all_rows) {
  auto owner = std::make_shared<DataSet>();
  owner->label = std::move(data.label);
  owner->weight = std::move(data.weight);
  owner->group_begin = std::move(data.group_begin);
  BinnedRows rows;
  rows.matrix = std::move(matrix);
  rows.targets = {data.rows, owner->label, owner->weight, owner->group_begin, data.first_row};
  rows.all_rows = all_rows;
  rows.owner = std::move(owner);
  return rows;
}

// A sum over rows of hashes of the row's number, bins and targets, so that it is independent of the rows'
// distribution over ranks.
uint64_t RowsFingerprint(const FeatureBins& bins, const DataSet& data, const BinMatrix& matrix,
                         uint64_t salt) {
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15ULL;
  std::vector<uint64_t> hashes(data.rows);
  for (const std::vector<uint16_t>& column : bins) {
    for (std::size_t i = 0; i < column.size(); ++i) hashes[i] = (hashes[i] + column[i] + 1) * kFactor;
  }
  const SparseMatrix::Storage& sparse = matrix.sparse().storage();
  for (std::size_t k = 0; k + 1 < sparse.column_begin.size(); ++k) {
    for (uint64_t at = sparse.column_begin[k]; at < sparse.column_begin[k + 1]; ++at)
      hashes[sparse.column_rows[at]] +=
          MixBits(static_cast<uint64_t>(matrix.layout().sparse_features[k]) << 16 | sparse.column_bins[at]);
  }
  const auto bits = [](float value) { return static_cast<uint64_t>(std::bit_cast<uint32_t>(value)); };
  const bool row_weights = !data.weight.empty() && data.group_begin.empty();
  uint64_t sum = 0;
  for (int64_t i = 0; i < data.rows; ++i) {
    const uint64_t target = bits(data.label[i]) << 32 | (row_weights ? bits(data.weight[i]) : 0);
    sum += HashOf(salt, hashes[i], target, static_cast<uint64_t>(data.first_row + i));
  }
  for (std::size_t g = 0; g + 1 < data.group_begin.size(); ++g)
    sum += HashOf(salt, static_cast<uint64_t>(data.first_row + data.group_begin[g]),
                  data.weight.empty() ? 0 : bits(data.weight[g]));
  return sum;
}

uint64_t CutsFingerprint(const std::vector<FeatureCuts>& cuts) {
  uint64_t hash = cuts.size();
  for (const FeatureCuts& one : cuts) {
    hash = HashOf(hash, one.thresholds.size(), one.categorical);
    for (float threshold : one.thresholds) hash = MixBits(hash ^ std::bit_cast<uint32_t>(threshold));
    for (int32_t category : one.categories) hash = MixBits(hash ^ static_cast<uint64_t>(category));
  }
  return hash;
}

absl::Status SumUp(Communicator* ranks, int64_t* number) {
  uint64_t word = static_cast<uint64_t>(*number);
  const absl::Status status = ranks->AllReduceSum({&word, 1});
  *number = static_cast<int64_t>(word);
  return status;
}

// A group is on one rank. Its first row is relative to the rank's first one.
BinnedRows PartOf(const BinnedRows& all, int rank, int size) {
  struct Owner {
    std::shared_ptr<const void> whole;
    std::vector<int64_t> group_begin;
  };
  const Targets& from = all.targets;
  const bool grouped = !from.group_begin.empty();
  const auto [begin, end] =
      grouped ? GroupRowRange(from.group_begin, rank, size) : RowRange(from.rows, rank, size);
  const auto rows = static_cast<std::size_t>(end - begin);
  auto owner = std::make_shared<Owner>();
  owner->whole = all.owner;
  BinnedRows part;
  part.matrix = all.matrix.Part(begin, end);
  part.targets.rows = end - begin;
  part.targets.first_row = from.first_row + begin;
  part.targets.label = from.label.subspan(begin, rows);
  if (grouped) {
    const auto first = std::lower_bound(from.group_begin.begin(), from.group_begin.end(), begin);
    const auto last = std::lower_bound(first, from.group_begin.end(), end);
    for (auto at = first; at != last; ++at) owner->group_begin.push_back(*at - begin);
    owner->group_begin.push_back(end - begin);
    if (!from.weight.empty())
      part.targets.weight = from.weight.subspan(first - from.group_begin.begin(), last - first);
    part.targets.group_begin = owner->group_begin;
  } else if (!from.weight.empty()) {
    part.targets.weight = from.weight.subspan(begin, rows);
  }
  part.all_rows = all.all_rows;
  part.owner = std::move(owner);
  return part;
}

using Json = nlohmann::json;

template <typename T>
std::span<const std::byte> Bytes(std::span<const T> values) {
  return std::as_bytes(values);
}

// What each of maybe millions of features has is in sections of its own; all else is in one document.

// Where a feature's bins lie: FeaturePlace.
struct PlaceRecord {
  int32_t group, first, values, has_missing, default_bin;
};

// How many thresholds and categories a feature has; the numbers themselves are in separate sections.
struct CutRecord {
  uint32_t has_missing, categorical, thresholds, categories;
};

// Adds texts as the sections NAME.ends, where each ends, and NAME.bytes. `text_of(i)` is a string.
template <typename TextOf>
absl::Status WriteTexts(const std::string& name, std::size_t count, TextOf text_of, SectionWriter& writer) {
  std::string bytes;
  std::vector<uint64_t> ends;
  ends.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes += text_of(i);
    ends.push_back(bytes.size());
  }
  const absl::Status status = writer.AddCopy(name + ".ends", Bytes(std::span<const uint64_t>(ends)));
  return status.ok() ? writer.AddCopy(name + ".bytes", Bytes(std::span<const char>(bytes))) : status;
}

absl::StatusOr<std::vector<std::string>> ReadTexts(const std::string& name, const MappedFile& file) {
  const auto ends = file.Array<uint64_t>(name + ".ends");
  const auto bytes = file.Array<char>(name + ".bytes");
  std::vector<std::string> texts;
  texts.reserve(ends.size());
  uint64_t begin = 0;
  for (const uint64_t end : ends) {
    if (end < begin || end > bytes.size())
      return absl::DataLossError("texts of " + name + " have no valid ends");
    texts.emplace_back(bytes.data() + begin, end - begin);
    begin = end;
  }
  return texts;
}

// Text columns as [column, categorical, levels]; the columns' names are a section.
Json JsonOf(const DataSchema& schema) {
  Json texts = Json::array();
  for (std::size_t c = 0; c < schema.columns.size(); ++c) {
    const ColumnSchema& column = schema.columns[c];
    if (column.text) texts.push_back({c, column.categorical, column.levels});
  }
  return {{"texts", texts}, {"label_levels", schema.label_levels}};
}

// Whether each feature has the name of its column, as where no text column is one-hot.
bool HasColumnsNames(const TrainingData& data) {
  return std::equal(data.feature_names.begin(), data.feature_names.end(), data.schema.columns.begin(),
                    data.schema.columns.end(),
                    [](const std::string& name, const ColumnSchema& column) { return name == column.name; });
}

DataSchema SchemaOf(const Json& json, const std::vector<std::string>& names) {
  DataSchema schema;
  schema.columns.reserve(names.size());
  for (const std::string& name : names) schema.columns.push_back({name, false, {}});
  for (const Json& text : json.at("texts")) {
    const auto column = text.at(0).get<std::size_t>();
    if (column >= schema.columns.size())
      throw Json::other_error::create(501, "a text column is missing", nullptr);
    ColumnSchema& read = schema.columns[column];
    read.text = true;
    read.categorical = text.at(1).get<bool>();
    text.at(2).get_to(read.levels);
  }
  json.at("label_levels").get_to(schema.label_levels);
  return schema;
}

std::vector<PlaceRecord> RecordsOf(const std::vector<FeaturePlace>& places) {
  std::vector<PlaceRecord> records;
  records.reserve(places.size());
  for (const FeaturePlace& f : places)
    records.push_back({f.group, f.first, f.values, f.has_missing ? 1 : 0, f.default_bin});
  return records;
}

// Writes a layout but its features as lists of numbers: [slot, stride, bins, features…], [bins, groups…], and
// the sparse features.
Json JsonOf(const BinLayout& layout) {
  Json groups = Json::array(), slots = Json::array();
  for (const FeatureGroup& g : layout.groups) groups.push_back({g.slot, g.stride, g.bins, g.features});
  for (const BinSlot& s : layout.slots) slots.push_back({s.bins, s.groups});
  return {{"groups", groups}, {"slots", slots}, {"sparse", layout.sparse_features}};
}

BinLayout LayoutOf(const Json& json, std::span<const PlaceRecord> places) {
  BinLayout layout;
  layout.features.reserve(places.size());
  for (const PlaceRecord& f : places)
    layout.features.push_back({f.group, f.first, f.values, f.has_missing != 0, f.default_bin});
  for (const Json& g : json.at("groups")) {
    layout.groups.push_back(
        {g.at(0).get<int>(), g.at(1).get<int>(), g.at(2).get<int>(), g.at(3).get<std::vector<int>>()});
  }
  for (const Json& s : json.at("slots"))
    layout.slots.push_back({s.at(0).get<int>(), s.at(1).get<std::vector<int>>()});
  json.at("sparse").get_to(layout.sparse_features);
  uint32_t bins = 0;
  if (layout.has_sparse()) layout.sparse_bins.push_back(0);
  for (std::size_t k = 0; k < layout.sparse_features.size(); ++k) {
    FeaturePlace& place = layout.features.at(layout.sparse_features[k]);
    place.sparse = static_cast<int>(k);
    layout.sparse_bins.push_back(bins += static_cast<uint32_t>(place.bins()));
  }
  return layout;
}

absl::Status WriteCuts(const std::vector<FeatureCuts>& cuts, SectionWriter& writer) {
  std::vector<CutRecord> records;
  std::vector<float> thresholds;
  std::vector<int32_t> categories;
  records.reserve(cuts.size());
  for (const FeatureCuts& one : cuts) {
    records.push_back({one.has_missing, one.categorical, static_cast<uint32_t>(one.thresholds.size()),
                       static_cast<uint32_t>(one.categories.size())});
    thresholds.insert(thresholds.end(), one.thresholds.begin(), one.thresholds.end());
    categories.insert(categories.end(), one.categories.begin(), one.categories.end());
  }
  absl::Status status = writer.AddCopy("cuts", Bytes(std::span<const CutRecord>(records)));
  if (status.ok()) status = writer.AddCopy("thresholds", Bytes(std::span<const float>(thresholds)));
  if (status.ok()) status = writer.AddCopy("categories", Bytes(std::span<const int32_t>(categories)));
  return status;
}

absl::StatusOr<std::vector<FeatureCuts>> ReadCuts(const MappedFile& file) {
  auto thresholds = file.Array<float>("thresholds");
  auto categories = file.Array<int32_t>("categories");
  const auto records = file.Array<CutRecord>("cuts");
  std::vector<FeatureCuts> cuts(records.size());
  for (std::size_t f = 0; f < cuts.size(); ++f) {
    const CutRecord& record = records[f];
    if (record.thresholds > thresholds.size() || record.categories > categories.size())
      return absl::DataLossError("cuts are missing");
    cuts[f].has_missing = record.has_missing != 0;
    cuts[f].categorical = record.categorical != 0;
    cuts[f].thresholds.assign(thresholds.begin(), thresholds.begin() + record.thresholds);
    cuts[f].categories.assign(categories.begin(), categories.begin() + record.categories);
    thresholds = thresholds.subspan(record.thresholds);
    categories = categories.subspan(record.categories);
  }
  return cuts;
}

// Adds the sections "<name>.by_row" … of one set of rows, and its part of the JSON.
absl::Status WriteRows(const std::string& name, const BinnedRows& rows, SectionWriter& writer, Json* json) {
  const BinMatrix& matrix = rows.matrix;
  const std::size_t width = matrix.narrow() ? 1 : 2;
  const auto slots = static_cast<std::size_t>(matrix.slots());
  const auto count = static_cast<std::size_t>(matrix.rows());
  const BinMatrix::Storage& storage = matrix.storage();
  const auto bytes_at = [](const void* at, std::size_t size) {
    return std::span<const std::byte>(static_cast<const std::byte*>(at), size);
  };
  if (storage.by_row != nullptr) {
    const absl::Status status =
        writer.AddCopy(name + ".by_row", bytes_at(storage.by_row, slots * count * width));
    if (!status.ok()) return status;
  }
  const std::vector<PlaceRecord> places = RecordsOf(matrix.layout().features);
  const SparseMatrix::Storage& sparse = matrix.sparse().storage();
  const std::pair<const char*, std::span<const std::byte>> sections[] = {
      {".features", Bytes(std::span<const PlaceRecord>(places))},
      {".sparse_row_begin", Bytes(sparse.row_begin)},
      {".sparse_row_bins", Bytes(sparse.row_bins)},
      {".sparse_column_begin", Bytes(sparse.column_begin)},
      {".sparse_column_rows", Bytes(sparse.column_rows)},
      {".sparse_column_bins", Bytes(sparse.column_bins)},
      {".by_column", bytes_at(storage.by_column, slots * count * width)},
      {".label", Bytes(rows.targets.label)},
      {".weight", Bytes(rows.targets.weight)},
      {".group_begin", Bytes(rows.targets.group_begin)},
  };
  for (const auto& [section, content] : sections) {
    if (absl::Status status = writer.AddCopy(name + section, content); !status.ok()) return status;
  }
  *json = {{"rows", rows.targets.rows},
           {"first_row", rows.targets.first_row},
           {"all_rows", rows.all_rows},
           {"layout", JsonOf(matrix.layout())}};
  return absl::OkStatus();
}

bool IsIndex(int index, std::size_t size) { return index >= 0 && static_cast<std::size_t>(index) < size; }

template <typename T>
bool AreIndices(const std::vector<T>& indices, std::size_t size) {
  return std::all_of(indices.begin(), indices.end(), [size](int index) { return IsIndex(index, size); });
}

// Whether all indices of a layout are valid.
bool FitsTogether(const BinLayout& layout) {
  constexpr int kMostBins = 1 << 16;  // of two bytes
  return std::all_of(layout.features.begin(), layout.features.end(),
                     [&](const FeaturePlace& f) {
                       const bool sparse = f.sparse >= 0 && f.default_bin >= 0;
                       return (sparse || IsIndex(f.group, layout.groups.size())) && f.values >= 1 &&
                              f.values <= kMostBins && f.first >= 0 && f.default_bin >= -1 &&
                              f.default_bin < f.bins();
                     }) &&
         std::all_of(layout.groups.begin(), layout.groups.end(),
                     [&](const FeatureGroup& g) {
                       return IsIndex(g.slot, layout.slots.size()) && g.stride >= 1 && g.bins >= 1 &&
                              AreIndices(g.features, layout.features.size());
                     }) &&
         std::all_of(layout.slots.begin(), layout.slots.end(), [&](const BinSlot& s) {
           return s.bins >= 1 && s.bins <= kMostBins && AreIndices(s.groups, layout.groups.size());
         });
}

// Whether the entries of sparse features have the right sizes and indices.
bool FitsTogether(const SparseMatrix::Storage& entries, const BinLayout& layout, int64_t rows) {
  if (!layout.has_sparse()) return entries.column_begin.empty() && entries.row_begin.empty();
  const auto divides = [](std::span<const uint64_t> begin, std::size_t parts, std::size_t size) {
    return begin.size() == parts + 1 && begin.front() == 0 && begin.back() == size &&
           std::is_sorted(begin.begin(), begin.end());
  };
  if (!divides(entries.column_begin, layout.sparse_features.size(), entries.column_rows.size()) ||
      entries.column_bins.size() != entries.column_rows.size())
    return false;
  for (std::size_t k = 0; k < layout.sparse_features.size(); ++k) {
    const auto bins = static_cast<uint32_t>(layout.features[layout.sparse_features[k]].bins());
    for (uint64_t at = entries.column_begin[k]; at < entries.column_begin[k + 1]; ++at) {
      if (entries.column_bins[at] >= bins || entries.column_rows[at] >= static_cast<uint64_t>(rows))
        return false;
    }
  }
  const auto is_bin = [&](uint32_t bin) { return bin < layout.sparse_bins.back(); };
  return entries.row_begin.empty() ||
         (divides(entries.row_begin, static_cast<std::size_t>(rows), entries.row_bins.size()) &&
          std::all_of(entries.row_bins.begin(), entries.row_bins.end(), is_bin));
}

// Whether labels, weights and groups have the right sizes.
bool FitsTogether(const Targets& targets) {
  const auto rows = static_cast<std::size_t>(targets.rows);
  const std::span<const int64_t> begin = targets.group_begin;
  if (!begin.empty() &&
      (begin.front() != 0 || begin.back() != targets.rows || !std::is_sorted(begin.begin(), begin.end())))
    return false;
  return targets.label.size() == rows &&
         (targets.weight.empty() || targets.weight.size() == (begin.empty() ? rows : begin.size() - 1));
}

absl::StatusOr<BinnedRows> ReadRows(const std::string& name, const std::shared_ptr<const MappedFile>& file,
                                    const Json& json, std::size_t features) {
  BinnedRows rows;
  BinLayout layout = LayoutOf(json.at("layout"), file->Array<PlaceRecord>(name + ".features"));
  const auto count = json.at("rows").get<int64_t>();
  const auto by_row = file->Section(name + ".by_row"), by_column = file->Section(name + ".by_column");
  rows.targets = {count, file->Array<float>(name + ".label"), file->Array<float>(name + ".weight"),
                  file->Array<int64_t>(name + ".group_begin"), json.at("first_row").get<int64_t>()};
  if (layout.features.size() != features || !FitsTogether(layout) || count < 0 || !FitsTogether(rows.targets))
    return absl::DataLossError("sections of " + name + " do not fit together");
  const std::size_t size = layout.slots.size() * static_cast<std::size_t>(count) * (layout.narrow() ? 1 : 2);
  if (by_column.size() != size || (!by_row.empty() && by_row.size() != size))
    return absl::DataLossError("sections of " + name + " have another size than their rows");
  const SparseMatrix::Storage sparse = {file->Array<uint64_t>(name + ".sparse_row_begin"),
                                        file->Array<uint32_t>(name + ".sparse_row_bins"),
                                        file->Array<uint64_t>(name + ".sparse_column_begin"),
                                        file->Array<uint32_t>(name + ".sparse_column_rows"),
                                        file->Array<uint16_t>(name + ".sparse_column_bins"),
                                        file};
  if (!FitsTogether(sparse, layout, count))
    return absl::DataLossError("sections of the sparse features of " + name + " do not fit together");
  rows.matrix = BinMatrix(std::move(layout), count,
                          {by_row.empty() ? nullptr : by_row.data(), by_column.data(), count, file},
                          SparseMatrix(sparse));
  rows.all_rows = json.at("all_rows").get<int64_t>();
  rows.owner = file;
  return rows;
}

}  // namespace

absl::StatusOr<TrainingData> MakeTrainingData(DataSet train, std::optional<DataSet> validation, int max_bin,
                                              Communicator* ranks, ThreadPool* pool) {
  TrainingData data;
  int64_t all_rows = train.rows;
  if (absl::Status status = SumUp(ranks, &all_rows); !status.ok()) return status;
  absl::StatusOr<std::vector<FeatureCuts>> cuts =
      MakeCuts(train, train.first_row, all_rows, max_bin, pool, ranks);
  if (!cuts.ok()) return cuts.status();
  data.cuts = *std::move(cuts);
  data.feature_names = std::move(train.feature_names);
  data.schema = std::move(train.schema);
  FeatureBins bins = TakeBins(data.cuts, pool, &train);
  absl::StatusOr<BinMatrix> matrix = BinMatrix::OfTraining(train, bins, data.cuts, ranks, pool);
  if (!matrix.ok()) return matrix.status();
  data.fingerprint = RowsFingerprint(bins, train, *matrix, 0);
  data.train = InMemory(std::move(train), *std::move(matrix), all_rows);
  FeatureBins().swap(bins);
  if (validation) {
    const FeatureBins other_bins = TakeBins(data.cuts, pool, &*validation);
    BinMatrix other = BinMatrix::OfOther(*validation, other_bins, data.cuts, pool);
    data.fingerprint += RowsFingerprint(other_bins, *validation, other, 1);
    int64_t all_validation_rows = validation->rows;
    if (absl::Status status = SumUp(ranks, &all_validation_rows); !status.ok()) return status;
    data.validation = InMemory(*std::move(validation), std::move(other), all_validation_rows);
  }
  if (absl::Status status = ranks->AllReduceSum({&data.fingerprint, 1}); !status.ok()) return status;
  data.fingerprint = HashOf(data.fingerprint, CutsFingerprint(data.cuts));
  return data;
}

TrainingData PartOf(TrainingData all, int rank, int size) {
  all.train = PartOf(all.train, rank, size);
  if (all.validation) all.validation = PartOf(*all.validation, rank, size);
  return all;
}

absl::Status WriteTrainingData(const TrainingData& data, SectionWriter& writer) {
  const bool own_names = !HasColumnsNames(data);
  Json json = {{"own_names", own_names}, {"schema", JsonOf(data.schema)}, {"fingerprint", data.fingerprint}};
  const std::vector<ColumnSchema>& columns = data.schema.columns;
  absl::Status status = WriteTexts(
      "columns", columns.size(), [&](std::size_t c) -> const std::string& { return columns[c].name; },
      writer);
  if (status.ok() && own_names) {
    status = WriteTexts(
        "features", data.feature_names.size(),
        [&](std::size_t f) -> const std::string& { return data.feature_names[f]; }, writer);
  }
  if (status.ok()) status = WriteCuts(data.cuts, writer);
  if (status.ok()) status = WriteRows("train", data.train, writer, &json["train"]);
  if (status.ok() && data.validation)
    status = WriteRows("validation", *data.validation, writer, &json["validation"]);
  if (!status.ok()) return status;
  const std::vector<uint8_t> meta = Json::to_ubjson(json, true, true);
  return writer.AddCopy("meta", Bytes(std::span<const uint8_t>(meta)));
}

absl::StatusOr<TrainingData> ReadTrainingData(std::shared_ptr<const MappedFile> file) {
  try {
    const auto meta = file->Array<uint8_t>("meta");
    const Json json = Json::from_ubjson(meta.begin(), meta.end());
    if (!HasOnlyWholeNumbers(json))
      return absl::DataLossError("sections of training data: a number is not whole");
    TrainingData data;
    absl::StatusOr<std::vector<std::string>> columns = ReadTexts("columns", *file);
    if (!columns.ok()) return columns.status();
    data.schema = SchemaOf(json.at("schema"), *columns);
    absl::StatusOr<std::vector<std::string>> names =
        json.at("own_names").get<bool>() ? ReadTexts("features", *file) : std::move(columns);
    if (!names.ok()) return names.status();
    data.feature_names = *std::move(names);
    absl::StatusOr<std::vector<FeatureCuts>> cuts = ReadCuts(*file);
    if (!cuts.ok()) return cuts.status();
    data.cuts = *std::move(cuts);
    if (data.feature_names.size() != data.cuts.size())
      return absl::DataLossError("features and cuts do not fit together");
    data.fingerprint = json.at("fingerprint").get<uint64_t>();
    absl::StatusOr<BinnedRows> train = ReadRows("train", file, json.at("train"), data.cuts.size());
    if (!train.ok()) return train.status();
    data.train = *std::move(train);
    if (!json.contains("validation")) return data;
    absl::StatusOr<BinnedRows> validation =
        ReadRows("validation", file, json.at("validation"), data.cuts.size());
    if (!validation.ok()) return validation.status();
    data.validation = *std::move(validation);
    return data;
  } catch (const Json::exception& error) {
    return absl::DataLossError(std::string("sections of training data: ") + error.what());
  }
}

}  // namespace winnow::gbdt
