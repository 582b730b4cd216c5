#include "trainers/mlp/data/training_input.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <random>

#include "tests/catch.h"
#include "tests/trainers/collective/run_ranks.h"
#include "tests/trainers/data/data_folder.h"
#include "tests/trainers/data/idx_samples.h"
#include "trainers/data/split.h"

namespace winnow::mlp {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using namespace std::string_literals;
using Floats = std::vector<float>;

// Files, parameters for few rows of two classes, and a cache of their own.
struct Input {
  Input() {
    ::setenv("WINNOW_CACHE_DIR", folder.path("cache").c_str(), 1);
    ::setenv("WINNOW_CACHE_BYTES", "1000000000", 1);
    parameters.batch_size = 1;
  }
  ~Input() { ::unsetenv("WINNOW_CACHE_DIR"); }

  std::string Train(const std::string& name, std::string_view bytes) {
    return files.train_path = folder.Write("data/" + name, bytes);
  }
  // Four images of 2 x 2 of bytes, and labels 0 1 0 1.
  void TrainImages() {
    Train("a-images-idx3-ubyte",
          Idx(8, {4, 2, 2}, "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"s));
    folder.Write("data/a-labels-idx1-ubyte", Idx(8, {4}, "\x00\x01\x00\x01"s));
  }
  absl::StatusOr<TrainingData> Try() const {
    const std::unique_ptr<Communicator> alone = MakeSoleRank();
    std::string warning;
    return LoadTrainingData(files, parameters, alone.get(), &warning);
  }
  TrainingData Load() const {
    absl::StatusOr<TrainingData> data = Try();
    INFO(data.status());
    REQUIRE(data.ok());
    return *std::move(data);
  }
  std::string Error() const {
    const absl::StatusOr<TrainingData> data = Try();
    REQUIRE_FALSE(data.ok());
    CHECK(absl::IsInvalidArgument(data.status()));
    return std::string(data.status().message());
  }
  std::vector<absl::StatusOr<TrainingData>> OnRanks(int ranks) const {
    return RunRanks(ranks, [this](Communicator* communicator) {
      std::string warning;
      absl::StatusOr<TrainingData> data = LoadTrainingData(files, parameters, communicator, &warning);
      if (!data.ok()) communicator->Fail(data.status());
      return data;
    });
  }

