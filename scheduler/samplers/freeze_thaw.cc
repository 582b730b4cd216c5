#include "scheduler/samplers/freeze_thaw.h"

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "scheduler/pruners/asha.h"
#include "scheduler/samplers/gp.h"
#include "scheduler/samplers/random.h"
#include "scheduler/samplers/rule_shares.h"
#include "scheduler/samplers/sobol.h"
#include "scheduler/samplers/tpe.h"
#include "scheduler/samplers/training_model.h"
#include "scheduler/samplers/unit_times.h"
#include "scheduler/samplers/worsening.h"
#include "scheduler/space/rounded.h"
#include "scheduler/state/budget.h"

namespace winnow {
namespace {

constexpr int64_t kLeastFinished = 3;  // trials, before any goes straight
constexpr double kLeastChance = 0.05;
// With several objectives: of max_total_resource, at the end.
constexpr double kModelAlone = 0.3;

// By which a new trial's gain is divided, as a logarithm: grows with the units spent, in those of a whole
// trial.
double NewPenalty(double spent) { return 0.25 * std::log2(1 + 0.25 * spent); }

class Choice {
 public:
  explicit Choice(const JobState& state)
      : state_(state),
        configurations_(ConfigurationSamplerOf(state.spec())),
        rungs_(state.brackets()[0].rungs),
        startup_(state.startup().Units(rungs_.back().resource, state.spec().limits.time_alone())),
        highest_(rungs_.back().resource),
        lowest_(NextLevel(0, 0)),
        number_(state.next_trial()),
        spent_(Spent()),
        shares_(SharesOf(state)),
        may_create_(state.may_create() && Pays(lowest_)) {}

  Suggested Run() {
    if (rungs_.size() == 1) return Whole();
    if (may_create_ && StartsUp(state_, number_)) return Start();
    if (auto straight = Straight()) return *std::move(straight);
    const SuggestionRule rule = Due();
    if (rule != SuggestionRule::kModel) {
      if (const auto promotion = Promotion()) return Resume(*promotion, rule);
      if (may_create_) return New(rule == SuggestionRule::kBreadth ? Broad() : Dense(), rule);
    }
    // The model is made only where it is asked: it takes most of a suggestion's time.
    const std::unique_ptr<const TrainingModel> model = TrainingModelOf(state_);
    if (model->empty()) {
      if (!may_create_) return Nothing("No trial gave a finite value to go on from.");
      return New(NewOf(*model), SuggestionRule::kStart);
    }
    refitted_ = model->refitted();
    return ByGain(*model);
  }

 private:
  // The units that the suggestions of a rule asked for, start-up included.
  double CostOf(SuggestionRule rule) const {
    return static_cast<double>(state_.suggested_units(rule)) +
           startup_ * static_cast<double>(state_.suggested_parts(rule));
  }

  // Cost of all parts so far.
  double Spent() const {
    double parts = 0;
    for (size_t rule = 0; rule < kSuggestionRules; ++rule)
      parts += static_cast<double>(state_.suggested_parts(static_cast<SuggestionRule>(rule)));
    return static_cast<double>(state_.totals().resource + state_.totals().reserved_resource) +
           startup_ * parts;
  }

  // With several objectives, near the end of the budget: what is begun to look around would not be finished.
  bool ModelAlone() const {
    const double most = static_cast<double>(state_.spec().limits.max_total_resource);
    const double units = static_cast<double>(state_.totals().resource + state_.totals().reserved_resource);
    return state_.spec().has_several_objectives() && most > 0 && units > (1 - kModelAlone) * most;
  }

