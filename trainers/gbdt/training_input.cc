#include "trainers/gbdt/training_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status_text.h"
#include "trainers/common/agreement.h"
#include "trainers/common/data_source.h"
#include "trainers/common/piped_files.h"
#include "trainers/common/prepared_data.h"
#include "trainers/data/cell.h"
#include "trainers/data/file_source.h"
#include "trainers/data/reader.h"
#include "trainers/data/shard.h"
#include "trainers/data/split.h"
#include "trainers/gbdt/objective/objective.h"
#include "trainers/gbdt/training_data.h"

namespace winnow::gbdt {
namespace {

// `label`: its column, as requested. `sharded`: other ranks have rows, so that this one may have none.
absl::Status CheckTable(const DataSet& data, const std::string& what, const std::string& label = "",
                        bool sharded = false) {
  if (data.rows == 0 && !sharded) return absl::InvalidArgumentError(what + ": there are no rows");
  if (data.rows > int64_t{0xffffffff})
    return absl::InvalidArgumentError(fmt::format("{}: {} rows: expected fewer than 2^32", what, data.rows));
  if (data.columns.empty()) return absl::InvalidArgumentError(what + ": there are no feature columns");
  if (static_cast<int64_t>(data.label.size()) != data.rows)
    return absl::InvalidArgumentError(what + ": the data has no label column" +
                                      (label.empty() ? "" : " \"" + label + "\""));
  for (std::size_t f = 0; f < data.columns.size(); ++f) {
    const bool sparse = data.IsSparse(f);
    const std::vector<float>& values = sparse ? data.sparse[f].values : data.columns[f];
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isinf(values[i]))
        return absl::InvalidArgumentError(
            fmt::format("{}: data row {}: feature {} is infinite: expected a finite number or "
                        "a missing value",
                        what, (sparse ? data.sparse[f].rows[i] : i) + 1, Excerpt(data.feature_names[f])));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTargets(const GbdtParameters& parameters, const DataSchema& schema, const Targets& targets,
                          const std::string& what) {
  if (!schema.label_levels.empty() && !LearnsClasses(parameters.objective)) {
    return absl::InvalidArgumentError(
        fmt::format("{}: the label column is text (\"{}\" is one of its values): expected numbers for "
                    "objective={}",
                    what, schema.label_levels[0], ObjectiveName(parameters.objective)));
  }
  const std::size_t classes = parameters.classes() > 1 ? parameters.classes() : 2;
  if (schema.label_levels.size() > classes) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: the label column has {} texts (\"{}\" is one of them): expected at most {} with objective {}",
        what, schema.label_levels.size(), Excerpt(schema.label_levels[0]), classes,
        ObjectiveName(parameters.objective)));
  }
  const absl::Status labels = CheckLabels(parameters, targets);
  return labels.ok() ? labels : absl::InvalidArgumentError(fmt::format("{}: {}", what, MessageOf(labels)));
}

// Whether the data have the model's features in the same order. XGBoost's unnamed features are matched by
// position.
bool HasFeaturesOf(const ModelFeatures& model, const DataSet& data) {
  bool unnamed = model.names.size() == data.feature_names.size();
  for (std::size_t f = 0; unnamed && f < model.names.size(); ++f)
    unnamed = model.names[f] == fmt::format("f{}", f);
  if (!unnamed && model.names != data.feature_names) return false;
  const DataSchema& theirs = model.schema;
  if (!theirs.label_levels.empty() && theirs.label_levels != data.schema.label_levels) return false;
  for (std::size_t c = 0; c < theirs.columns.size(); ++c) {
    if (!theirs.columns[c].text) continue;
    if (c >= data.schema.columns.size() || theirs.columns[c].levels != data.schema.columns[c].levels)
      return false;
  }
  return true;
}

// The feature columns that the model lacks, as a warning; "" if there are none.
std::string IgnoredColumns(const std::string& path, const DataSchema& model, const DataSchema& data) {
  if (data.columns.size() <= model.columns.size()) return "";
  const std::size_t count = data.columns.size() - model.columns.size();
  std::set<std::string> known;
  for (const ColumnSchema& column : model.columns) known.insert(column.name);
  std::vector<std::string> ignored;
  for (const ColumnSchema& column : data.columns) {
    if (!known.contains(column.name)) ignored.push_back(column.name);
  }
  // If they are not so many, columns are matched by position.
  return fmt::format("{}: feature columns that the model to continue lacks are ignored: {}", path,
                     ignored.size() == count ? Listed(ignored) : fmt::format("the last {}", count));
}

// Loads the data of one request, for one rank.
class Loading {
 public:
  Loading(const TrainRequest& request, const ModelFeatures* continued, Communicator* ranks, ThreadPool* pool)
      : request_(request),
        continued_(continued),
        ranks_(*ranks),
        pool_(*pool),
        source_(request, ranks, pool->threads()) {}

