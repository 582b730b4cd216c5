#include "trainers/data/idx_reader.h"

#include <cstdlib>
#include <filesystem>

#include "tests/catch.h"
#include "tests/trainers/data/data_folder.h"
#include "tests/trainers/data/idx_samples.h"

namespace winnow {
namespace {

using Catch::Matchers::Contains;
using namespace std::string_literals;

std::string ErrorOf(const std::string& path, absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
  const absl::StatusOr<IdxArray> array = ReadIdx(path, 2);
  REQUIRE_FALSE(array.ok());
  CHECK(array.status().code() == code);
  const std::string message(array.status().message());
  CHECK_THAT(message, Contains(path));
  return message;
}

std::string FindError(const std::string& path, const DataOptions& options = {}) {
  const auto found = FindIdxFiles(path, options, false);
  REQUIRE_FALSE(found.ok());
  return std::string(found.status().message());
}

TEST_CASE("Idx: plain and gzip files give the same array", "[data]") {
  DataFolder folder;
  const std::string file = Idx(8, {2, 1, 3}, "abcdef");
  for (const std::string& bytes : {file, Gzip(file), Gzip(file.substr(0, 9)) + Gzip(file.substr(9))}) {
    const absl::StatusOr<IdxArray> array = ReadIdx(folder.Write("images", bytes), 2);
    REQUIRE(array.ok());
    CHECK(array->shape == std::vector<int64_t>{2, 1, 3});
    CHECK(array->row_size() == 3);
    CHECK(std::string(array->bytes.begin(), array->bytes.end()) == "abcdef");
  }
}

TEST_CASE("Idx: numbers of every type are read big-endian", "[data]") {
  const auto one = [](uint8_t type, const std::string& content) {
    DataFolder folder;
    const absl::StatusOr<IdxArray> array = ReadIdx(folder.Write("x", Idx(type, {1}, content)), 1);
    REQUIRE(array.ok());
    return IdxNumbers(*array);
  };
  CHECK(one(8, "\xff") == std::vector<float>{255});
  CHECK(one(9, "\xff") == std::vector<float>{-1});
  CHECK(one(11, "\xff\xfe") == std::vector<float>{-2});
  CHECK(one(12, "\x00\x01\x00\x00"s) == std::vector<float>{65536});
  CHECK(one(13, "\x3f\xc0\x00\x00"s) == std::vector<float>{1.5f});
  CHECK(one(14, "\xbf\xf8\x00\x00\x00\x00\x00\x00"s) == std::vector<float>{-1.5f});
}

TEST_CASE("Idx: another magic number is refused with what was found", "[data]") {
  DataFolder folder;
  for (const std::string& bytes : {"\x00\x00\x07\x01\x00\x00\x00\x01x"s, "\x00\x01\x08\x01\x00\x00\x00\x01x"s,
                                   "\x00\x00\x08\x00"s, "a,b\n"s, "\x00\x00"s, ""s}) {
    CHECK_THAT(ErrorOf(folder.Write("x-idx1-ubyte", bytes)), Contains("expected an IDX file"));
  }
  CHECK_THAT(ErrorOf(folder.Write("x-idx1-ubyte", std::string("\x00\x00\x07\x01", 4))),
             Contains("begins with"));
  CHECK_THAT(ErrorOf(folder.Write("x-idx1-ubyte", "\x12\x34\x08\x03")), Contains("begins with 12 34 08 03"));
}

TEST_CASE("Idx: a file must hold what its header says, no less and no more", "[data]") {
  DataFolder folder;
  const auto lost = absl::StatusCode::kDataLoss;
  CHECK_THAT(ErrorOf(folder.Write("x", Idx(8, {2, 3}, "abcde")), lost),
             Contains("ends after 17 bytes: expected 18, as the header says 2 x 3"));
  CHECK_THAT(ErrorOf(folder.Write("x", Idx(8, {2, 3}, "").substr(0, 10)), lost),
             Contains("within the header"));
  CHECK_THAT(ErrorOf(folder.Write("x", Idx(8, {2, 3}, "abcdefg"))), Contains("goes on behind its array"));
  CHECK_THAT(ErrorOf(folder.Write("x", Gzip(Idx(8, {2, 3}, "abcdef\n")))), Contains("goes on behind"));
  CHECK_THAT(ErrorOf(folder.Write("x", Idx(8, {2, 0}, ""))), Contains("dimension 2 of 2 is 0"));
}

TEST_CASE("Idx: gzip data that is cut short is said to be", "[data]") {
  DataFolder folder;
  const std::string packed = Gzip(Idx(8, {4}, "abcd"));
  for (const size_t size : {packed.size() - 1, packed.size() - 8, packed.size() - 12}) {
    CHECK_THAT(ErrorOf(folder.Write("x.gz", packed.substr(0, size)), absl::StatusCode::kDataLoss),
               Contains("gzip data is cut short"));
  }
}

// 10^18 bytes could not be had: asking for them would throw.
TEST_CASE("Idx: what a header promises is not allocated", "[data]") {
  DataFolder folder;
  const std::string file = Idx(8, {1000000000, 1000000000}, "abc");
  for (const std::string& bytes : {file, Gzip(file)})
    CHECK_THAT(ErrorOf(folder.Write("x", bytes), absl::StatusCode::kDataLoss),
               Contains("ends after 15 bytes: expected 1000000000000000012"));
  CHECK_THAT(ErrorOf(folder.Write("x", Idx(8, {4000000000, 4000000000, 4000000000}, ""))),
             Contains("expected fewer than 2^63 bytes"));
}

TEST_CASE("Idx: files are known by name or first bytes", "[data]") {
  DataFolder folder;
  CHECK(LooksLikeIdx(folder.Write("train-images-idx3-ubyte.gz", "broken")));
  CHECK(LooksLikeIdx(folder.Write("x.idx", "broken")));
  CHECK(LooksLikeIdx(folder.Write("any", Gzip(Idx(8, {1}, "x")))));
  CHECK_FALSE(LooksLikeIdx(folder.Write("idx.csv", "a,b\n1,2\n")));
  CHECK_FALSE(LooksLikeIdx(folder.Write("myidx", "a,b\n1,2\n")));
  CHECK_FALSE(LooksLikeIdx(folder.path("absent")));
}

TEST_CASE("Idx: labels stand beside the images, or where the option says", "[data]") {
  DataFolder folder;
  const std::string images = folder.Write("train-images-idx3-ubyte", Idx(8, {1, 1, 1}, "a"));
  CHECK_THAT(FindError(images), Contains("expected the file " + folder.path("train-labels-idx1-ubyte")));
  const std::string labels = folder.Write("train-labels-idx1-ubyte.gz", Gzip(Idx(8, {1}, "\x01")));
  CHECK(FindIdxFiles(images, {}, false)->at(0).labels == labels);
  const std::string mine = folder.Write("mine", Idx(8, {1}, "\x01"));
  CHECK(FindIdxFiles(images, Label("mine"), false)->at(0).labels == mine);
  CHECK_THAT(FindError(images, Label("other")), Contains("expected the file " + folder.path("other")));
  CHECK(FindIdxFiles(images, Label("other"), true)->at(0).labels == labels);
  CHECK(FindIdxFiles(mine, {}, true)->at(0).labels.empty());
}

TEST_CASE("Idx: labels of their own go before those that the training data were said to have", "[data]") {
  DataFolder folder;
  folder.Write("mine", Idx(8, {1}, "\x01"));
  const std::string images = folder.Write("t10k-images-idx3-ubyte", Idx(8, {1, 1, 1}, "a"));
  DataOptions options = Label("mine");
  options.label_is_of_training = true;
  CHECK(FindIdxFiles(images, options, false)->at(0).labels == folder.path("mine"));
  const std::string own = folder.Write("t10k-labels-idx1-ubyte", Idx(8, {1}, "\x01"));
  CHECK(FindIdxFiles(images, options, false)->at(0).labels == own);
  folder.Write("b/x", Idx(8, {1, 1, 1}, "a"));
  const std::string beside = folder.Write("b/y", Idx(8, {1}, "\x01"));
  CHECK(FindIdxFiles(folder.path("b"), options, false)->at(0).labels == beside);
}

TEST_CASE("Idx: a folder is one table of its images, each with its labels", "[data]") {
  DataFolder folder;
  folder.Write("b/x", Idx(8, {1, 1, 1}, "a"));
  folder.Write("b/y", Idx(8, {1}, "\x01"));
  const auto pair = FindIdxFiles(folder.path("b"), {}, false);
  REQUIRE(pair.ok());
  CHECK(pair->at(0).features == folder.path("b/x"));
  CHECK(pair->at(0).labels == folder.path("b/y"));
  for (const char* part : {"1", "2"}) {
    folder.Write("c/"s + part + "-images-idx2-ubyte", Idx(8, {1, 1}, "a"));
    folder.Write("c/"s + part + "-labels-idx1-ubyte", Idx(8, {1}, "\x01"));
  }
  const auto several = FindIdxFiles(folder.path("c"), {}, false);
  REQUIRE(several.ok());
  REQUIRE(several->size() == 2);
  CHECK(several->at(1).labels == folder.path("c/2-labels-idx1-ubyte"));
  folder.Write("c/notes.txt", "hello");
  CHECK_THAT(FindError(folder.path("c")), Contains("notes.txt: is no IDX file"));
}

TEST_CASE("Idx: training and test images are not mixed", "[data]") {
  DataFolder folder;
  for (const char* part : {"train", "t10k"}) {
    folder.Write(part + "-images-idx3-ubyte"s, Idx(8, {1, 1, 1}, "a"));
    folder.Write(part + "-labels-idx1-ubyte"s, Idx(8, {1}, "\x01"));
  }
  CHECK_THAT(FindError(folder.path()), Contains("holds both training and test images"));
}

TEST_CASE("Idx: reads MNIST", "[data]") {
  const char* data = std::getenv("WINNOW_DATA_DIR");
  if (data == nullptr) return Skip("WINNOW_DATA_DIR is not set");
  const std::string images = data + "/t10k-images-idx3-ubyte.gz"s;
  const auto files = FindIdxFiles(images, {}, false);
  REQUIRE(files.ok());
  const absl::StatusOr<IdxArray> array = ReadIdx(images, 1), labels = ReadIdx(files->at(0).labels, 1);
  REQUIRE(array.ok());
  REQUIRE(labels.ok());
  CHECK(array->shape == std::vector<int64_t>{10000, 28, 28});
  CHECK(std::vector<uint8_t>(labels->bytes.begin(), labels->bytes.begin() + 5) ==
        std::vector<uint8_t>{7, 2, 1, 0, 4});
}

}  // namespace
}  // namespace winnow
