#include "trainers/gbdt/tree/sparse_sums.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

namespace winnow::gbdt {
namespace {

constexpr int64_t kRowsAhead = 8;  // prefetch distance

std::size_t WordsOfBin(bool packed) { return packed ? 1 : 2; }

GradientSum SumAt(const SparseSums& sums, bool packed, std::size_t i) {
  return packed ? Unpack(sums.words[i]) : sums.Wide()[i];
}

void Append(uint32_t bin, const GradientSum& sum, bool packed, SparseSums* to) {
  to->bins.push_back(bin);
  if (packed) {
    to->words.push_back(Pack(sum));
  } else {
    to->words.push_back(static_cast<uint64_t>(sum.gradient));
    to->words.push_back(static_cast<uint64_t>(sum.hessian));
  }
}

void AppendFrom(const SparseSums& from, std::size_t i, std::size_t width, SparseSums* to) {
  to->bins.push_back(from.bins[i]);
  for (std::size_t w = 0; w < width; ++w) to->words.push_back(from.words[i * width + w]);
}

// Sum: PackedSum or GradientSum.
template <typename Sum>
void AddToBins(const SparseMatrix& matrix, const FixedGradients& gradients, const uint32_t* rows,
               int64_t count, Sum* sums, uint64_t* touched) {
  for (int64_t i = 0; i < count; ++i) {
    if (i + kRowsAhead < count) {
      const std::span<const uint32_t> ahead = matrix.BinsOfRow(rows[i + kRowsAhead]);
      if (!ahead.empty()) {
        __builtin_prefetch(ahead.data());
        __builtin_prefetch(ahead.data() + ahead.size() - 1);
      }
    }
    Sum add;
    if constexpr (std::is_same_v<Sum, PackedSum>)
      add = Pack(gradients.Of(rows[i]));
    else
      add = gradients.Of(rows[i]);
    for (const uint32_t bin : matrix.BinsOfRow(rows[i])) {
      sums[bin] += add;
      touched[bin / 64] |= uint64_t{1} << bin % 64;
    }
  }
}

}  // namespace

SparseSums CountSparse(const SparseMatrix& matrix, std::size_t bins, const FixedGradients& gradients,
                       const uint32_t* rows, int64_t count, bool packed, SparseScratch* scratch) {
  const std::size_t width = WordsOfBin(packed), bit_words = (bins + 63) / 64;
  if (scratch->words.size() < bins * width) scratch->words.resize(bins * width);
  if (scratch->touched.size() < bit_words) scratch->touched.resize(bit_words);
  uint64_t* const words = scratch->words.data();
  uint64_t* const touched = scratch->touched.data();
  if (packed)
    AddToBins<PackedSum>(matrix, gradients, rows, count, words, touched);
  else
    AddToBins<GradientSum>(matrix, gradients, rows, count, reinterpret_cast<GradientSum*>(words), touched);
  std::size_t used = 0;
  for (std::size_t w = 0; w < bit_words; ++w) used += static_cast<std::size_t>(std::popcount(touched[w]));
  SparseSums sums;
  sums.bins.reserve(used);
  sums.words.reserve(used * width);
  for (std::size_t w = 0; w < bit_words; ++w) {
    for (uint64_t bits = std::exchange(touched[w], 0); bits != 0; bits &= bits - 1) {
      const std::size_t bin = 64 * w + static_cast<std::size_t>(std::countr_zero(bits));
      sums.bins.push_back(static_cast<uint32_t>(bin));
      for (std::size_t i = 0; i < width; ++i) sums.words.push_back(std::exchange(words[bin * width + i], 0));
    }
  }
  return sums;
}

void AddSparse(const SparseSums& from, bool packed, SparseSums* to) {
  if (from.bins.empty()) return;
  if (to->bins.empty()) {
    *to = from;
    return;
  }
  const std::size_t width = WordsOfBin(packed);
  SparseSums all;
  all.bins.reserve(from.bins.size() + to->bins.size());
  all.words.reserve(all.bins.capacity() * width);
  std::size_t a = 0, b = 0;
  while (a < from.bins.size() || b < to->bins.size()) {
    if (b == to->bins.size() || (a < from.bins.size() && from.bins[a] < to->bins[b])) {
      AppendFrom(from, a++, width, &all);
    } else {
      AppendFrom(*to, b, width, &all);
      if (a < from.bins.size() && from.bins[a] == to->bins[b]) {
        for (std::size_t w = 0; w < width; ++w)
          all.words[all.words.size() - width + w] += from.words[a * width + w];
        ++a;
      }
      ++b;
    }
  }
  *to = std::move(all);
}

SparseSums SubtractSparse(const SparseSums& parent, bool parent_packed, const SparseSums& child,
                          bool child_packed, bool out_packed) {
  SparseSums out;
  out.bins.reserve(parent.bins.size());
  out.words.reserve(parent.bins.size() * WordsOfBin(out_packed));
  std::size_t c = 0;
  for (std::size_t p = 0; p < parent.bins.size(); ++p) {
    GradientSum sum = SumAt(parent, parent_packed, p);
    while (c < child.bins.size() && child.bins[c] < parent.bins[p]) ++c;
    if (c < child.bins.size() && child.bins[c] == parent.bins[p]) {
      sum = sum - SumAt(child, child_packed, c++);
      if (sum == GradientSum{}) continue;
    }
    Append(parent.bins[p], sum, out_packed, &out);
  }
  return out;
}

void PutSparse(const SparseSums& sums, bool packed, uint32_t begin, uint32_t end, std::string* out) {
  const auto first = std::lower_bound(sums.bins.begin(), sums.bins.end(), begin);
  const auto last = std::lower_bound(first, sums.bins.end(), end);
  const auto at = static_cast<std::size_t>(first - sums.bins.begin());
  const auto count = static_cast<uint64_t>(last - first);
  const std::size_t width = WordsOfBin(packed);
  out->append(reinterpret_cast<const char*>(&count), sizeof count);
  out->append(reinterpret_cast<const char*>(sums.bins.data() + at), count * sizeof(uint32_t));
  out->append(reinterpret_cast<const char*>(sums.words.data() + at * width),
              count * width * sizeof(uint64_t));
}

SparseSums TakeSparse(bool packed, const char** at) {
  uint64_t count = 0;
  std::memcpy(&count, *at, sizeof count);
  *at += sizeof count;
  SparseSums sums;
  sums.bins.resize(count);
  sums.words.resize(count * WordsOfBin(packed));
  if (count == 0) return sums;
  std::memcpy(sums.bins.data(), *at, count * sizeof(uint32_t));
  *at += count * sizeof(uint32_t);
  std::memcpy(sums.words.data(), *at, sums.words.size() * sizeof(uint64_t));
  *at += sums.words.size() * sizeof(uint64_t);
  return sums;
}

}  // namespace winnow::gbdt