  absl::StatusOr<LoadedData> Load();
  const std::string& warning() const { return ignored_.empty() ? source_.cache_warning() : ignored_; }

 private:
  absl::StatusOr<DataSet> Read(const std::string& path, const DataOptions& reading, const DataSchema* like,
                               bool sharded);
  absl::StatusOr<DataSet> ReadTrain();
  absl::StatusOr<RawTables> ReadTables();
  absl::Status Split(RawTables* tables);
  absl::Status ShareOut(RawTables* tables);
  absl::StatusOr<std::string> Key();
  absl::StatusOr<TrainingData> Replicated();
  // The data of all rows, from the cache.
  absl::StatusOr<TrainingData> ReadOrBuild(const std::string& key);
  absl::StatusOr<TrainingData> Sharded();
  absl::StatusOr<LoadedData> Uncached();
  absl::Status Check(const TrainingData& data) const;
  absl::Status CheckSplitWeights(const TrainingData& data);
  int max_bin() const { return static_cast<int>(request_.parameters.max_bin); }

  const TrainRequest& request_;
  const ModelFeatures* const continued_;
  Communicator& ranks_;
  ThreadPool& pool_;
  DataSource source_;
  std::string ignored_;  // IgnoredColumns
};

absl::StatusOr<DataSet> Loading::Read(const std::string& path, const DataOptions& reading,
                                      const DataSchema* like, bool sharded) {
  constexpr TableForm kForm = TableForm::kSparseWhereSmaller;
  if (!sharded) return ReadDataSet(path, reading, like, pool_.threads(), kForm);
  const Exchange exchange = [this](std::string_view mine) { return ranks_.AllGather(mine); };
  return ReadShard(path, reading, like, ranks_.rank(), ranks_.size(), exchange, pool_.threads(), kForm);
}

absl::StatusOr<DataSet> Loading::ReadTrain() {
  absl::StatusOr<DataSet> read =
      Read(request_.train_path, request_.train_reading, nullptr, source_.train_sharded());
  if (!read.ok() || continued_ == nullptr || HasFeaturesOf(*continued_, *read)) return read;
  ignored_ = IgnoredColumns(request_.train_path, continued_->schema, read->schema);
  return Read(request_.train_path, request_.train_reading, &continued_->schema, source_.train_sharded());
}

// Splits validation rows off. A rank whose rows are all in one part is no error where others have the rest.
absl::Status Loading::Split(RawTables* tables) {
  auto parts = SplitByFraction(std::move(tables->train), request_.validation_fraction, request_.split_seed);
  if (!parts.ok()) return source_.OfTrain(parts.status());
  tables->train = std::move(parts->first);
  tables->validation = std::move(parts->second);
  std::array<uint64_t, 2> rows = {static_cast<uint64_t>(tables->train.rows),
                                  static_cast<uint64_t>(tables->validation->rows)};
  if (source_.train_sharded()) {
    if (absl::Status status = ranks_.AllReduceSum(rows); !status.ok()) return status;
  }
  return source_.OfTrain(
      CheckParts(request_.validation_fraction, static_cast<int64_t>(rows[0]), static_cast<int64_t>(rows[1])));
}

absl::StatusOr<RawTables> Loading::ReadTables() {
  RawTables tables;
  absl::StatusOr<DataSet> train = ReadTrain();
  if (!train.ok()) return source_.OfTrain(train.status());
  tables.train = *std::move(train);
  if (!source_.splits()) {
    absl::StatusOr<DataSet> read = Read(request_.validation_path, request_.validation_reading,
                                        &tables.train.schema, source_.validation_sharded());
    if (!read.ok()) return source_.OfValidation(read.status());
    tables.validation = *std::move(read);
  } else if (request_.validation_fraction > 0) {
    if (absl::Status status = Split(&tables); !status.ok()) return status;
  }
  absl::Status status = source_.OfTrain(
      CheckTable(tables.train, request_.train_path, request_.train_reading.label, source_.train_sharded()));
  if (status.ok() && tables.validation) {
    const DataOptions& reading = source_.splits() ? request_.train_reading : request_.validation_reading;
    status = source_.OfValidation(CheckTable(*tables.validation, source_.validation_path(), reading.label,
                                             source_.validation_sharded()));
  }
  if (!status.ok()) return status;
  return tables;
}

// Returns this rank's rows of tables that every rank has completely. Renumbers all over the ranks, because
// splitting changes which rows there are.
absl::Status Loading::ShareOut(RawTables* tables) {
  const auto share = [&](bool sharded, DataSet* table) -> absl::Status {
    if (!sharded) {
      const auto range = table->group_begin.empty()
                             ? RowRange(table->rows, ranks_.rank(), ranks_.size())
                             : GroupRowRange(table->group_begin, ranks_.rank(), ranks_.size());
      *table = TakeRows(std::move(*table), range);
    }
    const auto counts = ranks_.AllGather(std::to_string(table->rows));
    if (!counts.ok()) return counts.status();
    table->first_row = 0;
    for (int rank = 0; rank < ranks_.rank(); ++rank) table->first_row += std::stoll((*counts)[rank]);
    return absl::OkStatus();
  };
  if (absl::Status status = share(source_.train_sharded(), &tables->train); !status.ok()) return status;
  return tables->validation ? share(source_.validation_sharded(), &*tables->validation) : absl::OkStatus();
}

// The key of this rank's entry.
absl::StatusOr<std::string> Loading::Key() {
  const std::string extra =
      fmt::format("{}\nmax_bin {}\nvalidation_fraction {} split_seed {}", kTrainingFileVersion, max_bin(),
                  request_.validation_fraction, request_.split_seed);
  return source_.Key(extra, [&](const std::string& path, const DataOptions&, bool sharded) {
    return sharded ? ShardFiles(path, ranks_.rank(), ranks_.size()) : ListFiles(path);
  });
}

absl::StatusOr<TrainingData> Mapped(absl::StatusOr<MappedFile> file) {
  if (!file.ok()) return file.status();
  return ReadTrainingData(std::make_shared<const MappedFile>(*std::move(file)));
}

// Every rank maps the whole, and uses its own rows.
absl::StatusOr<TrainingData> Loading::Replicated() {
  const absl::StatusOr<std::string> key = Key();
  if (!key.ok()) return key.status();
  const TrainingData* const kept = PreparedData<TrainingData>::Find(*key);
  absl::StatusOr<TrainingData> data = kept != nullptr ? *kept : ReadOrBuild(*key);
  if (!data.ok()) return data;
  PreparedData<TrainingData>::Keep(*key, *data);
  if (absl::Status status = Check(*data); !status.ok()) return status;
  return ranks_.size() == 1 ? std::move(data) : PartOf(*std::move(data), ranks_.rank(), ranks_.size());
}

absl::StatusOr<TrainingData> Loading::ReadOrBuild(const std::string& key) {
  return Mapped(source_.Open(key, [&](SectionWriter& writer) -> absl::Status {
    absl::StatusOr<RawTables> tables = ReadTables();
    if (!tables.ok()) return tables.status();
    if (absl::Status status = source_.CheckUnchanged(); !status.ok()) return status;
    const std::unique_ptr<Communicator> alone = MakeSoleRank();
    const absl::StatusOr<TrainingData> made = MakeTrainingData(
        std::move(tables->train), std::move(tables->validation), max_bin(), alone.get(), &pool_);
    return made.ok() ? WriteTrainingData(*made, writer) : made.status();
  }));
}

// Ranks make their entries together.
absl::StatusOr<TrainingData> Loading::Sharded() {
  const absl::StatusOr<std::string> mine = Key();
  if (!mine.ok()) return mine.status();
  const absl::StatusOr<std::string> key =
      source_.KeyOfAll(fmt::format("rank {} of {}", ranks_.rank(), ranks_.size()), *mine);
  if (!key.ok()) return key.status();
  absl::StatusOr<TrainingData> found = Mapped(source_.Find(*key));
  const absl::StatusOr<bool> all_found = source_.AllFound(found.ok());
  if (!all_found.ok()) return all_found.status();
  if (*all_found) {
    if (absl::Status status = Check(*found); !status.ok()) return status;
    return found;
  }
  absl::StatusOr<RawTables> tables = ReadTables();
  if (!tables.ok()) return tables.status();
  if (absl::Status status = source_.CheckUnchanged(); !status.ok()) return status;
  if (absl::Status status = ShareOut(&*tables); !status.ok()) return status;
  absl::StatusOr<TrainingData> made =
      MakeTrainingData(std::move(tables->train), std::move(tables->validation), max_bin(), &ranks_, &pool_);
  if (!made.ok()) return made;
  if (absl::Status status = Check(*made); !status.ok()) return status;
  absl::StatusOr<TrainingData> kept =
      Mapped(source_.Open(*key, [&](SectionWriter& writer) { return WriteTrainingData(*made, writer); }));
  return kept.ok() ? std::move(kept) : std::move(made);
}

// As Sharded, but with the tables and without the cache.
absl::StatusOr<LoadedData> Loading::Uncached() {
  absl::StatusOr<RawTables> tables = ReadTables();
  if (!tables.ok()) return tables.status();
  if (absl::Status status = ShareOut(&*tables); !status.ok()) return status;
  absl::StatusOr<TrainingData> made =
      MakeTrainingData(tables->train, tables->validation, max_bin(), &ranks_, &pool_);
  if (!made.ok()) return made.status();
  if (absl::Status status = Check(*made); !status.ok()) return status;
  return LoadedData{*std::move(made), *std::move(tables)};
}

absl::Status Loading::Check(const TrainingData& data) const {
  const GbdtParameters& p = request_.parameters;
  absl::Status status =
      source_.OfTrain(CheckTargets(p, data.schema, data.train.targets, request_.train_path));
  if (status.ok() && data.validation)
    status = source_.OfValidation(
        CheckTargets(p, data.schema, data.validation->targets, source_.validation_path()));
  return status;
}

// A reader has seen that some row weighs more than 0, but not which part it is in.
absl::Status Loading::CheckSplitWeights(const TrainingData& data) {
  const auto weighs = [](const BinnedRows& rows) -> uint64_t {
    const auto above = [](float weight) { return weight > 0; };
    const auto& weight = rows.targets.weight;
    if (rows.targets.rows == 0) return 0;
    return weight.empty() || std::any_of(weight.begin(), weight.end(), above) ? 1 : 0;
  };
  std::array<uint64_t, 2> parts = {weighs(data.train), weighs(*data.validation)};
  if (absl::Status status = ranks_.AllReduceMax(parts); !status.ok()) return status;
  if (parts[0] == 1 && parts[1] == 1) return absl::OkStatus();
  return source_.OfTrain(absl::InvalidArgumentError(
      fmt::format("{}: every weight of the rows {} is 0, with validation_fraction {} and split_seed {}: "
                  "expected some above 0",
                  request_.train_path, parts[0] == 0 ? "to train on" : "to validate on",
                  request_.validation_fraction, request_.split_seed)));
}

absl::StatusOr<LoadedData> Loading::Load() {
  const GbdtParameters& p = request_.parameters;
  if (p.early_stopping_rounds > 0 && source_.splits() && request_.validation_fraction <= 0) {
    return absl::InvalidArgumentError(
        fmt::format("hyperparameter early_stopping_rounds = {}: expected validation data to go with it",
                    p.early_stopping_rounds));
  }
  LoadedData loaded;
  if (!request_.continue_from.empty()) {
    absl::StatusOr<LoadedData> uncached = Uncached();
    if (!uncached.ok()) return uncached;
    loaded = *std::move(uncached);
  } else {
    absl::StatusOr<TrainingData> data =
        source_.train_sharded() || source_.validation_sharded() ? Sharded() : Replicated();
    if (!data.ok()) return data.status();
    loaded.data = *std::move(data);
  }
  if (absl::Status status = AgreeOnData(request_.train_path, loaded.data.fingerprint, &ranks_); !status.ok())
    return status;
  if (source_.splits() && loaded.data.validation) {
    if (absl::Status status = CheckSplitWeights(loaded.data); !status.ok()) return status;
  }
  return loaded;
}

}  // namespace

