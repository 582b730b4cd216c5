#include "scheduler/samplers/gp_proposal.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "scheduler/models/acquisition.h"
#include "scheduler/models/lbfgs.h"
#include "scheduler/samplers/indifference.h"
#include "scheduler/samplers/priors.h"
#include "scheduler/samplers/random.h"
#include "scheduler/samplers/unit_times.h"
#include "scheduler/space/random.h"

namespace winnow {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int kCandidates = 300;        // half of them over the whole space
constexpr int kDrawsPerCandidate = 20;  // per candidate, until one keeps the constraints
// Distances from a centre: from half of a range down, over so many powers of ten.
constexpr double kWidest = 0.5, kDecades = 2.5;
constexpr size_t kPolished = 3;
constexpr double kApart = 0.05;  // of starts, in at least one coordinate
constexpr double kSamePoint = 1e-6;
constexpr int kPolishRounds = 2, kPolishEvaluations = 25;
constexpr int kMostCategories = 30;  // tried when polishing
constexpr int kMostTries = 1000;     // likewise, of all columns together, but one of each

class Proposer {
 public:
  Proposer(const JobState& state, const Desire& desire)
      : state_(state),
        desire_(desire),
        indifference_(state, desire.points()),
        times_(state, desire.points()),
        best_first_(desire.BestFirst()),
        priors_(state, desire.points(), static_cast<int64_t>(best_first_.size()),
                [this](size_t i) { return best_first_[i]; }) {}

  std::optional<Proposal> Run() {
    DrawCandidates();
    if (candidates_.empty()) return std::nullopt;
    Score();
    std::vector<VectorXd> starts;
    for (const Candidate& candidate : candidates_) {
      if (starts.size() == kPolished) break;
      const bool apart = std::all_of(starts.begin(), starts.end(), [&](const VectorXd& start) {
        return Distance(start, candidate.point) >= kApart;
      });
      if (apart) starts.push_back(candidate.point);
    }
    for (const VectorXd& start : starts) Polish(start);
    std::stable_sort(candidates_.begin(), candidates_.end(), Better);
    for (const Candidate& candidate : candidates_) {
      Configuration configuration = desire_.points().ConfigurationOf(Active(candidate.point));
      if (IsKnown(configuration)) continue;
      return Proposal{std::move(configuration), candidate.point, candidate.score, priors_.Text()};
    }
    return std::nullopt;
  }

 private:
  struct Candidate {
    VectorXd point;
    double score = 0;
  };
  static bool Better(const Candidate& a, const Candidate& b) { return a.score > b.score; }

  double Uniform() {
    // No other draw of the job's models comes near: a suggestion takes less than 2^20.
    const uint64_t draw = (static_cast<uint64_t>(state_.last_sequence()) << 20) + ++draws_;
    return RandomUnit(state_.spec().seed, 0, Purpose::kModel, draw);
  }
  double Normal() {
    const double radius = std::sqrt(-2 * std::log(1 - Uniform()));
    return radius * std::cos(2 * std::numbers::pi * Uniform());
  }

  const std::vector<Column>& columns() const { return desire_.points().columns(); }

  static double Distance(const VectorXd& a, const VectorXd& b) {
    double most = 0;
    for (Index j = 0; j < a.size(); ++j) {
      if (std::isnan(a[j]) != std::isnan(b[j])) return 1;
      if (!std::isnan(a[j])) most = std::max(most, std::abs(a[j] - b[j]));
    }
    return most;
  }

  // Inactive coordinates get a value: they may become active as others change.
  VectorXd Active(VectorXd point) const {
    for (Index j = 0; j < point.size(); ++j) {
      if (std::isnan(point[j])) point[j] = columns()[static_cast<size_t>(j)].categories > 0 ? 0 : 0.5;
    }
    return point;
  }

  // The point of the space that holds `active`; absent: it breaks a constraint or was tried.
  std::optional<VectorXd> Allowed(const VectorXd& active) const {
    const Configuration configuration = desire_.points().ConfigurationOf(active);
    if (!state_.space().Satisfies(configuration) || state_.tried(configuration)) return std::nullopt;
    VectorXd point = desire_.points().PointOf(configuration);
    if (indifference_.IsNearKnown(point)) return std::nullopt;
    return point;
  }

