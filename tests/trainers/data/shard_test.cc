#include "trainers/data/shard.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/catch.h"
#include "tests/trainers/data/data_folder.h"
#include "trainers/data/reader.h"

namespace winnow {
namespace {

using Catch::Matchers::Contains;
using Begins = std::vector<int64_t>;

// Lets `size` threads exchange texts, as ranks do.
class Meeting {
 public:
  explicit Meeting(int size) : size_(size), texts_(static_cast<size_t>(size)) {}

  std::vector<std::string> Exchange(int rank, std::string_view mine) {
    std::unique_lock lock(mutex_);
    texts_[static_cast<size_t>(rank)] = mine;
    const int round = round_;
    if (++arrived_ == size_) {
      arrived_ = 0;
      ++round_;
      answer_ = texts_;
      all_here_.notify_all();
    }
    all_here_.wait(lock, [&] { return round_ > round; });
    return answer_;
  }

 private:
  const int size_;
  std::mutex mutex_;
  std::condition_variable all_here_;
  int arrived_ = 0, round_ = 0;
  std::vector<std::string> texts_, answer_;
};

std::vector<absl::StatusOr<DataSet>> ReadOnRanks(const std::string& path, const DataOptions& options,
                                                 const DataSchema* like, int size) {
  Meeting meeting(size);
  std::vector<absl::StatusOr<DataSet>> parts(static_cast<size_t>(size), absl::UnknownError("not read"));
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.emplace_back([&, rank] {
      parts[static_cast<size_t>(rank)] =
          ReadShard(path, options, like, rank, size, [&](std::string_view mine) {
            return absl::StatusOr<std::vector<std::string>>(meeting.Exchange(rank, mine));
          });
    });
  }
  for (std::thread& rank : ranks) rank.join();
  return parts;
}

// Checks that the concatenated parts equal the whole.
void CheckParts(const std::vector<absl::StatusOr<DataSet>>& parts, const DataSet& whole) {
  int64_t row = 0;
  for (const absl::StatusOr<DataSet>& part : parts) {
    INFO(part.status());
    REQUIRE(part.ok());
    CHECK(part->first_row == row);
    CHECK(part->feature_names == whole.feature_names);
    CHECK(part->categorical == whole.categorical);
    CHECK(part->schema.label_levels == whole.schema.label_levels);
    const auto slice = [&](const std::vector<float>& all) {
      return std::vector<float>(all.begin() + row, all.begin() + row + part->rows);
    };
    for (size_t i = 0; i < whole.columns.size(); ++i) CHECK(Same(part->columns[i], slice(whole.columns[i])));
    CHECK(part->label == slice(whole.label));
    row += part->rows;
  }
  CHECK(row == whole.rows);
}

DataSet ReadWhole(const std::string& path, const DataOptions& options) {
  absl::StatusOr<DataSet> data = ReadDataSet(path, options, nullptr);
  INFO(data.status());
  REQUIRE(data.ok());
  return *std::move(data);
}

TEST_CASE("Shard: rows are parted evenly, in order, all of them", "[data]") {
  for (const int64_t rows : {int64_t{0}, int64_t{1}, int64_t{7}, int64_t{1000}, int64_t{1} << 62}) {
    for (const int size : {1, 2, 3, 7}) {
      int64_t end = 0;
      for (int rank = 0; rank < size; ++rank) {
        const auto range = RowRange(rows, rank, size);
        CHECK(range.first == end);
        CHECK(range.second - range.first >= rows / size);
        CHECK(range.second - range.first <= rows / size + 1);
        end = range.second;
      }
      CHECK(end == rows);
    }
  }
}

TEST_CASE("Shard: borders of grouped rows fall between groups", "[data]") {
  const Begins groups = {0, 3, 4, 10, 12};
  CHECK(GroupRowRange(groups, 0, 2) == std::pair<int64_t, int64_t>{0, 4});
  CHECK(GroupRowRange(groups, 1, 2) == std::pair<int64_t, int64_t>{4, 12});
  CHECK(GroupRowRange(groups, 1, 6) == std::pair<int64_t, int64_t>{0, 4});
  CHECK(GroupRowRange(groups, 3, 6) == std::pair<int64_t, int64_t>{4, 4});
  CHECK(GroupRowRange(groups, 5, 6) == std::pair<int64_t, int64_t>{10, 12});
}

TEST_CASE("Shard: rows taken keep their groups and numbers", "[data]") {
  DataFolder folder;
  DataOptions options = Label("y");
  options.group = "q";
  options.weight = "w";
  const DataSet all = folder.Read("q,y,w,a\n1,0,1,1\n1,1,1,2\n2,0,5,3\n3,1,7,4\n3,0,7,5\n", options);
  const DataSet some = TakeRows(TakeRows(all, {2, 5}), {1, 3});
  CHECK(some.rows == 2);
  CHECK(some.first_row == 3);
  CHECK(some.columns[0] == std::vector<float>{4, 5});
  CHECK(some.label == std::vector<float>{1, 0});
  CHECK(some.weight == std::vector<float>{7});
  CHECK(some.group_begin == Begins{0, 2});
}

// Four files in which the ranks must not decide alone: "size" is numbers in the first two, levels differ.
std::string FourFiles(const DataFolder& folder) {
  folder.Write("d/1.csv", "y,colour,size,b\nno,red,1,5\nno,red,2,6\n");
  folder.Write("d/2.csv", "y,colour,size,b\nyes,blue,3,NA\n");
  folder.Write("d/3.csv", "maybe,NA,small,8\nno,zinc,1,9\n");
  folder.Write("d/4.csv.gz", Gzip("y,colour,size,b\nno,amber,large,10\n"));
  return folder.path("d");
}

TEST_CASE("Shard: ranks agree on kinds, levels and classes, and get the rows of their files", "[data]") {
  DataFolder folder;
  const std::string path = FourFiles(folder);
  for (const bool categorical : {false, true}) {
    DataOptions options = Label("y");
    options.categorical = categorical;
    const DataSet whole = ReadWhole(path, options);
    CHECK(whole.schema.columns[1].text);
    CHECK(whole.schema.columns[1].levels == std::vector<std::string>{"1", "2", "3", "large", "small"});
    for (const int size : {1, 2, 3, 4}) CheckParts(ReadOnRanks(path, options, nullptr, size), whole);
  }
}

TEST_CASE("Shard: validation data is read by the training data's schema", "[data]") {
  DataFolder folder;
  const std::string path = FourFiles(folder);
  const DataSet whole = ReadWhole(path, Label("y"));
  folder.Write("v/1.csv", "b,size,y,colour\n1,3,yes,red\n");
  folder.Write("v/2.csv", "b,size,y,colour\n1,new,no,red\n1,2,maybe,red\n");
  absl::StatusOr<DataSet> validation = ReadDataSet(folder.path("v"), Label("y"), &whole.schema);
  REQUIRE(validation.ok());
  CheckParts(ReadOnRanks(folder.path("v"), Label("y"), &whole.schema, 2), *validation);
}

TEST_CASE("Shard: LIBSVM parts count from the same index to the same", "[data]") {
  DataFolder folder;
  folder.Write("d/1.svm", "1 2:5 3:6\n0 2:7\n");
  folder.Write("d/2.svm", "1 0:1 7:2\n");
  const DataSet whole = ReadWhole(folder.path("d"), {});
  CHECK(whole.columns.size() == 8);
  CheckParts(ReadOnRanks(folder.path("d"), {}, nullptr, 2), whole);
}

TEST_CASE("Shard: all ranks hear of what is wrong with the whole", "[data]") {
  DataFolder folder;
  const std::string path = FourFiles(folder);
  for (const auto& part : ReadOnRanks(path, Label("y"), nullptr, 5)) {
    CHECK_THAT(std::string(part.status().message()), Contains("4 files for 5 ranks"));
  }
  DataOptions options = Label("y");
  options.max_levels = 4;
  for (const auto& part : ReadOnRanks(path, options, nullptr, 2)) {
    CHECK_THAT(std::string(part.status().message()),
               Contains("3.csv:1: column \"size\": 5 different texts") && Contains("max_levels"));
  }
  folder.Write("q/1.csv", "y,q,a\n1,7,1\n1,8,1\n");
  folder.Write("q/2.csv", "y,q,a\n1,8,1\n1,9,1\n");
  DataOptions grouped = Label("y");
  grouped.group = "q";
  for (const auto& part : ReadOnRanks(folder.path("q"), grouped, nullptr, 2)) {
    CHECK_THAT(std::string(part.status().message()),
               Contains("query id \"8\" stands in the files of two ranks"));
  }
  folder.Write("w/1.csv", "y,w,a\n1,0,1\n");
  folder.Write("w/2.csv", "y,w,a\n1,0,1\n");
  options = Label("y");
  options.weight = "w";
  for (const auto& part : ReadOnRanks(folder.path("w"), options, nullptr, 2)) {
    CHECK_THAT(std::string(part.status().message()), Contains("every weight is 0"));
  }
}

}  // namespace
}  // namespace winnow
