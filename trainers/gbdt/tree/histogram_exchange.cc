#include "trainers/gbdt/tree/histogram_exchange.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace winnow::gbdt {
namespace {

// 2 MiB: large enough to be fast, small enough to hold
constexpr std::size_t kChunkWords = std::size_t{1} << 18;

constexpr std::size_t kSparseAtOnce = 8;  // histograms of sparse features; the same on all ranks

template <typename T>
void Put(const T& value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}
template <typename T>
void Take(const char** at, T* value) {
  std::memcpy(value, *at, sizeof *value);
  *at += sizeof *value;
}

void PutSplit(const Split& split, std::string* out) {
  Put(split.gain, out);
  Put(split.feature, out);
  if (split.feature < 0) return;
  Put(split.last_left, out);
  Put(split.missing_left, out);
  Put(split.left, out);
  Put(split.right, out);
  Put(static_cast<int32_t>(split.right_bins.size()), out);
  for (int bin : split.right_bins) Put(bin, out);
}

Split TakeSplit(const char** at) {
  Split split;
  Take(at, &split.gain);
  Take(at, &split.feature);
  if (split.feature < 0) return split;
  Take(at, &split.last_left);
  Take(at, &split.missing_left);
  Take(at, &split.left);
  Take(at, &split.right);
  int32_t bins = 0;
  Take(at, &bins);
  split.right_bins.resize(bins);
  for (int& bin : split.right_bins) Take(at, &bin);
  return split;
}

}  // namespace

HistogramExchange::HistogramExchange(const HistogramShape& shape, Communicator* ranks)
    : ranks_(*ranks), pad_(shape.pad()) {
  for (int rank = 0; rank <= ranks->size(); ++rank)
    begins_.push_back(static_cast<int>(static_cast<int64_t>(shape.slots()) * rank / ranks->size()));
  const std::span<const uint32_t> bins = shape.sparse_bins();
  for (int rank = 0; rank <= ranks->size() && !bins.empty(); ++rank) {
    const uint64_t border = uint64_t{bins.back()} * rank / ranks->size();
    sparse_begins_.push_back(*std::lower_bound(bins.begin(), bins.end(), border));
  }
}

// The ranks' parts of all histograms are contiguous: [rank][histogram][slot of the rank].
absl::Status HistogramExchange::SumChunk(Histogram* const* histograms, std::size_t count) {
  const auto for_each_part = [&](auto use) {
    std::size_t at = 0;
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      for (std::size_t h = 0; h < count; ++h) {
        const int64_t words = histograms[h]->packed ? pad_ : 2 * pad_;
        const auto size = static_cast<std::size_t>((begins_[rank + 1] - begins_[rank]) * words);
        use(rank, histograms[h]->words.data() + begins_[rank] * words, at, size);
        at += size;
      }
    }
    return at;
  };
  std::vector<std::size_t> begins(ranks_.size() + 1);
  const std::size_t total = for_each_part(
      [&](int rank, uint64_t*, std::size_t at, std::size_t size) { begins[rank + 1] = at + size; });
  buffer_.resize(total);
  for_each_part([&](int, const uint64_t* from, std::size_t at, std::size_t size) {
    std::copy(from, from + size, buffer_.data() + at);
  });
  if (absl::Status status = ranks_.ReduceScatterSum(buffer_, begins); !status.ok()) return status;
  for_each_part([&](int rank, uint64_t* to, std::size_t at, std::size_t size) {
    if (rank == ranks_.rank()) std::copy(buffer_.data() + at, buffer_.data() + at + size, to);
  });
  return absl::OkStatus();
}

absl::Status HistogramExchange::SumSparse(Histogram* const* histograms, std::size_t count) {
  std::vector<std::string> to(ranks_.size());
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    for (std::size_t h = 0; h < count; ++h)
      PutSparse(*histograms[h]->sparse, histograms[h]->packed, sparse_begins_[rank], sparse_begins_[rank + 1],
                &to[rank]);
  }
  const absl::StatusOr<std::vector<std::string>> from = ranks_.AllToAll(std::exchange(to, {}));
  if (!from.ok()) return from.status();
  for (std::size_t h = 0; h < count; ++h) *histograms[h]->sparse = {};
  for (const std::string& bytes : *from) {
    const char* at = bytes.data();
    for (std::size_t h = 0; h < count; ++h)
      AddSparse(TakeSparse(histograms[h]->packed, &at), histograms[h]->packed, &*histograms[h]->sparse);
  }
  return absl::OkStatus();
}

absl::Status HistogramExchange::Sum(const std::vector<Histogram*>& histograms) {
  if (ranks_.size() == 1) return absl::OkStatus();
  for (std::size_t begin = 0; begin < histograms.size() && !sparse_begins_.empty(); begin += kSparseAtOnce) {
    const absl::Status status =
        SumSparse(histograms.data() + begin, std::min(kSparseAtOnce, histograms.size() - begin));
    if (!status.ok()) return status;
  }
  if (begins_.back() == 0) return absl::OkStatus();
  for (std::size_t begin = 0; begin < histograms.size();) {
    std::size_t end = begin, words = 0;
    while (end < histograms.size() && (end == begin || words + histograms[end]->words.size() <= kChunkWords))
      words += histograms[end++]->words.size();
    if (absl::Status status = SumChunk(histograms.data() + begin, end - begin); !status.ok()) return status;
    begin = end;
  }
  return absl::OkStatus();
}

absl::Status HistogramExchange::Agree(std::vector<Finding>* findings) {
  if (ranks_.size() == 1 || findings->empty()) return absl::OkStatus();
  std::string mine;
  for (const Finding& finding : *findings) {
    Put(finding.rows, &mine);
    PutSplit(*finding.split, &mine);
  }
  const absl::StatusOr<std::vector<std::string>> all = ranks_.AllGather(mine);
  if (!all.ok()) return all.status();
  for (Finding& finding : *findings) finding.rows = 0;
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    const char* at = (*all)[rank].data();
    for (Finding& finding : *findings) {
      int64_t rows = 0;
      Take(&at, &rows);
      finding.rows += rows;
      Split theirs = TakeSplit(&at);
      if (theirs.Beats(*finding.split)) *finding.split = std::move(theirs);
    }
  }
  return absl::OkStatus();
}

}  // namespace winnow::gbdt