  double Anywhere(Index j) { return desire_.points().Place(j, Uniform()); }

  VectorXd Near(VectorXd centre) {
    const auto count = centre.size();
    const double width = kWidest * std::pow(10, -kDecades * Uniform());
    const double share = std::min(1.0, std::max(2.0 / static_cast<double>(count), Uniform()));
    const auto certain = static_cast<Index>(Uniform() * static_cast<double>(count));
    for (Index j = 0; j < count; ++j) {
      if (j != certain && Uniform() > share) continue;
      if (columns()[static_cast<size_t>(j)].categories > 0) {
        centre[j] = Anywhere(j);
        continue;
      }
      const double low = desire_.points().low()[j], high = desire_.points().high()[j];
      double at = centre[j] + (high - low) * width * Normal();
      // What leaves the range ends at its end or as far inside.
      if (at < low) at = Uniform() < 0.5 ? low : 2 * low - at;
      if (at > high) at = Uniform() < 0.5 ? high : 2 * high - at;
      centre[j] = std::clamp(at, low, high);
    }
    return centre;
  }

  void DrawCandidates() {
    const size_t centres = std::min(desire_.centres(), best_first_.size());
    for (int i = 0; i < kCandidates; ++i) {
      const bool near = centres > 0 && i >= kCandidates / 2;
      DrawCandidate(
          [&] { return near ? Near(Active(best_first_[static_cast<size_t>(i) % centres])) : Somewhere(); });
    }
  }

  VectorXd Somewhere() {
    VectorXd active(static_cast<Index>(columns().size()));
    const bool drawn = priors_.strength() > 0 && Uniform() < priors_.strength() / 2;
    for (Index j = 0; j < active.size(); ++j) active[j] = drawn ? priors_.Draw(j, Uniform()) : Anywhere(j);
    return active;
  }

  // The first of a few draws that is allowed.
  template <typename Draw>
  void DrawCandidate(const Draw& draw) {
    for (int i = 0; i < kDrawsPerCandidate; ++i) {
      auto point = Allowed(draw());
      if (!point) continue;
      candidates_.push_back({*std::move(point)});
      return;
    }
  }

  MatrixXd Points() const {
    MatrixXd points(static_cast<Index>(candidates_.size()), static_cast<Index>(columns().size()));
    for (Index i = 0; i < points.rows(); ++i)
      points.row(i) = candidates_[static_cast<size_t>(i)].point.transpose();
    return points;
  }

  void Score() {
    const VectorXd scores = desire_.Scores(Points());
    for (Index i = 0; i < scores.size(); ++i) {
      Candidate& candidate = candidates_[static_cast<size_t>(i)];
      candidate.score = scores[i] + Added(candidate.point);
    }
    std::stable_sort(candidates_.begin(), candidates_.end(), Better);
  }

  // What is added to the desire: the priors', and the logarithm of the time that a unit takes is taken off.
  double Added(const VectorXd& point) const { return priors_.Log(point) - times_.LogOf(point); }

  double ScoreOf(const VectorXd& point) const { return desire_.Scores(point.transpose())[0] + Added(point); }

  int MostTriesOfColumn() const {
    const auto categorical = std::count_if(columns().begin(), columns().end(),
                                           [](const Column& column) { return column.categories > 0; });
    return std::clamp(kMostTries / std::max(1, static_cast<int>(categorical)), 1, kMostCategories);
  }

