#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/data/data_set.h"

namespace winnow {

// What the elements of an IDX file are, with the format's own codes.
enum class IdxType : uint8_t {
  kByte = 8,
  kSignedByte = 9,
  kShort = 11,
  kInt = 12,
  kFloat = 13,
  kDouble = 14
};

// An IDX file: an array of numbers of one type, of as many dimensions as its magic number says
// (Y. LeCun, "The MNIST database of handwritten digits").
struct IdxArray {
  IdxType type = IdxType::kByte;
  std::vector<int64_t> shape;  // at least one dimension; none is 0
  std::vector<uint8_t> bytes;  // as in the file: the last dimension changes fastest, numbers big-endian
  int64_t rows() const { return shape[0]; }
  int64_t row_size() const;  // elements of one row
};

// Whether `path` (a file) is IDX: by the name (…-idx3-ubyte, .idx; .gz behind it or not), else by its first
// bytes, which no text has. False if it cannot be read.
bool LooksLikeIdx(const std::string& path);

// The whole array, whose file may be gzip. Memory grows with what the file holds, not with what its header
// promises. Errors name the file, what it holds and what was expected: InvalidArgument for another magic
// number, a dimension 0 and bytes behind the array, DataLoss for an array or gzip data that is cut short,
// others as of ByteStream. Unpacks and reads on up to `threads` threads.
absl::StatusOr<IdxArray> ReadIdx(const std::string& path, int threads);

// All elements as floats, in the order of the file.
std::vector<float> IdxNumbers(const IdxArray& array);

// Rows of features and their labels, in two files.
struct IdxFiles {
  std::string features;
  std::string labels;  // "": none
};

// Whether the channel `path`, a file or folder, is of IDX files; not if `options` say another format.
bool IsIdxChannel(const std::string& path, const DataOptions& options);

// The files of the channel `path`. Of a file of features, the labels stand in the file that options.label
// names (from the features' folder), else in the one beside it whose name has "labels" for "images" and
// "idx1" for "idx3", with or without .gz; the other way round where label_is_of_training. Of a folder, one file of one dimension and one of more are labels
// and features, whatever their names, and of several features' files each is paired as above; they are one
// table in order of name. InvalidArgument for a folder that holds anything else, or that holds both training
// and test files ("train-…" and "t10k-…"); NotFound for labels that are not there, unless they may be absent.
absl::StatusOr<std::vector<IdxFiles>> FindIdxFiles(const std::string& path, const DataOptions& options,
                                                   bool labels_may_be_absent);

}  // namespace winnow