  DataFolder folder;
  TrainFiles files;
  MlpParameters parameters;
};

Floats Copy(std::span<const float> values) { return Floats(values.begin(), values.end()); }

TEST_CASE("TrainingData: a table's columns are standardised, a missing value is their mean", "[mlp]") {
  Input input;
  input.Train("t.csv", "y,a,b\n0,1,5\n1,3,5\n0,,5\n1,5,5\n");
  const TrainingData data = input.Load();
  CHECK(data.schema.names == std::vector<std::string>{"a", "b"});
  CHECK(data.schema.scaling.mean == Floats{3, 5});
  const auto deviation = static_cast<float>(std::sqrt(8.0 / 3));
  CHECK(data.schema.scaling.deviation == Floats{deviation, 1});
  const float unit = static_cast<float>(2 / static_cast<double>(deviation));
  CHECK(Copy(data.train.values) == Floats{-unit, 0, 0, 0, 0, 0, unit, 0});
  CHECK(Copy(data.train.label) == Floats{0, 1, 0, 1});
  CHECK(data.outputs == 2);
  CHECK(data.train.bytes.empty());
}

TEST_CASE("TrainingData: a constant column that is no sum of floats has deviation 1", "[mlp]") {
  Input input;
  std::string table = "y,a\n";
  for (int row = 0; row < 1000; ++row) table += row % 2 == 0 ? "0,0.1\n" : "1,0.1\n";
  input.Train("t.csv", table);
  CHECK(input.Load().schema.scaling.deviation == Floats{1});
}

TEST_CASE("TrainingData: texts become 0/1 columns, text labels classes", "[mlp]") {
  Input input;
  input.parameters.standardise = false;
  input.files.train_reading.label = "y";
  input.Train("t.csv", "colour,y\nred,no\nblue,yes\nred,maybe\n");
  const TrainingData data = input.Load();
  CHECK(data.schema.names == std::vector<std::string>{"colour_blue", "colour_red"});
  CHECK(Copy(data.train.values) == Floats{0, 1, 1, 0, 0, 1});
  CHECK(data.schema.label_levels == std::vector<std::string>{"maybe", "no", "yes"});
  CHECK(data.outputs == 3);
}

TEST_CASE("TrainingData: what LIBSVM leaves out is 0", "[mlp]") {
  Input input;
  input.parameters.standardise = false;
  input.Train("t.libsvm", "0 1:2\n1 2:3\n");
  CHECK(Copy(input.Load().train.values) == Floats{2, 0, 0, 3});
}

TEST_CASE("TrainingData: images stay bytes, scaled by all pixels of the training data", "[mlp]") {
  Input input;
  input.TrainImages();
  const TrainingData data = input.Load();
  CHECK(data.train.bytes.size() == 16);
  CHECK(data.train.values.empty());
  CHECK(data.schema.of_bytes);
  CHECK(data.schema.image_rows == 2);
  CHECK(data.schema.image_columns == 2);
  CHECK(data.schema.scaling.mean == Floats{static_cast<float>(7.5 / 255)});
  CHECK(data.schema.scaling.deviation == Floats{static_cast<float>(std::sqrt(21.25) / 255)});
  const auto at = [&](float byte) { return byte * data.train.byte_scale + data.train.byte_shift; };
  CHECK(at(7.5f) == Approx(0).margin(1e-6));
  CHECK(at(15) == Approx(7.5 / std::sqrt(21.25)));
  input.parameters.standardise = false;
  CHECK(input.Load().train.byte_scale == 1 / 255.0f);
  CHECK(input.Load().train.byte_shift == 0);
}

TEST_CASE("TrainingData: arrays of floats have one mean and deviation", "[mlp]") {
  Input input;
  const std::string one = "\x3f\x80\x00\x00"s, three = "\x40\x40\x00\x00"s;
  input.Train("a-images-idx2-float", Idx(13, {2, 2}, one + three + three + one));
  input.folder.Write("data/a-labels-idx1-float", Idx(8, {2}, "\x00\x01"s));
  const TrainingData data = input.Load();
  CHECK(data.schema.scaling.mean == Floats{2});
  CHECK(Copy(data.train.values) == Floats{-1, 1, 1, -1});
}

TEST_CASE("TrainingData: validation rows are those that a split of the table takes", "[mlp]") {
  Input input;
  input.parameters.standardise = false;
  input.files.validation_fraction = 0.3;
  input.files.split_seed = 5;
  std::string table = "y,a\n";
  for (int row = 0; row < 40; ++row) table += std::to_string(row % 2) + "," + std::to_string(row) + "\n";
  input.Train("t.csv", table);
  const TrainingData data = input.Load();
  const auto parts = SplitByFraction(input.folder.Read(table), 0.3, 5);
  REQUIRE(parts.ok());
  CHECK(Copy(data.train.values) == parts->first.columns[0]);
  REQUIRE(data.validation);
  CHECK(Copy(data.validation->values) == parts->second.columns[0]);
  CHECK(Copy(data.validation->label) == parts->second.label);
}

TEST_CASE("TrainingData: a channel of validation data is scaled as the training data are", "[mlp]") {
  Input input;
  input.Train("t.csv", "y,a\n0,1\n1,3\n");
  input.files.validation_path = input.folder.Write("v.csv", "a,y\n5,1\n");
  input.files.validation_reading.label = "y";
  CHECK(Copy(input.Load().validation->values) == Floats{3});
  input.files.validation_path = input.folder.Write("v.csv", "a,y\n5,2\n");
  CHECK_THAT(input.Error(), Contains("v.csv: data row 1: label = 2: expected a class from 0 to 1"));
}

TEST_CASE("TrainingData: labels must go with the loss", "[mlp]") {
  Input input;
  const auto error = [&](LossKind loss, const std::string& labels, int num_class = 0) {
    input.parameters.loss = loss;
    input.parameters.num_class = num_class;
    std::string table = "y,a\n";
    for (size_t at = 0; at < labels.size(); at = labels.find(' ', at) + 1) {
      table += labels.substr(at, labels.find(' ', at) - at) + ",1\n";
      if (labels.find(' ', at) == std::string::npos) break;
    }
    input.Train("t.csv", table);
    return input.Error();
  };
  const LossKind classes = LossKind::kCrossEntropy;
  CHECK_THAT(error(classes, "0 1 1.5"), Contains("row 3: label = 1.5: expected a class from 0"));
  CHECK_THAT(error(classes, "0 1 -1"), Contains("row 3: label = -1"));
  CHECK_THAT(error(classes, "0 1 30000"), Contains("expected a class from 0 to 2, as there are 3 rows"));
  CHECK_THAT(error(classes, "0 2 1", 2),
             Contains("row 2: label = 2: expected a class from 0 to 1 with num_class 2"));
  CHECK_THAT(error(classes, "0 0"), Contains("the labels are of one class"));
  CHECK_THAT(error(classes, "x y z", 2), Contains("has 3 texts: expected at most num_class = 2"));
  CHECK_THAT(error(LossKind::kLogistic, "0 1 2"), Contains("row 3: label = 2: expected 0 or 1"));
  CHECK_THAT(error(LossKind::kLogistic, "x y z"), Contains("has 3 texts: expected 2"));
  CHECK_THAT(error(LossKind::kLogistic, "x x"), Contains("has 1 text: expected 2"));
  CHECK_THAT(error(LossKind::kSquared, "1 1e20"), Contains("row 2: label = 1e+20"));
  CHECK_THAT(error(LossKind::kHuber, "x y"), Contains("is text"));
}

TEST_CASE("TrainingData: outputs are num_class, or one for logistic and regression", "[mlp]") {
  Input input;
  input.Train("t.csv", "y,a\n0,1\n1,2\n1,3\n");
  input.parameters.num_class = 7;
  CHECK(input.Load().outputs == 7);
  for (const LossKind loss : {LossKind::kLogistic, LossKind::kSquared, LossKind::kHuber}) {
    input.parameters.loss = loss;
    CHECK(input.Load().outputs == 1);
  }
}

TEST_CASE("TrainingData: a batch larger than the data becomes as large as these", "[mlp]") {
  Input input;
  input.TrainImages();
  for (const int64_t asked : {1, 4, 5, 128}) {
    input.parameters.batch_size = asked;
    CHECK(input.Load().batch_size == std::min<int64_t>(asked, 4));
  }
}

TEST_CASE(
    "TrainingData: a batch that grows with the ranks becomes smaller where they make it larger than the data",
    "[mlp]") {
  Input input;
  input.TrainImages();
  input.parameters.batch_size = 2;
  input.parameters.batch_scaling = BatchScaling::kLinear;
  for (const absl::StatusOr<TrainingData>& data : input.OnRanks(2)) CHECK(data->batch_size == 2);
  for (const absl::StatusOr<TrainingData>& data : input.OnRanks(3)) CHECK(data->batch_size == 1);
}

TEST_CASE("TrainingData: a value beyond what scaling can hold is refused", "[mlp]") {
  Input input;
  input.Train("t.csv", "y,a\n0,0\n1,1e-30\n");
  input.files.validation_path = input.folder.Write("v.csv", "y,a\n0,0\n1,1e30\n");
  CHECK_THAT(input.Error(), Contains("v.csv: data row 2: feature a is 1e+30"));
}

TEST_CASE("TrainingData: early stopping without validation data is refused", "[mlp]") {
  Input input;
  input.TrainImages();
  input.parameters.early_stopping_epochs = 3;
  CHECK_THAT(input.Error(), StartsWith("hyperparameter early_stopping_epochs = 3: expected validation data"));
}

TEST_CASE("TrainingData: broken arrays are refused with what is wrong", "[mlp]") {
  Input input;
  input.TrainImages();
  const std::string labels =
      input.folder.Write("data/a-labels-idx1-ubyte", Idx(8, {5}, "\x00\x01\x00\x01\x00"s));
  CHECK_THAT(input.Error(), StartsWith("--train: " + labels + ": 5 labels: expected 4, one for each row of"));
  input.folder.Write("data/a-labels-idx1-ubyte", Idx(8, {4, 1}, "\x00\x01\x00\x01"s));
  CHECK_THAT(input.Error(), Contains("has 2 dimensions: expected one"));
  const std::string nan = "\x7f\xc0\x00\x00"s, one = "\x3f\x80\x00\x00"s;
  input.TrainImages();
  input.Train("a-images-idx3-ubyte", Idx(13, {4, 1, 2}, one + one + one + one + one + nan + one + one));
  CHECK_THAT(input.Error(), Contains("row 3: the pixel of row 1, column 2 is nan: expected a finite number"));
  input.Train("a-images-idx3-ubyte", "\x01\x00\x08\x03 etc");
  CHECK_THAT(input.Error(), Contains("expected an IDX file"));
}

TEST_CASE("TrainingData: options that go with other data are refused", "[mlp]") {
  Input input;
  input.TrainImages();
  input.files.train_reading.weight = "w";
  CHECK_THAT(input.Error(), Contains("the option weight is given"));
  input.files.train_reading = {};
  input.Train("t.csv", "y,a\n0,x\n1,z\n");
  input.files.train_reading.categorical = true;
  CHECK_THAT(input.Error(), Contains("categorical is true"));
  input.files.train_reading = {};
  input.Train("t.libsvm", "0 qid:1 1:2\n1 qid:2 1:3\n");
  CHECK_THAT(input.Error(), Contains("divided into groups"));
}

bool SameData(const DenseData& a, const DenseData& b) {
  const auto same = [](auto x, auto y) { return std::equal(x.begin(), x.end(), y.begin(), y.end()); };
  return a.rows == b.rows && a.features == b.features && same(a.bytes, b.bytes) && same(a.values, b.values) &&
         same(a.label, b.label) && same(a.weight, b.weight) && a.byte_scale == b.byte_scale;
}

// Rows of two numbers and a text; the last file's alone has the level "late".
void WriteShards(Input* input, int files) {
  std::mt19937 random(1);
  for (int file = 0; file < files; ++file) {
    std::string table = "y,a,b,w\n";
    for (int row = 0; row < 50 + file; ++row) {
      table += std::to_string(random() % 3) + "," + std::to_string(random() % 1000) + ",";
      table += (file == files - 1 && row == 3 ? "late"s
                : random() % 2 == 0           ? "x"s
                                              : "z"s) +
               ",1." + std::to_string(row) + "\n";
    }
    input->folder.Write("data/part" + std::to_string(file) + ".csv", table);
  }
  input->files.train_path = input->folder.path("data");
  input->files.train_reading.weight = "w";
}

TEST_CASE("TrainingData: ranks that read their own files all have the whole folder", "[mlp]") {
  Input input;
  WriteShards(&input, 5);
  input.files.validation_fraction = 0.2;
  const TrainingData whole = input.Load();
  input.files.train_sharded = true;
  for (const int ranks : {2, 3, 5}) {
    for (int time = 0; time < 2; ++time) {  // made, then mapped
      for (const absl::StatusOr<TrainingData>& data : input.OnRanks(ranks)) {
        REQUIRE(data.ok());
        CHECK(SameData(data->train, whole.train));
        CHECK(SameData(*data->validation, *whole.validation));
        CHECK(data->fingerprint == whole.fingerprint);
      }
    }
  }
  for (const absl::StatusOr<TrainingData>& data : input.OnRanks(6)) CHECK_FALSE(data.ok());
}

TEST_CASE("TrainingData: ranks share out files of images", "[mlp]") {
  Input input;
  for (int file = 0; file < 3; ++file) {
    const std::string name = "data/" + std::to_string(file);
    input.folder.Write(name + "-images-idx2-ubyte",
                       Idx(8, {2, 3}, std::string(6, static_cast<char>(file * 40))));
    input.folder.Write(name + "-labels-idx1-ubyte", Idx(8, {2}, "\x00\x01"s));
  }
  input.files.train_path = input.folder.path("data");
  const TrainingData whole = input.Load();
  CHECK(whole.train.rows == 6);
  input.files.train_sharded = true;
  for (const absl::StatusOr<TrainingData>& data : input.OnRanks(2)) {
    REQUIRE(data.ok());
    CHECK(SameData(data->train, whole.train));
  }
  input.folder.Write("data/2-images-idx2-ubyte", Idx(8, {2, 2}, "abcd"));
  for (const absl::StatusOr<TrainingData>& data : input.OnRanks(3)) {
    REQUIRE_FALSE(data.ok());
    CHECK_THAT(std::string(data.status().message()), Contains("rank 2's files have 2 features"));
  }
  input.folder.Write("data/2-images-idx2-ubyte", Idx(8, {2, 1, 3}, "abcdef"));
  for (const absl::StatusOr<TrainingData>& data : input.OnRanks(3))
    CHECK(absl::IsInvalidArgument(data.status()));
}

TEST_CASE("TrainingData: neither threads nor replicated ranks change the bits", "[mlp]") {
  Input input;
  WriteShards(&input, 3);
  const uint64_t fingerprint = input.Load().fingerprint;
  ::setenv("WINNOW_CACHE_DIR", "off", 1);
  input.parameters.nthread = 3;
  for (const absl::StatusOr<TrainingData>& data : input.OnRanks(2)) {
    REQUIRE(data.ok());
    CHECK(data->fingerprint == fingerprint);
  }
}

TEST_CASE("TrainingData: ranks that read different data all fail", "[mlp]") {
  Input input;
  const std::string one = input.Train("1.csv", "y,a\n0,1\n1,2\n"),
                    other = input.Train("2.csv", "y,a\n0,1\n1,3\n");
  const auto all = RunRanks(2, [&](Communicator* ranks) {
    TrainFiles files;
    files.train_path = ranks->rank() == 0 ? one : other;
    std::string warning;
    return LoadTrainingData(files, input.parameters, ranks, &warning).status();
  });
  for (const absl::Status& status : all) {
    CHECK(absl::IsFailedPrecondition(status));
    CHECK_THAT(std::string(status.message()), Contains("rank 1 reads other data there than rank 0"));
  }
}

TEST_CASE("TrainingData: a second run maps what the first has made, a changed file is read", "[mlp]") {
  Input input;
  input.TrainImages();
  const TrainingData first = input.Load();
  const auto entries = [&] {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(input.folder.path("cache")))
      count += entry.path().extension() == ".bin";
    return count;
  };
  CHECK(entries() == 1);
  CHECK(SameData(input.Load().train, first.train));
  CHECK(entries() == 1);
  input.folder.Write("data/a-labels-idx1-ubyte", Idx(8, {4}, "\x01\x01\x00\x01"s));
  const TrainingData changed = input.Load();
  CHECK(changed.train.label[0] == 1);
  CHECK(changed.fingerprint != first.fingerprint);
  input.parameters.standardise = false;
  CHECK(input.Load().train.byte_shift == 0);
}

