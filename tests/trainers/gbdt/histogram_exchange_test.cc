#include "trainers/gbdt/tree/histogram_exchange.h"

#include "tests/catch.h"
#include "tests/trainers/collective/run_ranks.h"
#include "tests/trainers/gbdt/feature_histograms.h"
#include "tests/trainers/gbdt/sample_data.h"

namespace winnow::gbdt {
namespace {

TEST_CASE("Exchange: every rank gets all ranks' sums of its slots", "[gbdt]") {
  const DataSet data = SampleData(6000);
  const BinMatrix matrix = InBins(data, 1000).matrix;
  const HistogramShape shape(matrix.layout(), FirstNumbers(6));
  const FixedGradients gradients = NumberedGradients(data.rows, true);
  // A packed histogram, a wide one and a packed one again, of different rows.
  const auto histograms_of = [&](int64_t begin, int64_t end) {
    std::vector<Histogram> all;
    for (uint32_t node = 0; node < 3; ++node) {
      std::vector<uint32_t> rows;
      for (int64_t i = begin; i < end; ++i) {
        if (i % 3 == node) rows.push_back(static_cast<uint32_t>(i));
      }
      all.push_back(CountedHistogram(matrix, shape, gradients, rows, node != 1));
    }
    return all;
  };
  const std::vector<Histogram> expected = histograms_of(0, data.rows);
  for (const int size : {1, 2, 3, 8}) {
    struct Answer {
      bool ok = false;
      int first = 0, end = 0, wrong = 0;
    };
    const std::vector<Answer> answers = RunRanks(size, [&](Communicator* ranks) {
      std::vector<Histogram> mine =
          histograms_of(data.rows * ranks->rank() / size, data.rows * (ranks->rank() + 1) / size);
      HistogramExchange exchange(shape, ranks);
      Answer answer{exchange.Sum({&mine[0], &mine[1], &mine[2]}).ok(), exchange.first_slot(),
                    exchange.end_slot()};
      for (std::size_t h = 0; h < 3; ++h) {
        const int64_t words = shape.pad() * (mine[h].packed ? 1 : 2);
        for (int64_t i = answer.first * words; i < answer.end * words; ++i)
          answer.wrong += mine[h].words[i] != expected[h].words[i];
      }
      return answer;
    });
    int next = 0;
    for (const Answer& answer : answers) {
      CHECK(answer.ok);
      CHECK(answer.wrong == 0);
      CHECK(answer.first == next);
      next = answer.end;
    }
    CHECK(next == shape.slots());
  }
}

TEST_CASE("Exchange: many histograms go in portions", "[gbdt]") {
  const DataSet data = SampleData(3000);
  const BinMatrix matrix = InBins(data, 3000).matrix;
  const HistogramShape shape(matrix.layout(), FirstNumbers(6));
  constexpr int kHistograms = 90;
  REQUIRE(kHistograms * WordsOf(shape, false) > (std::size_t{1} << 19));
  const std::vector<int> wrong = RunRanks(3, [&](Communicator* ranks) {
    std::vector<Histogram> all(kHistograms);
    std::vector<Histogram*> pointers;
    for (int h = 0; h < kHistograms; ++h) {
      all[h].packed = h % 2 == 0;
      all[h].words.assign(WordsOf(shape, all[h].packed), static_cast<uint64_t>(h + ranks->rank()));
      pointers.push_back(&all[h]);
    }
    HistogramExchange exchange(shape, ranks);
    if (!exchange.Sum(pointers).ok()) return -1;
    int bad = 0;
    for (int h = 0; h < kHistograms; ++h) {
      const int64_t words = shape.pad() * (all[h].packed ? 1 : 2);
      for (int64_t i = exchange.first_slot() * words; i < exchange.end_slot() * words; ++i)
        bad += all[h].words[i] != static_cast<uint64_t>(3 * h + 3);
    }
    return bad;
  });
  CHECK(wrong == std::vector<int>{0, 0, 0});
}

// What rank r of three has found for a node.
Split Found(float gain, int feature) {
  Split split;
  split.gain = gain;
  split.feature = feature;
  split.last_left = feature * 10;
  split.missing_left = feature % 2 == 1;
  split.left = {-feature, feature};
  if (feature == 7) split.right_bins = {1, 4, 9};
  return split;
}

TEST_CASE("Exchange: all ranks take the best split of any, of equals the lower feature, and count all rows",
          "[gbdt]") {
  const std::vector<std::vector<Split>> found = {
      {Found(1, 4), Found(2, 3), Split{}, Split{}},
      {Found(3, 7), Found(2, 2), Split{}, Found(0.5f, 1)},
      {Found(2, 1), Found(2, 5), Split{}, Split{}},
  };
  const auto answers = RunRanks(3, [&](Communicator* ranks) {
    std::vector<Split> mine = found[ranks->rank()];
    const HistogramShape shape;
    HistogramExchange exchange(shape, ranks);
    std::vector<HistogramExchange::Finding> findings;
    for (Split& split : mine) findings.push_back({&split, 10 + ranks->rank()});
    if (!exchange.Agree(&findings).ok()) mine.clear();
    std::vector<int64_t> rows;
    for (const HistogramExchange::Finding& finding : findings) rows.push_back(finding.rows);
    return std::make_pair(mine, rows);
  });
  for (const auto& [agreed, rows] : answers) {
    REQUIRE(agreed.size() == 4);
    CHECK(rows == std::vector<int64_t>(4, 33));
    CHECK(agreed[0].feature == 7);
    CHECK(agreed[0].last_left == 70);
    CHECK(agreed[0].missing_left);
    CHECK(agreed[0].left == GradientSum{-7, 7});
    CHECK(agreed[0].right_bins == std::vector<int>{1, 4, 9});
    CHECK(agreed[1].feature == 2);
    CHECK(agreed[2].feature == -1);
    CHECK(agreed[3].feature == 1);
  }
}

}  // namespace
}  // namespace winnow::gbdt
