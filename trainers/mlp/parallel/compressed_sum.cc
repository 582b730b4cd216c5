#include "trainers/mlp/parallel/compressed_sum.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "fmt/format.h"
#include "trainers/mlp/network/crew.h"
#include "trainers/mlp/network/network.h"
#include "trainers/mlp/parallel/compression.h"

namespace winnow::mlp {
namespace {

// Returns `rank`'s part of data that `size` ranks sum.
Part PieceOf(std::size_t count, int rank, int size) {
  return PartOf(static_cast<int64_t>(count), rank, size, kPanel);
}

std::span<float> In(std::span<float> data, Part piece) {
  return data.subspan(static_cast<std::size_t>(piece.begin),
                      static_cast<std::size_t>(piece.end - piece.begin));
}

void Add(std::span<const float> more, std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += more[i];
}

// The beginning of Collect's result; each rank's errors follow.
struct Header {
  uint64_t count = 0, ranks = 0;
};

}  // namespace

CompressedSum::CompressedSum(Compression compression, std::size_t count, Communicator* ranks)
    : compression_(compression), ranks_(ranks), error_(count) {}

absl::Status CompressedSum::Sum(std::size_t begin, std::span<float> data) {
  const int rank = ranks_->rank(), size = ranks_->size();
  const std::span<float> error = std::span<float>(error_).subspan(begin, data.size());
  Add(error, data);
  if (size == 1) {
    std::fill(error.begin(), error.end(), 0.0f);
    return absl::OkStatus();
  }

  std::vector<std::string> to(static_cast<std::size_t>(size));
  for (int r = 0; r < size; ++r) {
    if (r == rank) continue;
    const Part piece = PieceOf(data.size(), r, size);
    const std::span<const float> values = In(data, piece);
    to[r].resize(CompressedBytes(compression_, values.size()));
    Compress(compression_, values, to[r].data(), In(error, piece).data());
  }
  absl::StatusOr<std::vector<std::string>> parts = ranks_->AllToAll(to);
  if (!parts.ok()) return parts.status();

  const Part own = PieceOf(data.size(), rank, size);
  sum_.assign(static_cast<std::size_t>(own.end - own.begin), 0.0f);
  decoded_.resize(sum_.size());
  for (int r = 0; r < size; ++r) {
    if (r == rank) {
      Add(In(data, own), sum_);
      continue;
    }
    const std::string& part = (*parts)[r];
    if (part.size() != CompressedBytes(compression_, sum_.size())) {
      return absl::InternalError(fmt::format("rank {} sent {} bytes of compressed gradients where {} are due",
                                             r, part.size(), CompressedBytes(compression_, sum_.size())));
    }
    Decompress(compression_, part.data(), decoded_);
    Add(decoded_, sum_);
  }
  std::vector<std::size_t> begins = {0};  // of each rank's compressed sums
  for (int r = 0; r < size; ++r)
    begins.push_back(begins.back() +
                     CompressedBytes(compression_, In(data, PieceOf(data.size(), r, size)).size()));
  packed_.resize(begins.back());
  Compress(compression_, sum_, packed_.data() + begins[rank], In(error, own).data());
  absl::Status status = ranks_->AllGatherInPlace(std::as_writable_bytes(std::span<char>(packed_)), begins);
  if (!status.ok()) return status;
  for (int r = 0; r < size; ++r)
    Decompress(compression_, packed_.data() + begins[r], In(data, PieceOf(data.size(), r, size)));
  return absl::OkStatus();
}

absl::StatusOr<std::string> CompressedSum::Collect() {
  std::vector<std::string> to(static_cast<std::size_t>(ranks_->size()));
  to[0].assign(reinterpret_cast<const char*>(error_.data()), error_.size() * sizeof(float));
  absl::StatusOr<std::vector<std::string>> all = ranks_->AllToAll(to);
  if (!all.ok()) return all.status();
  if (ranks_->rank() != 0) return "";
  const Header header{error_.size(), static_cast<uint64_t>(ranks_->size())};
  std::string collected(reinterpret_cast<const char*>(&header), sizeof(header));
  for (const std::string& errors : *all) collected += errors;
  return collected;
}

absl::Status CompressedSum::Restore(const std::string& collected) {
  std::fill(error_.begin(), error_.end(), 0.0f);
  if (collected.empty()) return absl::OkStatus();
  Header header;
  const std::size_t each = error_.size() * sizeof(float);
  if (collected.size() >= sizeof(header)) std::memcpy(&header, collected.data(), sizeof(header));
  if (header.count != error_.size() || (collected.size() - sizeof(header)) % each != 0 ||
      (collected.size() - sizeof(header)) / each != header.ranks) {
    return absl::InvalidArgumentError(
        fmt::format("errors of compressed gradients: {} bytes are not those of ranks with {} parameters each",
                    collected.size(), error_.size()));
  }
  std::vector<float> errors(error_.size());
  for (uint64_t r = ranks_->rank(); r < header.ranks; r += ranks_->size()) {
    std::memcpy(errors.data(), collected.data() + sizeof(header) + r * each, each);
    Add(errors, error_);
  }
  return absl::OkStatus();
}

}  // namespace winnow::mlp