  void Polish(VectorXd point) {
    double score = ScoreOf(point);
    const int most = MostTriesOfColumn();
    for (int round = 0; round < kPolishRounds; ++round) {
      const double before = score;
      const VectorXd top = Climb(point);
      Take(top, point, score);
      // From where the climb has ended another one finds no more, unless the space moved that point or a
      // category changes.
      const bool ended = Distance(Active(point), top) < kSamePoint;
      const double climbed = score;
      for (Index j = 0; j < point.size(); ++j) {
        const int categories = columns()[static_cast<size_t>(j)].categories;
        if (std::isnan(point[j])) continue;
        for (int c = 0; c < std::min(categories, most); ++c) {
          VectorXd active = Active(point);
          active[j] = categories <= most ? c : std::floor(Uniform() * categories);
          Take(active, point, score);
        }
      }
      if (score <= before || (ended && score <= climbed)) break;
    }
    candidates_.push_back({point, score});
  }

  // Moves `point` where `active` is allowed and better.
  void Take(const VectorXd& active, VectorXd& point, double& score) const {
    const auto allowed = Allowed(active);
    if (!allowed) return;
    const double at = ScoreOf(*allowed);
    if (!(at > score)) return;
    point = *allowed;
    score = at;
  }

  // Where the numbers lead uphill, as if they were all continuous.
  VectorXd Climb(const VectorXd& point) const {
    std::vector<Index> numbers;
    for (Index j = 0; j < point.size(); ++j) {
      if (columns()[static_cast<size_t>(j)].categories == 0 && !std::isnan(point[j])) numbers.push_back(j);
    }
    VectorXd active = Active(point);
    if (numbers.empty()) return active;
    const Differentiable minus_score = [&](const VectorXd& at, VectorXd& gradient) {
      VectorXd moved = point;
      moved(numbers) = at;
      Acquisition acquisition = desire_.ScoreOf(moved);
      priors_.AddSlope(moved, acquisition.gradient);
      times_.AddSlope(moved, acquisition.gradient, -1);
      gradient = -acquisition.gradient(numbers);
      return -acquisition.value - Added(moved);
    };
    active(numbers) = Minimize(minus_score, active(numbers), desire_.points().low()(numbers),
                               desire_.points().high()(numbers), kPolishEvaluations)
                          .at;
    return active;
  }

  bool IsKnown(const Configuration& configuration) const {
    // A finite space knows all that were tried; elsewhere the newest are looked through.
    constexpr size_t kLookedThrough = 20'000;
    const auto& trials = state_.trials();
    const size_t first = trials.size() > kLookedThrough ? trials.size() - kLookedThrough : 0;
    return std::any_of(trials.begin() + static_cast<int64_t>(first), trials.end(),
                       [&](const TrialState& trial) { return trial.configuration == configuration; });
  }

  const JobState& state_;
  const Desire& desire_;
  const Indifference indifference_;
  const UnitTimes times_;
  const std::vector<VectorXd> best_first_;  // of known trials
  const PriorWeights priors_;
  uint64_t draws_ = 0;
  std::vector<Candidate> candidates_;
};

// The expected improvement over the bar of one model.
class Improvement : public Desire {
 public:
  explicit Improvement(const TrialModel& model) : model_(model) {}

  const UnitPoints& points() const override { return model_.points(); }

  std::vector<VectorXd> BestFirst() const override {
    std::vector<TrialModel::Known> known = model_.known();
    std::stable_sort(known.begin(), known.end(),
                     [](const auto& a, const auto& b) { return a.end.mean > b.end.mean; });
    std::vector<VectorXd> points;
    for (TrialModel::Known& each : known) points.push_back(std::move(each.point));
    return points;
  }

  VectorXd Scores(const MatrixXd& points) const override {
    const auto [means, variances] = model_.process().PredictAll(points);
    VectorXd scores(means.size());
    for (Index i = 0; i < means.size(); ++i)
      scores[i] = LogExpectedImprovement({means[i], variances[i]}, model_.bar());
    return scores;
  }

  Acquisition ScoreOf(const VectorXd& point) const override {
    return LogExpectedImprovement(model_.process(), point, model_.bar());
  }

 private:
  const TrialModel& model_;
};

}  // namespace

std::optional<Proposal> Propose(const JobState& state, const Desire& desire) {
  return Proposer(state, desire).Run();
}

std::optional<Proposal> Propose(const JobState& state, const TrialModel& model) {
  return Propose(state, Improvement(model));
}

}  // namespace winnow
