#include "trainers/gbdt/model/model.h"

#include "base/status_text.h"
#include "tests/catch.h"
#include "tests/trainers/gbdt/model_samples.h"

namespace winnow::gbdt {
namespace {

// Splits on feature 2 (gain 3.5, cover 7; and 3.5, 7) and below on feature 0 (gain 1.5, cover 4).
std::vector<std::pair<int, double>> ScoresOf(const char* kind) {
  std::vector<std::pair<int, double>> scores;
  for (const Importance& entry : FeatureImportance(DartModel(), *ImportanceKindOf(kind)))
    scores.emplace_back(entry.feature, entry.score);
  return scores;
}

TEST_CASE("Importance: every kind of score, the highest first, without unused features", "[gbdt]") {
  using Scores = std::vector<std::pair<int, double>>;
  CHECK(ScoresOf("weight") == Scores{{2, 2}, {0, 1}});
  CHECK(ScoresOf("gain") == Scores{{2, 3.5}, {0, 1.5}});
  CHECK(ScoresOf("total_gain") == Scores{{2, 7}, {0, 1.5}});
  CHECK(ScoresOf("cover") == Scores{{2, 7}, {0, 4}});
  CHECK(ScoresOf("total_cover") == Scores{{2, 14}, {0, 4}});
}

TEST_CASE("Importance: another kind is refused by name", "[gbdt]") {
  CHECK_THAT(MessageOf(ImportanceKindOf("shap").status()),
             Catch::Contains("importance shap: expected weight, gain"));
}

}  // namespace
}  // namespace winnow::gbdt
