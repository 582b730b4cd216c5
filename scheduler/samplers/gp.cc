#include "scheduler/samplers/gp.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "scheduler/models/normal.h"
#include "scheduler/samplers/pareto_model.h"
#include "scheduler/samplers/priors.h"
#include "scheduler/samplers/random.h"
#include "scheduler/samplers/sobol.h"
#include "scheduler/space/rounded.h"

namespace winnow {
namespace {

// With so many decimals that a range of `width` has two digits, but no more than six digits.
std::string Rounded(double value, double width) {
  if (!std::isfinite(value) || !(width > 0)) return SixDigits(value);
  const double scale = std::pow(10, std::clamp(1 - std::floor(std::log10(width)), -15.0, 15.0));
  return SixDigits(std::round(value * scale) / scale);
}

}  // namespace

double ChanceToBeat(const Prediction& end, double best) {
  constexpr double kLeastVariance = 1e-12;
  return NormalCdf((end.mean - best) / std::sqrt(end.variance + kLeastVariance));
}

std::optional<Suggestion> CentreOf(const JobState& state, TrialNumber number) {
  const SearchSpec& spec = state.spec();
  const TrialNumber own = static_cast<TrialNumber>(spec.initial.size()) + (HasPriors(spec) ? 1 : 0);
  if (spec.sampler.kind != SamplerKind::kGp || !state.earlier_results().empty() || number != own + 1)
    return std::nullopt;
  constexpr double kMiddle = 0.5;
  Configuration configuration = state.space().FromUnit(std::vector<double>(spec.parameters.size(), kMiddle));
  if (!state.space().Satisfies(configuration) || state.tried(configuration)) return std::nullopt;
  return Suggestion{std::move(configuration), "The centre of the space."};
}

std::string Expectation(const JobState& state, const TrialModel& model, const Prediction& end) {
  constexpr double kMiddle90 = 1.645;  // deviations on either side
  const Prediction report = model.ReportOf(end);
  const double deviation = std::sqrt(report.variance);
  const double middle = model.ToObjective(end.mean);
  double low = model.ToObjective(end.mean - kMiddle90 * deviation);
  double high = model.ToObjective(end.mean + kMiddle90 * deviation);
  if (low > high) std::swap(low, high);
  const std::vector<int64_t> levels = RungLevels(state);
  const std::string where = levels.empty() ? "" : " at resource " + std::to_string(levels.back());
  // Each to what the interval tells on its side; what is compared, to the finer of the two.
  const double below = middle - low, above = high - middle;
  const double finer = below > 0 && above > 0 ? std::min(below, above) : std::max(below, above);
  std::string text = "expected " + state.spec().objective_metric + " " + Rounded(middle, finer) + " (" +
                     Rounded(low, below) + " to " + Rounded(high, above) + ")" + where;
  if (const auto best = state.best_trial()) {
    const double value = state.trial(*best).value;
    text += ", " + Percent(ChanceToBeat(report, model.FromObjective(value)), 0) + " chance to beat the " +
            Rounded(value, finer) + " of trial " + std::to_string(*best);
  }
  return text;
}

namespace {

constexpr int64_t kFirstPoints = 4;

// The number of the Sobol point that a trial tries; absent: it is the model's turn.
//
// The first four trials are points. The model and a point then take turns, up to StartupTrials trials, so
// that a job of few whole trials has a model too. A turn of the model is a point's where there are fewer
// results than points before it. All StartupTrials are points where the user has said how many, where there
// are several rungs or several metrics that rank trials, and where there are earlier results.
std::optional<TrialNumber> PointOf(const JobState& state, TrialNumber number) {
  if (!StartsUp(state, number)) return std::nullopt;
  const SearchSpec& spec = state.spec();
  if (spec.sampler.startup_trials > 0 || spec.ranks_by_standing() || !state.earlier_results().empty())
    return number;
  const int64_t points = StartupTrials(spec), own = static_cast<int64_t>(spec.initial.size());
  const int64_t place = number - own, turn = (place - kFirstPoints + 1) / 2;
  if (place <= kFirstPoints || turn > points - kFirstPoints || RungLevels(state).size() > 1) return number;
  if ((place - kFirstPoints) % 2 == 0) return own + kFirstPoints + turn;
  const JobTotals& totals = state.totals();
  if (totals.completed + totals.pruned + totals.cancelled + totals.paused >= kFirstPoints + turn - 1)
    return std::nullopt;
  return own + points + turn;  // beyond the others, so that none is tried twice
}

Suggested Sobol(const JobState& state) {
  static const SobolSampler sobol;
  return NewTrial(state, *sobol.Draw(state, state.next_trial(), 0));
}

// The answer where nothing was found.
Suggested AtRandom(const JobState& state, std::vector<double> refitted) {
  return NewTrial(
      state,
      {RandomConfiguration(state.spec(), state.space(), state.next_trial()),
       "Drawn at random: what the Gaussian process prefers breaks constraints or was tried already."},
      std::move(refitted));
}

// With several objectives or metric constraints.
Suggested SuggestByStanding(const JobState& state) {
  const ParetoModel model(state);
  if (model.empty()) return Sobol(state);
  auto proposal = Propose(state, model);
  if (!proposal) return AtRandom(state, model.refitted());
  return NewTrial(state,
                  {std::move(proposal->configuration),
                   "Gaussian processes on " + std::to_string(model.results()) + " results" +
                       proposal->priors + ": " + model.Expectation(model.OutlookOf(proposal->point)) + "."},
                  model.refitted());
}

}  // namespace

std::optional<Suggestion> GpSampler::Draw(const JobState& state, TrialNumber number, int64_t redraw) const {
  static const SobolSampler sobol;
  const auto point = PointOf(state, number);
  if (!point) return std::nullopt;
  auto centre = state.spec().has_several_objectives() ? CentreOf(state, number) : std::nullopt;
  return centre ? std::move(centre) : sobol.Draw(state, *point, redraw);
}

Suggested GpSampler::Suggest(const JobState& state) const {
  if (state.spec().ranks_by_standing()) return SuggestByStanding(state);
  const TrialModel model(state);
  if (model.empty()) return Sobol(state);
  std::vector<double> refitted = model.refitted();
  auto proposal = Propose(state, model);
  if (!proposal) return AtRandom(state, std::move(refitted));
  return NewTrial(state,
                  {std::move(proposal->configuration),
                   "Gaussian process on " + std::to_string(model.results()) + " results" + proposal->priors +
                       ": " + Expectation(state, model, model.process().Predict(proposal->point)) + "."},
                  std::move(refitted));
}

}  // namespace winnow