  // Breadth, density or the model: the one whose cost is furthest below its share of what the three cost.
  SuggestionRule Due() const {
    constexpr SuggestionRule kRules[] = {SuggestionRule::kBreadth, SuggestionRule::kDensity,
                                         SuggestionRule::kModel};
    double cost = 1;  // of the part to choose
    for (const SuggestionRule rule : kRules) cost += CostOf(rule);
    SuggestionRule due = SuggestionRule::kModel;
    if (ModelAlone()) return due;
    double most = -std::numeric_limits<double>::infinity();
    for (const SuggestionRule rule : kRules) {
      if (shares_.Of(rule) == 0) continue;
      const double behind = shares_.Of(rule) / (1 - shares_.straight) * cost - CostOf(rule);
      if (behind <= most) continue;
      most = behind;
      due = rule;
    }
    return due;
  }

  // Where a part from a level ends, at this rung or above: at the lowest that makes it as long as its
  // start-up.
  int64_t NextLevel(int64_t from, size_t rung) const {
    while (rung + 1 < rungs_.size() && static_cast<double>(rungs_[rung].resource - from) < startup_) {
      ++rung;
    }
    return rungs_[rung].resource;
  }
  // The next level of a paused trial. REQUIRES: a rung above its own.
  int64_t NextLevel(const TrialState& trial) const {
    return NextLevel(trial.checkpoint, static_cast<size_t>(trial.rung) + 1);
  }

  bool Pays(int64_t units) {
    const bool pays = PaysNow(state_, units);
    unpaid_ = unpaid_ || !pays;
    return pays;
  }

  std::optional<TrialResumed> Promotion() {
    const auto left_to_model = [this](TrialNumber number) {
      return WorsensOnFront(state_, state_.trial(number));
    };
    auto promotion = AshaPruner().Promote(state_, left_to_model);
    if (!promotion) return std::nullopt;
    const TrialState& trial = state_.trial(promotion->trial);
    if (const int64_t to = NextLevel(trial); to > promotion->to) {
      promotion->to = to;
      promotion->reason = WithoutFullStop(std::move(promotion->reason)) + " at least, and to " +
                          std::to_string(to) + " since a part costs " + ThreeDigits(startup_) +
                          " units to start.";
    }
    if (!Pays(promotion->to - trial.checkpoint)) return std::nullopt;
    return promotion;
  }

  Suggested Start() {
    const auto promotion = Promotion();
    const bool goes_on = promotion && promotion->to < highest_;
    if (goes_on) return Resume(*promotion, SuggestionRule::kStart);
    auto centre = CentreOf(state_, number_);
    return New(centre ? *std::move(centre) : *configurations_.Next(state_), SuggestionRule::kStart);
  }

  // There is nothing to stop early: new trials, trained to the end.
  Suggested Whole() {
    if (!may_create_) return Nothing(unpaid_ ? SpentReason(state_) : "No new trial may start.");
    if (auto drawn = configurations_.Next(state_)) return New(*std::move(drawn), SuggestionRule::kStart);
    Suggested answer = configurations_.Suggest(state_);
    refitted_ = std::move(answer.model);
    return New({std::move(answer.configuration), std::move(answer.why)}, SuggestionRule::kModel);
  }

  // A point of Sobol's sequence, or of the grid that the job tries as a whole.
  Suggestion Broad() const {
    static const SobolSampler sobol;
    Suggestion suggestion = state_.grid() != nullptr ? *configurations_.Next(state_) : *sobol.Next(state_);
    suggestion.why = WithoutFullStop(std::move(suggestion.why)) + ", whatever the model says: breadth has " +
                     Percent(shares_.breadth, 0) + " of the training by what it found so far";
    return suggestion;
  }

  // A configuration of TPE, which knows what was good but expects nothing.
  Suggestion Dense() const {
    static const TpeSampler tpe;
    Suggestion suggestion;
    if (auto drawn = tpe.Next(state_)) {
      suggestion = *std::move(drawn);
    } else {
      Suggested answer = tpe.Suggest(state_);
      suggestion = {std::move(answer.configuration), std::move(answer.why)};
    }
    suggestion.why = WithoutFullStop(std::move(suggestion.why)) + "; TPE has " + Percent(shares_.density, 0) +
                     " of the training by what it found so far";
    return suggestion;
  }

