#include "trainers/mlp/data/training_input.h"

#include <fmt/format.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "trainers/common/agreement.h"
#include "trainers/common/data_errors.h"
#include "trainers/data/cache/data_cache.h"
#include "trainers/data/content_key.h"
#include "trainers/mlp/data/dense_file.h"
#include "trainers/mlp/data/raw_rows.h"
#include "trainers/mlp/data/targets.h"

namespace winnow::mlp {
namespace {

// All rows of all ranks, scaled.
struct ScaledRows {
  RawRows train;
  std::optional<RawRows> validation;
  FeatureSchema schema;
};

// Loads the data of one run, on one rank.
class Loading {
 public:
  Loading(const TrainFiles& files, const MlpParameters& parameters, Communicator* ranks)
      : files_(files),
        parameters_(parameters),
        ranks_(*ranks),
        cache_(DataCache::FromEnvironment(&cache_warning_)) {}

  absl::StatusOr<TrainingData> Load();
  const std::string& cache_warning() const { return cache_warning_; }

 private:
  // Whether validation data, if any, are split off the training data.
  bool splits() const { return files_.validation_path.empty(); }
  bool train_sharded() const { return files_.train_sharded && ranks_.size() > 1; }
  bool validation_sharded() const { return !splits() && files_.validation_sharded && ranks_.size() > 1; }
  const std::string& validation_path() const { return splits() ? files_.train_path : files_.validation_path; }
  // Returns a problem of the data with the name of their channel before it.
  absl::Status OfTrain(const absl::Status& problem) const { return OfData(files_.train_name, problem); }
  absl::Status OfValidation(const absl::Status& problem) const {
    return splits() ? OfTrain(problem) : OfData(files_.validation_name, problem);
  }
  int threads() const { return static_cast<int>(parameters_.nthread); }

  absl::Status CheckRequest() const;
  absl::StatusOr<RawRows> Read(const std::string& path, const DataOptions& reading, const FeatureSchema* like,
                               bool sharded, FeatureSchema* schema);
  absl::StatusOr<ScaledRows> ReadAll();
  absl::StatusOr<ContentKey> KeyOf(const std::string& path, const DataOptions& reading, bool sharded,
                                   std::string_view extra);
  absl::StatusOr<std::string> Key(std::vector<ContentKey>* contents);
  absl::StatusOr<TrainingData> Open(const std::string& key, const DataCache::Builder& build);
  absl::StatusOr<TrainingData> Replicated();
  absl::StatusOr<TrainingData> Sharded();
  absl::Status Check(TrainingData* data) const;