TEST_CASE("TrainingData: data to predict are scaled alike and need no label", "[mlp]") {
  Input input;
  input.Train("t.csv", "y,a,b\n0,1,u\n1,3,v\n");
  const TrainingData data = input.Load();
  const auto read = [&](const std::string& bytes) {
    return LoadDataToPredict(input.folder.Write("p.csv", bytes), {}, data.schema, 1);
  };
  const auto labelled = read("y,a,b\n1,1,u\n1,3,v\n"), bare = read("b,a\nv,\nnew,2\n");
  REQUIRE(labelled.ok());
  CHECK(Copy(labelled->values) == Copy(data.train.values));
  CHECK(Copy(labelled->label) == Floats{1, 1});
  REQUIRE(bare.ok());
  CHECK(bare->label.empty());
  CHECK(Copy(bare->values) == Floats{0, -1, 1, 0, -1, -1});
  CHECK(absl::IsInvalidArgument(read("y,a\n1,1\n").status()));
}

TEST_CASE("TrainingData: images to predict have the shape of those trained on", "[mlp]") {
  Input input;
  input.TrainImages();
  const TrainingData data = input.Load();
  const auto read = [&](const std::string& name, const std::string& bytes) {
    return LoadDataToPredict(input.folder.Write(name, bytes), {}, data.schema, 1);
  };
  const auto images = read("p-images-idx3-ubyte", Idx(8, {1, 2, 2}, "abcd"));
  REQUIRE(images.ok());
  CHECK(images->label.empty());
  CHECK(images->byte_scale == data.train.byte_scale);
  CHECK(images->byte_shift == data.train.byte_shift);
  const auto message = [](const auto& result) { return std::string(result.status().message()); };
  CHECK_THAT(message(read("p-images-idx3-ubyte", Idx(8, {1, 1, 4}, "abcd"))),
             Contains("images of 1 x 4, bytes: expected images of 2 x 2, bytes"));
  CHECK_THAT(message(read("p-images-idx3-ubyte", Idx(9, {1, 2, 2}, "abcd"))),
             Contains("images of 2 x 2, numbers that are not bytes: expected"));
  CHECK_THAT(message(read("p.csv", "a,b\n1,2\n")),
             Contains("a table: expected IDX files of images of 2 x 2"));
}

