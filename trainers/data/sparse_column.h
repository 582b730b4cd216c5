#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace winnow {

// A column of which only the rows that differ from `rest` are kept.
struct SparseColumn {
  bool used = false;           // false: the column is in DataSet::columns
  bool dense_later = false;    // kept so only while the table is read: many rows or few columns
  std::vector<uint32_t> rows;  // ascending
  std::vector<float> values;   // of each of them
  float rest = std::numeric_limits<float>::quiet_NaN();  // NaN or 0: the value of every other row

  void Add(int64_t row, float value) {
    rows.push_back(static_cast<uint32_t>(row));
    values.push_back(value);
  }
  float ValueAt(int64_t row) const;
  // The entries of rows [begin, end): their positions [first, second) in rows and values.
  std::pair<std::size_t, std::size_t> EntriesOf(int64_t begin, int64_t end) const;
};

// Text columns with more levels than this, and columns of LIBSVM if more of them than this are nearly empty,
// are kept as SparseColumns where the reader is asked for them.
constexpr int64_t kManySparseColumns = 1024;

// Whether a column with values in so many rows is nearly empty.
inline bool IsNearlyEmpty(int64_t values, int64_t rows) { return values <= rows / 32; }

}  // namespace winnow
