#include "trainers/mlp/data/training_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "trainers/common/agreement.h"
#include "trainers/common/data_source.h"
#include "trainers/common/piped_files.h"
#include "trainers/common/prepared_data.h"
#include "trainers/mlp/data/dense_file.h"
#include "trainers/mlp/data/raw_rows.h"

namespace winnow::mlp {
namespace {

// Keeps weighted sums of as many rows as fit in memory within the range of float.
constexpr float kLargestWeight = 1e12f;
// Keeps squares of labels and similar values within the range of float.
constexpr float kLargestLabel = 1e15f;
constexpr int kMostClasses = 65'536;  // as of num_class

absl::Status CheckWeights(const DenseData& data, const std::string& path) {
  const auto bad = std::find_if(data.weight.begin(), data.weight.end(),
                                [](float weight) { return !(weight >= 0 && weight <= kLargestWeight); });
  if (bad != data.weight.end())
    return absl::InvalidArgumentError(
        fmt::format("{}: data row {}: weight = {}: expected a number from 0 to 1e12", path,
                    bad - data.weight.begin() + 1, *bad));
  const bool none =
      std::all_of(data.weight.begin(), data.weight.end(), [](float weight) { return weight == 0; });
  if (!data.weight.empty() && none)
    return absl::InvalidArgumentError(path + ": every weight is 0: expected some above 0");
  return absl::OkStatus();
}

template <typename Takes>
absl::Status CheckLabels(const DenseData& data, const std::string& path, const Takes& takes,
                         const std::string& expected) {
  const auto bad = std::find_if_not(data.label.begin(), data.label.end(), takes);
  if (bad == data.label.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("{}: data row {}: label = {}: expected {}", path,
                                                bad - data.label.begin() + 1, *bad, expected));
}

bool IsClass(float label, double classes) {
  return label >= 0 && static_cast<double>(label) < classes && std::floor(label) == label;
}

// InvalidArgument, beginning with `path`, if labels or weights are not valid for `outputs`.
absl::Status CheckTargets(const MlpParameters& parameters, int outputs, const DenseData& data,
                          const std::string& path) {
  if (absl::Status status = CheckWeights(data, path); !status.ok()) return status;
  switch (parameters.loss) {
    case LossKind::kCrossEntropy:
      return CheckLabels(
          data, path, [&](float label) { return IsClass(label, outputs); },
          parameters.num_class > 0
              ? fmt::format("a class from 0 to {} with num_class {}", outputs - 1, outputs)
              : fmt::format("a class from 0 to {}, as in the training data", outputs - 1));
    case LossKind::kLogistic:
      return CheckLabels(
          data, path, [](float label) { return label == 0 || label == 1; }, "0 or 1 with loss logistic");
    default:
      return CheckLabels(
          data, path, [](float label) { return std::abs(label) <= kLargestLabel; },
          "a number from -1e15 to 1e15");
  }
}

// Returns the number of outputs of a network that learns the labels of `train`: for cross entropy num_class,
// or the number of classes in the labels; otherwise 1. InvalidArgument, beginning with `path`, for a label or
// weight that the loss does not allow.
absl::StatusOr<int> OutputsFor(const MlpParameters& parameters, const FeatureSchema& schema,
                               const DenseData& train, const std::string& path) {
  const int levels = static_cast<int>(schema.label_levels.size());
  int outputs = 1;
  if (parameters.loss == LossKind::kSquared || parameters.loss == LossKind::kHuber) {
    if (levels > 0)
      return absl::InvalidArgumentError(
          fmt::format("{}: the label column is text (\"{}\" is one of its values): expected numbers for "
                      "regression",
                      path, schema.label_levels[0]));
  } else if (parameters.loss == LossKind::kLogistic) {
    if (levels > 0 && levels != 2)
      return absl::InvalidArgumentError(
          fmt::format("{}: the label column has {} text{}: expected 2 with loss logistic", path, levels,
                      levels == 1 ? "" : "s"));
  } else if (parameters.num_class > 0) {
    outputs = parameters.num_class;
    if (levels > outputs)
      return absl::InvalidArgumentError(fmt::format(
          "{}: the label column has {} texts: expected at most num_class = {}", path, levels, outputs));
  } else if (levels > 0) {
    outputs = levels;
  } else {
    // More classes than rows nearly always mean that the label is not a class.
    const auto most = static_cast<double>(std::min<int64_t>(train.rows, kMostClasses));
    const absl::Status classes = CheckLabels(
        train, path, [&](float label) { return IsClass(label, most); },
        fmt::format(
            "a class from 0 to {}, as there are {} rows (else give num_class; for numbers, another loss)",
            static_cast<int64_t>(most) - 1, train.rows));
    if (!classes.ok()) return classes;
    outputs = static_cast<int>(*std::max_element(train.label.begin(), train.label.end())) + 1;
  }
  if (parameters.loss == LossKind::kCrossEntropy && outputs < 2)
    return absl::InvalidArgumentError(
        path + ": the labels are of one class: expected two or more with cross entropy");
  if (absl::Status status = CheckTargets(parameters, outputs, train, path); !status.ok()) return status;
  return outputs;
}

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
        source_(files, ranks, static_cast<int>(parameters.nthread)) {}

