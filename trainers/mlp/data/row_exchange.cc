#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string_view>

#include "trainers/data/cache/byte_codec.h"
#include "trainers/mlp/data/raw_rows.h"

namespace winnow::mlp {
namespace {

// Bytes of one rank's rows per round, so that not all are in memory twice.
constexpr std::size_t kRoundBytes = 16 << 20;

struct RankRows {
  uint64_t rows = 0, features = 0, image_rows = 0, of_bytes = 0, labels = 0, weights = 0;
  bool GoesWith(const RankRows& other) const {
    return features == other.features && image_rows == other.image_rows && of_bytes == other.of_bytes;
  }
  std::string Shape() const {
    const std::string images = image_rows > 0 ? fmt::format(" in {} rows of images", image_rows) : "";
    return fmt::format("{} features{}, {}", features, images, of_bytes != 0 ? "bytes" : "numbers");
  }
};

absl::StatusOr<std::vector<RankRows>> GatherCounts(const FeatureSchema& schema, const RawRows& mine,
                                                   Communicator* ranks) {
  ByteWriter writer;
  writer.Number(static_cast<uint64_t>(mine.rows));
  writer.Number(static_cast<uint64_t>(mine.features));
  writer.Number(static_cast<uint64_t>(schema.image_rows));
  writer.Number(mine.of_bytes);
  writer.Number(mine.label.size());
  writer.Number(mine.weight.size());
  const auto all = ranks->AllGather(writer.bytes());
  if (!all.ok()) return all.status();
  std::vector<RankRows> counts;
  for (const std::string& one : *all) {
    ByteReader reader(one);
    RankRows& read = counts.emplace_back();
    for (uint64_t* number :
         {&read.rows, &read.features, &read.image_rows, &read.of_bytes, &read.labels, &read.weights})
      *number = reader.Number();
    if (!reader.ok() || !reader.rest().empty())
      return absl::DataLossError(fmt::format("rank {}: counts of rows cannot be read", counts.size() - 1));
  }
  return counts;
}

// *array becomes all ranks' arrays, of counts[rank] elements, concatenated.
template <typename T>
absl::Status GatherArray(const std::vector<uint64_t>& counts, Communicator* ranks, std::vector<T>* array) {
  const std::vector<T> mine = std::move(*array);
  const std::string_view bytes(reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(T));
  array->assign(std::accumulate(counts.begin(), counts.end(), uint64_t{0}), T());
  const std::size_t longest = *std::max_element(counts.begin(), counts.end()) * sizeof(T);
  for (std::size_t at = 0; at < longest; at += kRoundBytes) {
    const auto round = ranks->AllGather(bytes.substr(std::min(at, bytes.size()), kRoundBytes));
    if (!round.ok()) return round.status();
    char* to = reinterpret_cast<char*>(array->data());
    for (std::size_t rank = 0; rank < counts.size(); to += counts[rank++] * sizeof(T)) {
      const std::size_t whole = counts[rank] * sizeof(T), begin = std::min(at, whole);
      const std::string& part = (*round)[rank];
      if (part.size() != std::min(kRoundBytes, whole - begin))
        return absl::DataLossError(fmt::format("rank {}: {} bytes of rows: expected {}", rank, part.size(),
                                               std::min(kRoundBytes, whole - begin)));
      if (!part.empty()) std::memcpy(to + begin, part.data(), part.size());
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RawRows> GatherRows(const std::string& path, const FeatureSchema& schema, RawRows mine,
                                   Communicator* ranks) {
  const absl::StatusOr<std::vector<RankRows>> counts = GatherCounts(schema, mine, ranks);
  if (!counts.ok()) return counts.status();
  RawRows all = std::move(mine);
  all.rows = 0;
  std::vector<uint64_t> cells, labels, weights;
  for (std::size_t rank = 0; rank < counts->size(); ++rank) {
    const RankRows& one = (*counts)[rank];
    if (!one.GoesWith((*counts)[0])) {
      return absl::InvalidArgumentError(fmt::format("{}: rank {}'s files have {}: expected {}, as rank 0's",
                                                    path, rank, one.Shape(), (*counts)[0].Shape()));
    }
    all.rows += static_cast<int64_t>(one.rows);
    cells.push_back(one.rows * one.features);
    labels.push_back(one.labels);
    weights.push_back(one.weights);
  }
  absl::Status status =
      all.of_bytes ? GatherArray(cells, ranks, &all.bytes) : GatherArray(cells, ranks, &all.values);
  if (status.ok()) status = GatherArray(labels, ranks, &all.label);
  if (status.ok()) status = GatherArray(weights, ranks, &all.weight);
  if (!status.ok()) return status;
  for (const auto& [name, size] :
       {std::pair("labels", all.label.size()), std::pair("weights", all.weight.size())}) {
    if (size != 0 && static_cast<int64_t>(size) != all.rows)
      return absl::InvalidArgumentError(fmt::format(
          "{}: {} {} for {} rows of all ranks: expected one for each", path, size, name, all.rows));
  }
  return all;
}

}  // namespace winnow::mlp