absl::Status CheckTrainable(const GbdtParameters& parameters, const DataSet& data, const std::string& what) {
  if (absl::Status status = CheckTable(data, what); !status.ok()) return status;
  const Targets targets{data.rows, data.label, data.weight, data.group_begin, data.first_row};
  return CheckTargets(parameters, data.schema, targets, what);
}

std::vector<float> RawTables::TrainMargins(const Model& model, ThreadPool* pool) const {
  return PredictMargins(model, train, model.rounds(), pool);
}

std::vector<float> RawTables::ValidationMargins(const Model& model, ThreadPool* pool) const {
  return validation ? PredictMargins(model, *validation, model.rounds(), pool) : std::vector<float>();
}

absl::StatusOr<LoadedData> LoadTrainingData(const TrainRequest& request, const ModelFeatures* continued,
                                            Communicator* ranks, ThreadPool* pool, std::string* warning) {
  TrainRequest readable = request;
  const absl::StatusOr<PipedFiles> piped = PipedFiles::Read(&readable);
  if (!piped.ok()) return piped.status();
  Loading loading(readable, continued, ranks, pool);
  absl::StatusOr<LoadedData> loaded = loading.Load();
  *warning = loading.warning();
  return loaded;
}

void PrepareTrainingData(const TrainRequest& request) {
  PreparedData<TrainingData>::Begin();
  const std::unique_ptr<Communicator> alone = MakeSoleRank();
  ThreadPool pool(1);
  std::string warning;
  LoadTrainingData(request, nullptr, alone.get(), &pool, &warning).status().IgnoreError();
}

}  // namespace winnow::gbdt
