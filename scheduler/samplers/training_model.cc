#include "scheduler/samplers/training_model.h"

#include "scheduler/models/acquisition.h"
#include "scheduler/samplers/gp.h"
#include "scheduler/samplers/gp_proposal.h"
#include "scheduler/samplers/pareto_model.h"
#include "scheduler/space/rounded.h"

namespace winnow {
namespace {

class OfOneObjective : public TrainingModel {
 public:
  OfOneObjective(const JobState& state, TrialModel::Basis basis) : state_(state), model_(state, basis) {}

  bool empty() const override { return model_.empty(); }
  std::vector<double> refitted() const override { return model_.refitted(); }
  int64_t results() const override { return model_.results(); }
  const std::vector<TrialModel::Known>& known() const override { return model_.known(); }
  std::vector<Worth> WorthsOfKnown(const std::vector<size_t>& places) const override {
    std::vector<Worth> worths;
    for (const size_t place : places) worths.push_back(WorthOfEnd(model_.known()[place].end));
    return worths;
  }
  Worth WorthOf(const Configuration& configuration) const override {
    return WorthOfEnd(model_.process().Predict(model_.points().PointOf(configuration)));
  }
  std::optional<Proposal> Propose() const override { return winnow::Propose(state_, model_); }
  std::string Unlikely(double chance) const override {
    return "has a " + Percent(chance, 0) + " chance of beating " +
           ThreeDigits(model_.ToObjective(model_.best())) + ", the model's estimate of the best " +
           state_.spec().objective_metric;
  }

 private:
  Worth WorthOfEnd(const Prediction& end) const {
    return {LogExpectedImprovement(end, model_.best()), ChanceToBeat(end, model_.best()),
            [this, end] { return Expectation(state_, model_, end); }};
  }

  const JobState& state_;
  const TrialModel model_;
};

class OfStandings : public TrainingModel {
 public:
  OfStandings(const JobState& state, TrialModel::Basis basis) : state_(state), model_(state, basis) {}

  bool empty() const override { return model_.empty(); }
  std::vector<double> refitted() const override { return model_.refitted(); }
  int64_t results() const override { return model_.results(); }
  const std::vector<TrialModel::Known>& known() const override { return model_.known(); }
  std::vector<Worth> WorthsOfKnown(const std::vector<size_t>& places) const override {
    std::vector<Worth> worths;
    for (ParetoModel::Outlook& outlook : model_.OutlooksOfKnown(places))
      worths.push_back(WorthOf(std::move(outlook)));
    return worths;
  }
  Worth WorthOf(const Configuration& configuration) const override {
    return WorthOf(model_.OutlookOf(model_.points().PointOf(configuration)));
  }
  std::optional<Proposal> Propose() const override { return winnow::Propose(state_, model_); }
  std::string Unlikely(double chance) const override {
    return "has a " + Percent(chance, 0) + " chance of " +
           (state_.spec().has_several_objectives() ? "adding to the front" : "being feasible and the best");
  }

 private:
  Worth WorthOf(ParetoModel::Outlook outlook) const {
    return {outlook.log_improvement, outlook.chance, [this, outlook] { return model_.Expectation(outlook); }};
  }

  const JobState& state_;
  const ParetoModel model_;
};

}  // namespace

std::unique_ptr<TrainingModel> TrainingModelOf(const JobState& state, TrialModel::Basis basis) {
  if (state.spec().ranks_by_standing()) return std::make_unique<OfStandings>(state, basis);
  return std::make_unique<OfOneObjective>(state, basis);
}

}  // namespace winnow