TEST_CASE("TrainingData: MNIST is read and kept", "[mlp]") {
  const char* const folder = std::getenv("WINNOW_DATA_DIR");
  if (folder == nullptr) return Skip("WINNOW_DATA_DIR is not set");
  Input input;
  input.files.train_path = folder + "/train-images-idx3-ubyte.gz"s;
  input.files.validation_path = folder + "/t10k-images-idx3-ubyte.gz"s;
  input.parameters.batch_size = 128;
  const auto load = [&] {
    const TrainingData data = input.Load();
    CHECK(data.train.rows == 60000);
    CHECK(data.validation->rows == 10000);
    CHECK(data.outputs == 10);
    CHECK(data.schema.scaling.mean[0] == Approx(0.1307).margin(5e-5));  // as everyone finds
    CHECK(data.schema.scaling.deviation[0] == Approx(0.3081).margin(5e-5));
  };
  // The entries of the cache, by name, with the numbers of their files.
  const auto kept = [&] {
    std::map<std::string, ino_t> entries;
    for (const auto& entry : fs::directory_iterator(input.folder.path("cache"))) {
      struct stat info {};
      REQUIRE(::stat(entry.path().c_str(), &info) == 0);
      if (entry.path().extension() == ".bin") entries[entry.path().filename()] = info.st_ino;
    }
    return entries;
  };
  load();
  const auto entries = kept();
  CHECK_FALSE(entries.empty());
  load();
  CHECK(kept() == entries);  // mapped, not made again
}

}  // namespace
}  // namespace winnow::mlp
