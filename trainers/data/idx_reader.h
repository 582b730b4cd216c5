#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/data/data_set.h"

namespace winnow {

// Element types of an IDX file, with the format's own codes.
enum class IdxType : uint8_t {
  kByte = 8,
  kSignedByte = 9,
  kShort = 11,
  kInt = 12,
  kFloat = 13,
  kDouble = 14
};

// An IDX file: an array of numbers of one type, with the number of dimensions in its magic number (Y. LeCun,
// "The MNIST database of handwritten digits").
struct IdxArray {
  IdxType type = IdxType::kByte;
  std::vector<int64_t> shape;  // at least one dimension; none is 0
  std::vector<uint8_t> bytes;  // as in the file: the last dimension varies fastest, numbers big-endian
  int64_t rows() const { return shape[0]; }
  int64_t row_size() const;  // elements of one row
};

// Whether `path` (a file) is IDX: by the name (…-idx3-ubyte, .idx; optionally .gz), else by its first bytes,
// which no text has. False if it cannot be read.
bool LooksLikeIdx(const std::string& path);

// Reads the whole array, whose file may be gzip, on up to `threads` threads. Memory grows with the file's
// content, not with its header's promise. Errors name the file, what it contains and what was expected:
// InvalidArgument for another magic number, a dimension 0 and bytes after the array, DataLoss for a truncated
// array or gzip data, others as ByteStream.
absl::StatusOr<IdxArray> ReadIdx(const std::string& path, int threads);

// Returns all elements as floats, in the order of the file.
std::vector<float> IdxNumbers(const IdxArray& array);

// Rows of features and their labels, in two files.
struct IdxFiles {
  std::string features;
  std::string labels;  // "": none
};

// Whether the channel `path`, a file or folder, has IDX files; false if `options` name another format.
bool IsIdxChannel(const std::string& path, const DataOptions& options);

// Returns the files of the channel `path`. The labels of a file of features are in the file that
// options.label names (relative to the features' folder), else in the file beside it with "labels" for
// "images" and "idx1" for "idx3", with or without .gz; with label_is_of_training the order is reversed. A
// folder has one file of one dimension and one of features, with any names; several files of features are
// each paired as above, and form one table in order of name. InvalidArgument for a folder with anything else,
// or with both training and test files ("train-…" and "t10k-…"); NotFound for missing labels, unless they may
// be absent.
absl::StatusOr<std::vector<IdxFiles>> FindIdxFiles(const std::string& path, const DataOptions& options,
                                                   bool labels_may_be_absent);

}  // namespace winnow
