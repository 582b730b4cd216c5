// Arrays in IDX, plain or gzip.

#include "tests/fuzz/scratch_file.h"
#include "trainers/data/idx_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  static fuzz::ScratchFile file;
  const std::string& path = file.Hold({reinterpret_cast<const char*>(data), size});
  (void)LooksLikeIdx(path);
  const absl::StatusOr<IdxArray> array = ReadIdx(path, 1);
  if (!array.ok()) return 0;
  int64_t elements = 1;
  for (int64_t length : array->shape) {
    fuzz::Require(length > 0, "no dimension is 0");
    elements *= length;
  }
  fuzz::Require(array->rows() * array->row_size() == elements, "rows are as long as the shape says");
  fuzz::Require(static_cast<int64_t>(IdxNumbers(*array).size()) == elements, "the array is whole");
  return 0;
}
