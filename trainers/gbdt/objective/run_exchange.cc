#include "trainers/gbdt/objective/run_exchange.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "trainers/gbdt/bins/radix_sort.h"

namespace winnow::gbdt {
namespace {

constexpr std::size_t kSamples = 256;  // of each rank's scores, to divide them evenly
constexpr int kPartBits = 7;           // bits of a number per byte; the bit above means that more follow
constexpr uint64_t kMore = 1u << kPartBits;

// Returns ascending borders: keys below the r-th go to a rank up to r. The same on all ranks.
absl::StatusOr<std::vector<uint32_t>> AgreeOnBorders(std::span<const uint32_t> samples,
                                                     Communicator* communicator) {
  const auto all = communicator->AllGather(
      {reinterpret_cast<const char*>(samples.data()), samples.size() * sizeof(uint32_t)});
  if (!all.ok()) return all.status();
  std::vector<uint32_t> keys;
  for (const std::string& theirs : *all) {
    const std::size_t first = keys.size();
    keys.resize(first + theirs.size() / sizeof(uint32_t));
    std::memcpy(keys.data() + first, theirs.data(), theirs.size());
  }
  std::sort(keys.begin(), keys.end());
  std::vector<uint32_t> borders;
  for (int r = 1; r < communicator->size(); ++r)
    borders.push_back(keys.empty() ? 0 : keys[keys.size() * r / communicator->size()]);
  return borders;
}

// Returns about `count` of the values, evenly spaced.
template <typename Value, typename KeyOf>
void Sample(const std::vector<Value>& values, std::size_t count, const KeyOf& key_of,
            std::vector<uint32_t>* samples) {
  count = std::min(count, values.size());
  for (std::size_t i = 0; i < count; ++i)
    samples->push_back(static_cast<uint32_t>(key_of(values[i * values.size() / count])));
}

void WriteKeys(std::span<const uint32_t> keys, NumberWriter* writer) {
  writer->Write(keys.size());
  uint32_t last = 0;
  for (const uint32_t key : keys) {
    writer->Write(key - last);
    last = key;
  }
}

void ReadKeys(NumberReader* reader, std::vector<uint32_t>* keys) {
  const uint64_t count = reader->Read();
  uint32_t last = 0;
  for (uint64_t i = 0; i < count && !reader->done(); ++i)
    keys->push_back(last += static_cast<uint32_t>(reader->Read()));
}

// Returns rank r's part of ascending keys.
std::span<const uint32_t> PartOf(const std::vector<uint32_t>& keys, const std::vector<uint32_t>& borders,
                                 std::size_t r) {
  const auto begin = r == 0 ? keys.begin() : std::lower_bound(keys.begin(), keys.end(), borders[r - 1]);
  const auto end = r == borders.size() ? keys.end() : std::lower_bound(begin, keys.end(), borders[r]);
  return {begin, std::max(begin, end)};
}

bool Higher(const TieRun& a, const TieRun& b) { return a.key > b.key; }

// Merges sorted runs into one run per score.
void Unite(std::vector<TieRun>* runs) {
  std::size_t kept = 0;
  for (const TieRun& run : *runs) {
    TieRun* last = kept > 0 ? &(*runs)[kept - 1] : nullptr;
    if (last != nullptr && last->key == run.key) {
      last->positive += run.positive;
      last->negative += run.negative;
    } else {
      (*runs)[kept++] = run;
    }
  }
  runs->resize(kept);
}

}  // namespace

void NumberWriter::Write(uint64_t number) {
  for (; number >= kMore; number >>= kPartBits)
    bytes_.push_back(static_cast<char>((number & (kMore - 1)) | kMore));
  bytes_.push_back(static_cast<char>(number));
}

uint64_t NumberReader::Read() {
  uint64_t number = 0;
  for (int shift = 0; at_ != end_ && shift < 64; shift += kPartBits) {
    const auto byte = static_cast<unsigned char>(*at_++);
    number |= (byte & (kMore - 1)) << shift;
    if (byte < kMore) break;
  }
  return number;
}

absl::StatusOr<PlainKeys> ExchangeKeys(const PlainKeys& mine, Communicator* communicator) {
  const std::size_t total = mine.negative.size() + mine.positive.size();
  std::vector<uint32_t> samples;
  for (const auto* keys : {&mine.negative, &mine.positive})
    Sample(
        *keys, total == 0 ? 0 : kSamples * keys->size() / total, [](uint32_t key) { return key; }, &samples);
  const auto borders = AgreeOnBorders(samples, communicator);
  if (!borders.ok()) return borders.status();
  std::vector<std::string> to;
  for (std::size_t r = 0; r <= borders->size(); ++r) {
    NumberWriter writer;
    WriteKeys(PartOf(mine.negative, *borders, r), &writer);
    WriteKeys(PartOf(mine.positive, *borders, r), &writer);
    to.push_back(writer.Take());
  }
  const auto received = communicator->AllToAll(to);
  if (!received.ok()) return received.status();
  PlainKeys keys;
  for (const std::string& bytes : *received) {
    NumberReader reader(bytes);
    ReadKeys(&reader, &keys.negative);
    ReadKeys(&reader, &keys.positive);
  }
  std::vector<uint32_t> scratch;
  RadixSort(&keys.negative, &scratch);
  RadixSort(&keys.positive, &scratch);
  return keys;
}

absl::StatusOr<std::vector<TieRun>> ExchangeRuns(const std::vector<TieRun>& mine,
                                                 Communicator* communicator) {
  std::vector<uint32_t> samples;
  Sample(
      mine, kSamples, [](const TieRun& run) { return run.key; }, &samples);
  const auto borders = AgreeOnBorders(samples, communicator);
  if (!borders.ok()) return borders.status();
  std::vector<NumberWriter> writers(communicator->size());
  std::size_t r = borders->size();
  uint64_t last = uint64_t{1} << 32;  // above every key; runs are descending
  for (const TieRun& run : mine) {
    for (; r > 0 && run.key < (*borders)[r - 1]; --r) last = uint64_t{1} << 32;
    writers[r].Write(last - run.key);
    writers[r].Write(run.positive);
    writers[r].Write(run.negative);
    last = run.key;
  }
  std::vector<std::string> to;
  for (NumberWriter& writer : writers) to.push_back(writer.Take());
  const auto received = communicator->AllToAll(to);
  if (!received.ok()) return received.status();
  std::vector<TieRun> runs;
  for (const std::string& bytes : *received) {
    const auto sorted = static_cast<std::ptrdiff_t>(runs.size());
    last = uint64_t{1} << 32;
    for (NumberReader reader(bytes); !reader.done();) {
      last -= reader.Read();
      const uint64_t positive = reader.Read();
      runs.push_back({last, positive, reader.Read()});
    }
    std::inplace_merge(runs.begin(), runs.begin() + sorted, runs.end(), Higher);
  }
  Unite(&runs);
  return runs;
}

}  // namespace winnow::gbdt
