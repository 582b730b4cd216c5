#include "scheduler/pruners/freeze_thaw_choice.h"

#include <cmath>
#include <limits>

#include "scheduler/models/acquisition.h"
#include "scheduler/pruners/asha.h"
#include "scheduler/pruners/freeze_thaw.h"
#include "scheduler/random.h"
#include "scheduler/samplers/gp.h"
#include "scheduler/samplers/random.h"
#include "scheduler/space.h"
#include "scheduler/suggest.h"

namespace winnow {
namespace {

constexpr double kSafeguard = 0.1;
constexpr double kNewPenalty = 2;
constexpr double kLeastChance = 0.05;

class Choice {
 public:
  Choice(const JobState& state, Memo& memo)
      : state_(state),
        memo_(memo),
        rungs_(state.brackets()[0].rungs),
        number_(static_cast<TrialNumber>(state.trials().size()) + 1),
        may_create_(MayCreate(state) && Pays(rungs_.front().resource)) {}

  Suggested Run() {
    if (may_create_ && StartsUp(state_, number_)) {
      const auto promotion = Promotion();
      if (promotion && promotion->rung + 1 < Rungs()) return Resume(*promotion);
      return New(*DrawNext(state_));
    }
    const TrialModel model(state_);
    if (model.empty())
      return may_create_ ? New(NewOf(model)) : Nothing("No trial gave a finite value to go on from.");
    refitted_ = model.refitted();
    if (RandomUnit(state_.spec().seed, state_.last_sequence(), Purpose::kModel, 0) < kSafeguard) {
      if (const auto promotion = Promotion()) return Resume(*promotion);
    }
    return ByGain(model);
  }

 private:
  int64_t Rungs() const { return static_cast<int64_t>(rungs_.size()); }

  // Whether it can be spent beside what live attempts may still report.
  bool Pays(int64_t units) const {
    const int64_t most = state_.spec().limits.max_total_resource;
    return most == 0 || units <= most - state_.totals().resource - state_.totals().reserved_resource;
  }

  // Units from where the trial is taken up to a rung.
  int64_t Units(const TrialState& trial, int64_t rung) const {
    return rungs_[rung].resource - trial.checkpoint;
  }

  std::optional<TrialResumed> Promotion() const {
    auto promotion = AshaPruner().Promote(state_);
    if (promotion && !Pays(promotion->to - state_.trial(promotion->trial).checkpoint)) return std::nullopt;
    return promotion;
  }

  Suggested New(Suggestion suggestion) {
    if (refitted_.empty()) refitted_ = std::move(suggestion.model);
    return {number_, std::move(suggestion.configuration), state_.last_sequence(), std::move(suggestion.why),
            std::move(refitted_)};
  }
  Suggested Resume(const TrialResumed& promotion) { return Resume(promotion.trial, promotion.reason); }
  Suggested Resume(TrialNumber trial, std::string why) {
    return {trial, {}, state_.last_sequence(), std::move(why), std::move(refitted_)};
  }
  Suggested Nothing(std::string why) {
    return {0, {}, state_.last_sequence(), std::move(why), std::move(refitted_)};
  }

  // The sampler's next configuration.
  Suggestion NewOf(const TrialModel& model) {
    if (auto drawn = DrawNext(state_)) return *std::move(drawn);
    if (state_.spec().sampler.kind != SamplerKind::kGp || model.empty()) {
      return SamplerOf(state_.spec()).Suggest(state_, number_, memo_);
    }
    if (auto proposal = Propose(state_, model)) {
      return {std::move(proposal->configuration),
              "Gaussian process on " + std::to_string(model.results()) + " results"};
    }
    return {AnyConfiguration(state_, number_),
            "Drawn at random: what the model prefers breaks constraints or was tried"};
  }

  // Expected improvement per unit of training, as a logarithm: `first` units to the next rung, `rest` beyond
  // it.
  static double Gain(const TrialModel& model, const Prediction& end, int64_t first, int64_t rest) {
    const double cost =
        static_cast<double>(first) + ChanceToBeat(end, model.best()) * static_cast<double>(rest);
    return LogExpectedImprovement(end, model.best()) - std::log(cost);
  }

  Suggested ByGain(const TrialModel& model) {
    const int64_t last = rungs_.back().resource;
    double most = -std::numeric_limits<double>::infinity();
    std::optional<Suggestion> fresh;
    Prediction fresh_end;
    if (may_create_) {
      fresh = NewOf(model);
      fresh_end = model.process().Predict(model.points().PointOf(fresh->configuration));
      const int64_t first = rungs_.front().resource;
      most = Gain(model, fresh_end, first, last - first) - std::log(kNewPenalty);
    }
    const TrialModel::Known* chosen = nullptr;
    for (const TrialModel::Known& known : model.known()) {
      const TrialState& trial = state_.trial(known.trial);
      if (trial.phase != TrialPhase::kPaused || trial.rung + 1 >= Rungs()) continue;
      const int64_t first = Units(trial, trial.rung + 1);
      if (!Pays(first)) continue;
      if (!may_create_ && ChanceToBeat(known.end, model.best()) < kLeastChance) continue;
      const double gain = Gain(model, known.end, first, last - rungs_[trial.rung + 1].resource);
      if (gain <= most) continue;
      most = gain;
      chosen = &known;
    }
    if (chosen != nullptr) {
      const int64_t to = rungs_[state_.trial(chosen->trial).rung + 1].resource;
      return Resume(chosen->trial, "Freeze-thaw: most expected gain per unit of training, on to resource " +
                                       std::to_string(to) + "; " + Expectation(state_, model, chosen->end) +
                                       ".");
    }
    if (fresh) {
      fresh->why += "; a new trial has most expected gain per unit of training: " +
                    Expectation(state_, model, fresh_end) + ".";
      return New(*std::move(fresh));
    }
    return Nothing("No paused trial has a chance of " + DoubleToString(100 * kLeastChance) +
                   " % or more to beat " + state_.spec().objective_metric + " = " +
                   DoubleToString(model.ToObjective(model.best())) + ".");
  }

  const JobState& state_;
  Memo& memo_;
  const std::vector<RungState>& rungs_;
  TrialNumber number_;
  bool may_create_;
  std::vector<double> refitted_;
};

}  // namespace

Suggested ChooseFreezeThaw(const JobState& state, Memo& memo) { return Choice(state, memo).Run(); }

}  // namespace winnow
