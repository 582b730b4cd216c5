// What every implementation of Communicator must do.
#include <algorithm>
#include <numeric>

#include "tests/catch.h"
#include "tests/trainers/collective/make_group.h"
#include "tests/trainers/collective/run_ranks.h"

namespace winnow {
namespace {

template <typename Word>
using WordsOfType = std::vector<Word>;
using Words = WordsOfType<uint64_t>;
using HalfWords = WordsOfType<uint32_t>;
using Bytes = std::vector<std::string>;

// SplitMix64's finaliser: data that differ in every bit.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

template <typename Word = uint64_t>
WordsOfType<Word> WordsOf(int rank, std::size_t size, uint64_t seed = 0) {
  WordsOfType<Word> words(size);
  for (std::size_t i = 0; i < size; ++i) words[i] = static_cast<Word>(Mix((seed << 40) + (i << 8) + rank));
  return words;
}

std::string BytesOf(int from, int to, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(Mix(from * 64 + to + i * 4096));
  return bytes;
}

template <typename Word, typename Op>
WordsOfType<Word> Reduced(int ranks, std::size_t size, Op op, uint64_t seed = 0) {
  WordsOfType<Word> all = WordsOf<Word>(0, size, seed);
  for (int r = 1; r < ranks; ++r) {
    const WordsOfType<Word> words = WordsOf<Word>(r, size, seed);
    std::transform(all.begin(), all.end(), words.begin(), all.begin(), op);
  }
  return all;
}

template <typename Word = uint64_t>
WordsOfType<Word> Sums(int ranks, std::size_t size, uint64_t seed = 0) {
  return Reduced<Word>(ranks, size, std::plus<Word>(), seed);
}

uint64_t Larger(uint64_t a, uint64_t b) { return std::max(a, b); }

// Empty where the operation failed, so that a comparison with what was expected fails too.
template <typename T>
T ValueOr(absl::StatusOr<T> got) {
  return got.ok() ? *std::move(got) : T();
}

TEST_CASE("Communicator: sums and largest values of any size reach all ranks", "[collective]") {
  const std::string kind = GENERATE(from_range(GroupKinds()));
  const int ranks = GENERATE(1, 2, 3, 4, 5, 8);
  CAPTURE(kind, ranks);
  for (const std::size_t size : {0, 1, 2, 7, 100, 511, 4097, 100003}) {
    CAPTURE(size);
    const auto got = RunRanks(MakeGroup(kind, ranks), [&](Communicator* group) {
      Words sums = WordsOf(group->rank(), size), largest = sums;
      HalfWords halves = WordsOf<uint32_t>(group->rank(), size);
      if (!group->AllReduceSum(sums).ok() || !group->AllReduceMax(largest).ok() ||
          !group->AllReduceSum(halves).ok())
        return Bytes{"failed"};
      const bool right = sums == Sums(ranks, size) && largest == Reduced<uint64_t>(ranks, size, Larger) &&
                         halves == Sums<uint32_t>(ranks, size);
      return Bytes{right ? "right" : "wrong"};
    });
    for (const Bytes& answer : got) CHECK(answer == Bytes{"right"});
  }
}

// Stretches of different lengths, some of them empty, where `size` is not large.
std::vector<std::size_t> UnevenBegins(int ranks, std::size_t size) {
  std::vector<std::size_t> begins = {0};
  for (int r = 1; r < ranks; ++r) begins.push_back(begins.back() + (size - begins.back()) / (r % 3 + 1));
  begins.push_back(size);
  return begins;
}

TEMPLATE_TEST_CASE("Communicator: each rank gets its stretch of the sums, however long", "[collective]",
                   uint64_t, uint32_t) {
  using These = WordsOfType<TestType>;
  const std::string kind = GENERATE(from_range(GroupKinds()));
  const int ranks = GENERATE(1, 2, 3, 4, 8);
  CAPTURE(kind, ranks);
  for (const std::size_t size : {0, 1, 5, 1000, 50021}) {
    CAPTURE(size);
    const std::vector<std::size_t> begins = UnevenBegins(ranks, size);
    const auto got = RunRanks(MakeGroup(kind, ranks), [&](Communicator* group) {
      These words = WordsOf<TestType>(group->rank(), size);
      if (!group->ReduceScatterSum(words, begins).ok()) return These{1};
      return These(words.begin() + begins[group->rank()], words.begin() + begins[group->rank() + 1]);
    });
    const These sums = Sums<TestType>(ranks, size);
    for (int r = 0; r < ranks; ++r)
      CHECK(got[r] == These(sums.begin() + begins[r], sums.begin() + begins[r + 1]));
  }
}

TEST_CASE("Communicator: stretches of any length are gathered in place", "[collective]") {
  const std::string kind = GENERATE(from_range(GroupKinds()));
  const int ranks = GENERATE(1, 2, 3, 4, 8);
  CAPTURE(kind, ranks);
  for (const std::size_t size : {0, 1, 5, 1000, 700001}) {
    CAPTURE(size);
    const std::vector<std::size_t> begins = UnevenBegins(ranks, size);
    const auto got = RunRanks(MakeGroup(kind, ranks), [&](Communicator* group) {
      std::string data = BytesOf(group->rank(), 0, size);
      const std::span<std::byte> bytes = std::as_writable_bytes(std::span<char>(data));
      return group->AllGatherInPlace(bytes, begins).ok() ? data : "failed";
    });
    std::string whole;
    for (int r = 0; r < ranks; ++r) whole += BytesOf(r, 0, size).substr(begins[r], begins[r + 1] - begins[r]);
    CHECK(got == Bytes(ranks, whole));
  }
}

TEST_CASE("Communicator: bytes of different sizes are gathered, exchanged and spread", "[collective]") {
  const std::string kind = GENERATE(from_range(GroupKinds()));
  const int ranks = GENERATE(1, 2, 3, 4, 8);
  const std::size_t size = GENERATE(0, 1, 1000, 300001);
  CAPTURE(kind, ranks, size);
  const auto size_of = [&](int from, int to) { return (from * 3 + to * 5) % 4 * size / 2; };
  struct Got {
    Bytes gathered, exchanged;
    std::string spread;
  };
  const auto got = RunRanks(MakeGroup(kind, ranks), [&](Communicator* group) {
    const int me = group->rank();
    Bytes to;
    for (int r = 0; r < ranks; ++r) to.push_back(BytesOf(me, r, size_of(me, r)));
    Got answer{ValueOr(group->AllGather(BytesOf(me, 0, size_of(me, 0)))), ValueOr(group->AllToAll(to)), ""};
    answer.spread = me == ranks - 1 ? BytesOf(7, 7, size) : "to be replaced";
    if (!group->Broadcast(ranks - 1, &answer.spread).ok()) answer.spread = "failed";
    return answer;
  });
  for (int me = 0; me < ranks; ++me) {
    Bytes gathered, exchanged;
    for (int r = 0; r < ranks; ++r) gathered.push_back(BytesOf(r, 0, size_of(r, 0)));
    for (int r = 0; r < ranks; ++r) exchanged.push_back(BytesOf(r, me, size_of(r, me)));
    CHECK(got[me].gathered == gathered);
    CHECK(got[me].exchanged == exchanged);
    CHECK(got[me].spread == BytesOf(7, 7, size));
  }
}

// Operation `step` of a random sequence that all ranks share; true if the answer is right.
bool RandomStep(Communicator* group, uint64_t step) {
  const int ranks = group->size(), me = group->rank(), root = static_cast<int>(Mix(step + 1) % ranks);
  const std::size_t size = Mix(step + 2) % (Mix(step + 3) % 4 == 0 ? 20000 : 60);
  Words words = WordsOf(me, size, step);
  switch (Mix(step) % 6) {
    case 0:
      return group->AllReduceSum(words).ok() && words == Sums(ranks, size, step);
    case 1:
      return group->AllReduceMax(words).ok() && words == Reduced<uint64_t>(ranks, size, Larger, step);
    case 2: {
      const std::string mine = BytesOf(me, 0, size + me);
      const Bytes all = ValueOr(group->AllGather(mine));
      return all.size() == static_cast<std::size_t>(ranks) && all[root] == BytesOf(root, 0, size + root);
    }
    case 3: {
      Bytes to;
      for (int r = 0; r < ranks; ++r) to.push_back(BytesOf(me, r, size * (r % 2)));
      const Bytes from = ValueOr(group->AllToAll(to));
      return from.size() == to.size() && from[root] == BytesOf(root, me, size * (me % 2));
    }
    case 4: {
      HalfWords halves = WordsOf<uint32_t>(me, size, step);
      return group->AllReduceSum(halves).ok() && halves == Sums<uint32_t>(ranks, size, step);
    }
    default: {
      std::string bytes = me == root ? BytesOf(root, 0, size) : "";
      return group->Broadcast(root, &bytes).ok() && bytes == BytesOf(root, 0, size);
    }
  }
}

TEST_CASE("Communicator: operations in any sequence keep apart", "[collective]") {
  const std::string kind = GENERATE(from_range(GroupKinds()));
  const int ranks = GENERATE(2, 3, 4, 7);
  CAPTURE(kind, ranks);
  const auto right = RunRanks(MakeGroup(kind, ranks), [&](Communicator* group) {
    int count = 0;
    for (uint64_t step = 0; step < 300; ++step) count += RandomStep(group, step * 10 + ranks * 10000);
    return count;
  });
  CHECK(right == std::vector<int>(ranks, 300));
}

// What `operation`, of much data divided evenly, sends from each rank.
template <typename Run>
std::vector<uint64_t> SentBy(const std::string& kind, int ranks, Run operation) {
  return RunRanks(MakeGroup(kind, ranks), [&](Communicator* group) {
    const uint64_t before = group->bytes_sent();
    return operation(group).ok() ? group->bytes_sent() - before : 0;
  });
}

TEST_CASE("Communicator: of much data each rank sends what the formulas say", "[collective]") {
  const std::string kind = GENERATE(from_range(GroupKinds()));
  const int ranks = GENERATE(2, 3, 4);
  CAPTURE(kind, ranks);
  constexpr std::size_t kWords = 120000, kBytes = kWords * sizeof(uint32_t);
  std::vector<std::size_t> words, bytes;
  for (int r = 0; r <= ranks; ++r) words.push_back(kWords / ranks * r), bytes.push_back(kBytes / ranks * r);
  HalfWords data(kWords, 1);
  const std::vector<uint64_t> once(ranks, kBytes / ranks * (ranks - 1)), twice(ranks, 2 * once[0]);
  CHECK(SentBy(kind, ranks, [&](Communicator* group) {
          HalfWords mine = data;
          return group->AllReduceSum(mine);
        }) == twice);
  CHECK(SentBy(kind, ranks, [&](Communicator* group) {
          HalfWords mine = data;
          return group->ReduceScatterSum(mine, words);
        }) == once);
  CHECK(SentBy(kind, ranks, [&](Communicator* group) {
          HalfWords mine = data;
          return group->AllGatherInPlace(std::as_writable_bytes(std::span<uint32_t>(mine)), bytes);
        }) == once);
}

}  // namespace
}  // namespace winnow