  absl::StatusOr<TrainingData> Load();
  const std::string& cache_warning() const { return source_.cache_warning(); }

 private:
  int threads() const { return static_cast<int>(parameters_.nthread); }

  absl::Status CheckRequest() const;
  absl::StatusOr<RawRows> Read(const std::string& path, const DataOptions& reading, const FeatureSchema* like,
                               bool sharded, FeatureSchema* schema);
  absl::StatusOr<ScaledRows> ReadAll();
  // ReadAll after Key: an error if a file has changed since.
  absl::StatusOr<ScaledRows> ReadUnchanged();
  absl::StatusOr<std::string> Key();
  absl::StatusOr<TrainingData> Replicated();
  absl::StatusOr<TrainingData> Sharded();
  absl::Status Check(TrainingData* data) const;

  const TrainFiles& files_;
  const MlpParameters& parameters_;
  Communicator& ranks_;
  DataSource source_;
};

absl::Status Loading::CheckRequest() const {
  if (parameters_.early_stopping_epochs > 0 && source_.splits() && files_.validation_fraction <= 0) {
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
      Read(files_.train_path, files_.train_reading, nullptr, source_.train_sharded(), &all.schema);
  if (!train.ok()) return source_.OfTrain(train.status());
  all.train = *std::move(train);
  if (!source_.splits()) {
    absl::StatusOr<RawRows> validation = Read(files_.validation_path, files_.validation_reading, &all.schema,
                                              source_.validation_sharded(), nullptr);
    if (!validation.ok()) return source_.OfValidation(validation.status());
    all.validation = *std::move(validation);
  } else if (files_.validation_fraction > 0) {
    auto parts = SplitRows(all.train, files_.validation_fraction, files_.split_seed);
    if (!parts.ok()) return source_.OfTrain(parts.status());
    all.train = std::move(parts->first);
    all.validation = std::move(parts->second);
  }
  all.schema.scaling = ScalingOf(all.train, all.schema, parameters_.standardise);
  absl::Status status = source_.OfTrain(ScaleValues(files_.train_path, all.schema, &all.train));
  if (status.ok() && all.validation)
    status = source_.OfValidation(ScaleValues(source_.validation_path(), all.schema, &*all.validation));
  if (!status.ok()) return status;
  return all;
}

absl::StatusOr<ScaledRows> Loading::ReadUnchanged() {
  absl::StatusOr<ScaledRows> rows = ReadAll();
  if (!rows.ok()) return rows;
  if (absl::Status status = source_.CheckUnchanged(); !status.ok()) return status;
  return rows;
}

// The key of the data that this rank reads.
absl::StatusOr<std::string> Loading::Key() {
  const std::string extra =
      fmt::format("{}\nstandardise {} validation_fraction {} split_seed {}", kDenseFileVersion,
                  parameters_.standardise, files_.validation_fraction, files_.split_seed);
  return source_.Key(extra, [&](const std::string& path, const DataOptions& reading, bool sharded) {
    return FilesOfChannel(path, reading, sharded ? &ranks_ : nullptr);
  });
}

absl::Status Write(const ScaledRows& rows, SectionWriter& writer) {
  return WriteDense(rows.train, rows.validation ? &*rows.validation : nullptr, rows.schema, writer);
}

absl::StatusOr<TrainingData> Mapped(absl::StatusOr<MappedFile> file) {
  if (!file.ok()) return file.status();
  return ReadDense(std::make_shared<const MappedFile>(*std::move(file)));
}

absl::StatusOr<TrainingData> Loading::Replicated() {
  const absl::StatusOr<std::string> key = Key();
  if (!key.ok()) return key.status();
  if (const TrainingData* const kept = PreparedData<TrainingData>::Find(*key)) return *kept;
  absl::StatusOr<TrainingData> data = Mapped(source_.Open(*key, [&](SectionWriter& writer) {
    const absl::StatusOr<ScaledRows> rows = ReadUnchanged();
    return rows.ok() ? Write(*rows, writer) : rows.status();
  }));
  if (data.ok()) PreparedData<TrainingData>::Keep(*key, *data);
  return data;
}

absl::StatusOr<TrainingData> Loading::Sharded() {
  const absl::StatusOr<std::string> mine = Key();
  if (!mine.ok()) return mine.status();
  const absl::StatusOr<std::string> key =
      source_.KeyOfAll(fmt::format("shards of {} ranks", ranks_.size()), *mine);
  if (!key.ok()) return key.status();
  absl::StatusOr<TrainingData> found = Mapped(source_.Find(*key));
  const absl::StatusOr<bool> all_found = source_.AllFound(found.ok());
  if (!all_found.ok()) return all_found.status();
  if (*all_found) return found;
  const absl::StatusOr<ScaledRows> rows = ReadUnchanged();
  if (!rows.ok()) return rows.status();
  return Mapped(source_.Open(*key, [&](SectionWriter& writer) { return Write(*rows, writer); }));
}

absl::Status Loading::Check(TrainingData* data) const {
  const absl::StatusOr<int> outputs = OutputsFor(parameters_, data->schema, data->train, files_.train_path);
  if (!outputs.ok()) return source_.OfTrain(outputs.status());
  data->outputs = *outputs;
  if (data->validation) {
    const absl::Status status = source_.OfValidation(
        CheckTargets(parameters_, *outputs, *data->validation, source_.validation_path()));
    if (!status.ok()) return status;
  }
  // Where the ranks share a batch, its rows are among all; else each rank takes one of its own rows.
  const bool shared = parameters_.distribution != Distribution::kParameterServer &&
                      parameters_.batch_scaling == BatchScaling::kNone;
  const int64_t most = data->train.rows / (shared ? 1 : ranks_.size());
  data->batch_size = std::min(parameters_.batch_size, std::max<int64_t>(most, 1));
  return absl::OkStatus();
}

absl::StatusOr<TrainingData> Loading::Load() {
  if (absl::Status status = CheckRequest(); !status.ok()) return status;
  absl::StatusOr<TrainingData> data =
      source_.train_sharded() || source_.validation_sharded() ? Sharded() : Replicated();
  if (!data.ok()) return data;
  if (absl::Status status = AgreeOnData(files_.train_path, data->fingerprint, &ranks_); !status.ok())
    return status;
  if (absl::Status status = Check(&*data); !status.ok()) return status;
  return data;
}

}  // namespace

absl::StatusOr<TrainingData> LoadTrainingData(const TrainFiles& files, const MlpParameters& parameters,
                                              Communicator* ranks, std::string* warning) {
  TrainFiles readable = files;
  const absl::StatusOr<PipedFiles> piped = PipedFiles::Read(&readable);
  if (!piped.ok()) return piped.status();
  Loading loading(readable, parameters, ranks);
  absl::StatusOr<TrainingData> data = loading.Load();
  *warning = loading.cache_warning();
  return data;
}

void PrepareTrainingData(const TrainFiles& files, const MlpParameters& parameters) {
  PreparedData<TrainingData>::Begin();
  const std::unique_ptr<Communicator> alone = MakeSoleRank();
  std::string warning;
  LoadTrainingData(files, parameters, alone.get(), &warning).status().IgnoreError();
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
