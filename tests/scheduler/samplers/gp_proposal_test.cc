#include "scheduler/samplers/gp_proposal.h"

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "scheduler/models/acquisition.h"
#include "scheduler/samplers/random.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"

namespace winnow {
namespace {

SearchSpec GpJob(std::vector<Parameter> parameters) {
  SearchSpec spec = RandomJob(0, 1);
  spec.parameters = std::move(parameters);
  spec.sampler.kind = SamplerKind::kGp;
  return spec;
}

void Play(PlayedJob& job, const Configuration& configuration, double value) {
  const auto number = static_cast<TrialNumber>(job.state().trials().size()) + 1;
  job.Record(TrialCreated{number, configuration, -1, 0, 1, "given"});
  job.Record(AttemptStarted{number, 1, 0, 1});
  job.Finish(number, value);
}

// Plays so many random configurations, all different.
void PlayRandom(PlayedJob& job, int count, const std::function<double(const Configuration&)>& objective) {
  std::set<Configuration> played;
  for (TrialNumber number = 1; static_cast<int>(played.size()) < count; ++number) {
    const Configuration drawn = RandomConfiguration(job.state().spec(), job.state().space(), number);
    if (played.insert(drawn).second) Play(job, drawn, objective(drawn));
  }
}

double Hill(const Configuration& configuration) {
  const double x = std::get<double>(configuration[0]) - 0.62, y = std::get<double>(configuration[1]) - 0.27;
  return 1 - 2 * x * x - y * y;
}

TEST_CASE("Gp proposal: lies on the top of a smooth hill", "[scheduler]") {
  PlayedJob job(GpJob({{"x", ContinuousRange{0, 1}}, {"y", ContinuousRange{0, 1}}}));
  PlayRandom(job, 20, Hill);
  const auto proposal = Propose(job.state(), TrialModel(job.state()));
  REQUIRE(proposal);
  CHECK(Hill(proposal->configuration) > 0.99);
}

TEST_CASE("Gp proposal: improves on what most random points promise, and says by how much", "[scheduler]") {
  PlayedJob job(GpJob({{"x", ContinuousRange{0, 1}}, {"y", ContinuousRange{0, 1}}}));
  PlayRandom(job, 12,
             [](const Configuration& at) { return std::sin(9 * std::get<double>(at[0])) + Hill(at); });
  const TrialModel model(job.state());
  const auto proposal = Propose(job.state(), model);
  REQUIRE(proposal);
  CHECK(proposal->score ==
        Approx(LogExpectedImprovement(model.process().Predict(proposal->point), model.best())));
  for (TrialNumber number = 1001; number <= 1500; ++number) {
    const Configuration drawn = RandomConfiguration(job.state().spec(), job.state().space(), number);
    const Prediction end = model.process().Predict(model.points().PointOf(drawn));
    CHECK(LogExpectedImprovement(end, model.best()) <= proposal->score + 1e-6);
  }
}

TEST_CASE("Gp proposal: the same state gives the same one, the next fact other candidates", "[scheduler]") {
  PlayedJob job(GpJob({{"x", ContinuousRange{0, 1}}, {"y", ContinuousRange{0, 1}}}));
  PlayRandom(job, 6, Hill);
  const auto one = Propose(job.state(), TrialModel(job.state()));
  const auto other = Propose(job.state(), TrialModel(job.state()));
  REQUIRE(one);
  CHECK(one->configuration == other->configuration);
  CHECK(one->score == other->score);
  Play(job, one->configuration, Hill(one->configuration));
  CHECK(Propose(job.state(), TrialModel(job.state()))->configuration != one->configuration);
}

TEST_CASE("Gp proposal: takes the category that is best and the value that only it has", "[scheduler]") {
  PlayedJob job(GpJob({{"kind", CategoricalRange{{"a", "b", "c", "d"}}},
                       {"depth", IntegerRange{1, 20}, Condition{0, {std::string("c")}}}}));
  const auto objective = [](const Configuration& at) {
    const auto* depth = std::get_if<int64_t>(&at[1]);
    return depth == nullptr ? 0.1 : 1 - 0.01 * std::pow(static_cast<double>(*depth) - 13, 2);
  };
  for (const int64_t depth : {2, 5, 9, 18, 20}) Play(job, {std::string("c"), depth}, objective({0.0, depth}));
  for (const char* kind : {"a", "b", "d"}) Play(job, {std::string(kind), Inactive{}}, 0.1);
  const auto proposal = Propose(job.state(), TrialModel(job.state()));
  REQUIRE(proposal);
  CHECK(proposal->configuration[0] == Value(std::string("c")));
  CHECK(objective(proposal->configuration) > 0.9);
}

// Wants every coordinate small, and counts how often it is asked.
class SmallOnes : public Desire {
 public:
  explicit SmallOnes(const JobState& state) : points_(state) {}
  const UnitPoints& points() const override { return points_; }
  std::vector<Eigen::VectorXd> BestFirst() const override { return {}; }
  Eigen::VectorXd Scores(const Eigen::MatrixXd& points) const override {
    asked += points.rows();
    return -points.rowwise().sum();
  }
  Acquisition ScoreOf(const Eigen::VectorXd& /*point*/) const override { return {}; }

  mutable int64_t asked = 0;

 private:
  const UnitPoints points_;
};

TEST_CASE("Gp proposal: the more columns have categories, the fewer of each are tried", "[scheduler]") {
  std::vector<std::string> values;
  for (int i = 0; i < 30; ++i) values.push_back(std::to_string(i));
  const auto columns = GENERATE(10, 100, 300);
  std::vector<Parameter> parameters;
  for (int i = 0; i < columns; ++i)
    parameters.push_back({"kind" + std::to_string(i), CategoricalRange{values}});
  const PlayedJob job(GpJob(parameters));
  const SmallOnes desire(job.state());
  const auto proposal = Propose(job.state(), desire);
  REQUIRE(proposal);
  // 300 candidates, and from each of three the beginning and two rounds, each with a climb
  CHECK(desire.asked <= 300 + 3 * (1 + 2 * (1 + 1000)));
  if (columns == 10) CHECK(proposal->score == 0);
}

TEST_CASE("Gp proposal: of a finite space it is what was not tried, at last none", "[scheduler]") {
  PlayedJob job(GpJob({{"a", IntegerRange{1, 4}}, {"kind", CategoricalRange{{"p", "q"}}}}));
  for (int64_t i = 0; i < 8; ++i) {
    const Configuration next = job.state().space().Nth(i);
    if (i > 0) {
      const auto proposal = Propose(job.state(), TrialModel(job.state()));
      REQUIRE(proposal);
      CHECK_FALSE(job.state().tried(proposal->configuration));
    }
    Play(job, next, static_cast<double>(i % 5));
  }
  CHECK_FALSE(Propose(job.state(), TrialModel(job.state())));
}

}  // namespace
}  // namespace winnow