  const TrainFiles& files_;
  const MlpParameters& parameters_;
  Communicator& ranks_;
  std::string cache_warning_;
  const DataCache cache_;
};

absl::Status Loading::CheckRequest() const {
  if (parameters_.early_stopping_epochs > 0 && splits() && files_.validation_fraction <= 0) {
    return absl::InvalidArgumentError(
        fmt::format("hyperparameter early_stopping_epochs = {}: expected validation data to go with it",
                    parameters_.early_stopping_epochs));
  }
  return absl::OkStatus();
}

absl::StatusOr<RawRows> Loading::Read(const std::string& path, const DataOptions& reading,
                                      const FeatureSchema* like, bool sharded, FeatureSchema* schema) {
  RowShare share;
  share.ranks = sharded ? &ranks_ : nullptr;
  share.threads = threads();
  absl::StatusOr<RawRows> rows = ReadRawRows(path, reading, like, share, schema);
  if (!rows.ok() || !sharded) return rows;
  return GatherRows(path, like != nullptr ? *like : *schema, *std::move(rows), &ranks_);
}

absl::StatusOr<ScaledRows> Loading::ReadAll() {
  ScaledRows all;
  absl::StatusOr<RawRows> train =
      Read(files_.train_path, files_.train_reading, nullptr, train_sharded(), &all.schema);
  if (!train.ok()) return OfTrain(train.status());
  all.train = *std::move(train);
  if (!splits()) {
    absl::StatusOr<RawRows> validation =
        Read(files_.validation_path, files_.validation_reading, &all.schema, validation_sharded(), nullptr);
    if (!validation.ok()) return OfValidation(validation.status());
    all.validation = *std::move(validation);
  } else if (files_.validation_fraction > 0) {
    auto parts = SplitRows(all.train, files_.validation_fraction, files_.split_seed);
    if (!parts.ok()) return OfTrain(parts.status());
    all.train = std::move(parts->first);
    all.validation = std::move(parts->second);
  }
  all.schema.scaling = ScalingOf(all.train, all.schema, parameters_.standardise);
  absl::Status status = OfTrain(ScaleValues(files_.train_path, all.schema, &all.train));
  if (status.ok() && all.validation)
    status = OfValidation(ScaleValues(validation_path(), all.schema, &*all.validation));
  if (!status.ok()) return status;
  return all;
}

absl::StatusOr<ContentKey> Loading::KeyOf(const std::string& path, const DataOptions& reading, bool sharded,
                                          std::string_view extra) {
  const absl::StatusOr<std::vector<std::string>> files =
      FilesOfChannel(path, reading, sharded ? &ranks_ : nullptr);
  if (!files.ok()) return files.status();
  return KeyOfFiles(*files, reading, extra, cache_.folder(), threads());
}

// The key of the data that this rank reads, and the content it depends on.
absl::StatusOr<std::string> Loading::Key(std::vector<ContentKey>* contents) {
  const std::string extra =
      fmt::format("{}\nstandardise {} validation_fraction {} split_seed {}", kDenseFileVersion,
                  parameters_.standardise, files_.validation_fraction, files_.split_seed);
  absl::StatusOr<ContentKey> train = KeyOf(files_.train_path, files_.train_reading, train_sharded(), extra);
  if (!train.ok()) return OfTrain(train.status());
  std::string key = train->text();
  contents->push_back(*std::move(train));
  if (splits()) return key;
  absl::StatusOr<ContentKey> validation =
      KeyOf(files_.validation_path, files_.validation_reading, validation_sharded(), "");
  if (!validation.ok()) return OfValidation(validation.status());
  key += "\n" + validation->text();
  contents->push_back(*std::move(validation));
  return key;
}

absl::StatusOr<TrainingData> Loading::Open(const std::string& key, const DataCache::Builder& build) {
  std::string why_not_kept;
  absl::StatusOr<MappedFile> file = cache_.GetOrBuild(key, build, &why_not_kept);
  if (!file.ok()) return file.status();
  if (!why_not_kept.empty()) cache_warning_ = std::move(why_not_kept);
  return ReadDense(std::make_shared<const MappedFile>(*std::move(file)));
}

absl::Status CheckUnchanged(const std::vector<ContentKey>& contents) {
  for (const ContentKey& content : contents) {
    if (absl::Status status = content.CheckUnchanged(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<TrainingData> Loading::Replicated() {
  std::vector<ContentKey> contents;
  const absl::StatusOr<std::string> key = Key(&contents);
  if (!key.ok()) return key.status();
  return Open(*key, [&](SectionWriter& writer) -> absl::Status {
    const absl::StatusOr<ScaledRows> rows = ReadAll();
    if (!rows.ok()) return rows.status();
    if (absl::Status status = CheckUnchanged(contents); !status.ok()) return status;
    return WriteDense(rows->train, rows->validation ? &*rows->validation : nullptr, rows->schema, writer);
  });
}

// Ranks read together, so none may wait for the lock of an entry: each looks for its entry, and what all
// ranks have made otherwise is stored.
absl::StatusOr<TrainingData> Loading::Sharded() {
  std::vector<ContentKey> contents;
  const absl::StatusOr<std::string> mine = Key(&contents);
  if (!mine.ok()) return mine.status();
  const auto all = ranks_.AllGather(*mine);
  if (!all.ok()) return all.status();
  std::string key = fmt::format("shards of {} ranks", ranks_.size());
  for (const std::string& one : *all) key += "\n" + one;
  absl::StatusOr<TrainingData> found =
      Open(key, [](SectionWriter&) { return absl::NotFoundError("no entry"); });
  uint64_t having = found.ok();
  if (absl::Status status = ranks_.AllReduceSum({&having, 1}); !status.ok()) return status;
  if (having == static_cast<uint64_t>(ranks_.size())) return found;
  const absl::StatusOr<ScaledRows> rows = ReadAll();
  if (!rows.ok()) return rows.status();
  if (absl::Status status = CheckUnchanged(contents); !status.ok()) return status;
  return Open(key, [&](SectionWriter& writer) {
    return WriteDense(rows->train, rows->validation ? &*rows->validation : nullptr, rows->schema, writer);
  });
}

absl::Status Loading::Check(TrainingData* data) const {
  const absl::StatusOr<int> outputs = OutputsFor(parameters_, data->schema, data->train, files_.train_path);
  if (!outputs.ok()) return OfTrain(outputs.status());
  data->outputs = *outputs;
  if (data->validation) {
    const absl::Status status =
        OfValidation(CheckTargets(parameters_, *outputs, *data->validation, validation_path()));
    if (!status.ok()) return status;
  }
  const bool linear = parameters_.batch_scaling == BatchScaling::kLinear && ranks_.size() > 1;
  const int64_t at_most = linear ? data->train.rows / ranks_.size() : data->train.rows;
  if (parameters_.batch_size <= at_most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("hyperparameter batch_size = {}: expected at most the {} rows of the training data{}",
                  parameters_.batch_size, data->train.rows,
                  linear ? fmt::format(" over {} ranks, with batch_scaling LINEAR", ranks_.size()) : ""));
}

absl::StatusOr<TrainingData> Loading::Load() {
  if (absl::Status status = CheckRequest(); !status.ok()) return status;
  absl::StatusOr<TrainingData> data = train_sharded() || validation_sharded() ? Sharded() : Replicated();
  if (!data.ok()) return data;
  if (absl::Status status = AgreeOnData(files_.train_path, data->fingerprint, &ranks_); !status.ok())
    return status;
  if (absl::Status status = Check(&*data); !status.ok()) return status;
  return data;
}

}  // namespace

absl::StatusOr<TrainingData> LoadTrainingData(const TrainFiles& files, const MlpParameters& parameters,
                                              Communicator* ranks, std::string* warning) {
  Loading loading(files, parameters, ranks);
  absl::StatusOr<TrainingData> data = loading.Load();
  *warning = loading.cache_warning();
  return data;
}

absl::StatusOr<DenseData> LoadDataToPredict(const std::string& path, const DataOptions& reading,
                                            const FeatureSchema& schema, int threads) {
  RowShare share;
  share.threads = threads;
  share.label_may_be_absent = true;
  absl::StatusOr<RawRows> rows = ReadRawRows(path, reading, &schema, share, nullptr);
  if (!rows.ok()) return rows.status();
  if (absl::Status status = ScaleValues(path, schema, &*rows); !status.ok()) return status;
  auto owner = std::make_shared<const RawRows>(*std::move(rows));
  DenseData data;
  data.rows = owner->rows;
  data.features = owner->features;
  data.bytes = owner->bytes;
  data.values = owner->values;
  data.label = owner->label;
  data.weight = owner->weight;
  if (owner->of_bytes) SetByteScaling(schema.scaling, &data);
  data.owner = std::move(owner);
  return data;
}

}  // namespace winnow::mlp