  std::optional<Suggested> Straight() {
    if (!may_create_ || lowest_ == highest_ || ModelAlone() || !PaysNow(state_, highest_))
      return std::nullopt;
    const double cost = CostOf(SuggestionRule::kStraight) + startup_ + static_cast<double>(highest_);
    if (cost > shares_.straight * spent_) return std::nullopt;
    const auto finished = TrainingModelOf(state_, TrialModel::Basis::kFinished);
    if (finished->empty() || finished->results() < kLeastFinished) return std::nullopt;
    Suggestion suggestion = NewOf(*finished);
    suggestion.why += " of finished trials; to be trained to the end at once, whatever its curve looks like.";
    return New(std::move(suggestion), SuggestionRule::kStraight);
  }

  Suggested New(Suggestion suggestion, SuggestionRule rule) {
    return {number_,
            std::move(suggestion.configuration),
            state_.last_sequence(),
            WithFullStop(std::move(suggestion.why)),
            std::move(refitted_),
            rule,
            rule == SuggestionRule::kStraight ? highest_ : lowest_};
  }
  Suggested Resume(const TrialResumed& promotion, SuggestionRule rule) {
    return {promotion.trial, {}, state_.last_sequence(), promotion.reason, std::move(refitted_), rule,
            promotion.to};
  }
  Suggested Nothing(std::string why) {
    return {0, {}, state_.last_sequence(), std::move(why), std::move(refitted_)};
  }

  static std::string WithoutFullStop(std::string sentence) {
    if (!sentence.empty() && sentence.back() == '.') sentence.pop_back();
    return sentence;
  }
  static std::string WithFullStop(std::string sentence) { return WithoutFullStop(std::move(sentence)) + "."; }

  // The sampler's next configuration; `why` is an unfinished sentence.
  Suggestion NewOf(const TrainingModel& model) {
    Suggestion suggestion;
    if (auto drawn = configurations_.Next(state_)) {
      suggestion = *std::move(drawn);
    } else if (state_.spec().sampler.kind != SamplerKind::kGp || model.empty()) {
      Suggested answer = configurations_.Suggest(state_);
      suggestion = {std::move(answer.configuration), std::move(answer.why)};
    } else if (auto proposal = model.Propose()) {
      suggestion = {std::move(proposal->configuration),
                    "Gaussian process on " + std::to_string(model.results()) + " results" + proposal->priors};
    } else {
      suggestion = {AnyConfiguration(state_, number_),
                    "Drawn at random: what the model prefers breaks constraints or was tried"};
    }
    suggestion.why = WithoutFullStop(std::move(suggestion.why));
    return suggestion;
  }

  // Expected improvement per unit, start-up included, as a logarithm: of a part to a level, and if the trial
  // turns out to beat the best, of one more to the end. `slowness`: what a unit costs (UnitTimes).
  double Gain(const TrainingModel::Worth& end, int64_t from, int64_t to, double slowness) const {
    const double part = startup_ + slowness * static_cast<double>(to - from);
    const double rest = to < highest_ ? startup_ + slowness * static_cast<double>(highest_ - to) : 0;
    return end.log_improvement - std::log(part + end.chance * rest);
  }

  // Chooses between the next level and the end: the one for which a part is expected to cost less in total.
  int64_t LevelFor(const TrainingModel::Worth& end, int64_t from, int64_t next, double slowness) const {
    const bool through = Gain(end, from, highest_, slowness) > Gain(end, from, next, slowness);
    return through && PaysNow(state_, highest_ - from) ? highest_ : next;
  }

  // The best trial so far, or one of the front, if it is paused: a job does not end before these are trained
  // to the end, except those of a front that training makes worse.
  std::optional<Suggested> Leader() {
    if (const auto best = state_.leading_trial()) return ToTheEnd(state_.trial(*best));
    for (const Standing& member : state_.front()) {
      if (WorsensOnFront(state_, state_.trial(member.number))) continue;
      if (auto leader = ToTheEnd(state_.trial(member.number))) return leader;
    }
    return std::nullopt;
  }

  std::optional<Suggested> ToTheEnd(const TrialState& trial) {
    if (trial.phase != TrialPhase::kPaused) return std::nullopt;
    if (static_cast<size_t>(trial.rung) + 1 >= rungs_.size() || !Pays(highest_ - trial.checkpoint))
      return std::nullopt;
    return Resume({trial.number, 0, highest_,
                   (state_.spec().has_several_objectives() ? "On the front so far, on to resource "
                                                           : "The best so far, on to resource ") +
                       std::to_string(highest_) + " since nothing else is likely to beat it."},
                  SuggestionRule::kModel);
  }

  Suggested ByGain(const TrainingModel& model) {
    const UnitPoints points(state_);
    const UnitTimes times(state_, points);
    double most = -std::numeric_limits<double>::infinity();
    std::optional<Suggestion> fresh;
    TrainingModel::Worth fresh_end;
    if (may_create_) {
      fresh = NewOf(model);
      fresh_end = model.WorthOf(fresh->configuration);
      const double slowness = times.FactorOf(points.PointOf(fresh->configuration));
      most = Gain(fresh_end, 0, lowest_, slowness) -
             NewPenalty(spent_ / (startup_ + static_cast<double>(highest_)));
    }
    TrialNumber chosen = 0;
    TrainingModel::Worth chosen_end;
    int64_t chosen_to = 0;
    std::vector<size_t> waiting;  // places in model.known()
    for (size_t place = 0; place < model.known().size(); ++place) {
      const TrialState& trial = state_.trial(model.known()[place].trial);
      if (trial.phase != TrialPhase::kPaused || static_cast<size_t>(trial.rung) + 1 >= rungs_.size())
        continue;
      if (!state_.duplicates().IsDuplicate(trial.number)) waiting.push_back(place);
    }
    std::vector<TrainingModel::Worth> ends = model.WorthsOfKnown(waiting);
    for (size_t i = 0; i < waiting.size(); ++i) {
      const TrialModel::Known& known = model.known()[waiting[i]];
      const TrialState& trial = state_.trial(known.trial);
      TrainingModel::Worth& end = ends[i];
      if (!may_create_ && end.chance < kLeastChance) continue;
      const double slowness = times.FactorOf(trial, known.point);
      const int64_t to = LevelFor(end, trial.checkpoint, NextLevel(trial), slowness);
      if (!Pays(to - trial.checkpoint)) continue;
      const double gain = Gain(end, trial.checkpoint, to, slowness);
      if (gain <= most) continue;
      most = gain;
      chosen = trial.number;
      chosen_end = std::move(end);
      chosen_to = to;
    }
    const std::string most_gain =
        std::string("most expected gain per ") + (times.known() ? "second" : "unit") + " of training";
    if (chosen > 0) {
      std::string why = "Freeze-thaw: " + most_gain + ", on to resource " + std::to_string(chosen_to) + "; " +
                        chosen_end.text() + ".";
      return Resume({chosen, 0, chosen_to, std::move(why)}, SuggestionRule::kModel);
    }
    if (fresh) {
      fresh->why += "; a new trial has " + most_gain + ": " + fresh_end.text();
      return New(*std::move(fresh), SuggestionRule::kModel);
    }
    if (auto leader = Leader()) return *std::move(leader);
    if (unpaid_) return Nothing(SpentReason(state_));
    return Nothing("No paused trial " + model.Unlikely(kLeastChance) + ".");
  }

  const JobState& state_;
  const Sampler& configurations_;  // of new trials
  const std::vector<RungState>& rungs_;
  const double startup_;  // what a part costs before its first unit, in units
  const int64_t highest_, lowest_;
  const TrialNumber number_;
  const double spent_;
  const RuleShares shares_;
  bool unpaid_ = false;  // something was too dear for the rest of the budget
  const bool may_create_;
  std::vector<double> refitted_;
};

}  // namespace

Suggested FreezeThawSampler::Suggest(const JobState& state) const { return Choice(state).Run(); }

}  // namespace winnow
