#include "scheduler/simulate.h"

#include <algorithm>
#include <map>
#include <queue>
#include <string>
#include <utility>

#include "scheduler/decide.h"
#include "scheduler/placement.h"
#include "scheduler/space/random.h"
#include "scheduler/suggest.h"

namespace winnow {
namespace {

struct Event {
  double at = 0;
  int64_t order = 0;  // among events of the same time
  FactBody body;

  friend bool operator>(const Event& a, const Event& b) {
    return std::tie(a.at, a.order) > std::tie(b.at, b.order);
  }
};

struct Running {
  std::vector<std::string> ranks;
  double started = 0;
};

class Simulator {
 public:
  Simulator(const SearchSpec& spec, const Simulation& simulation)
      : simulation_(simulation), result_{{}, JobState(spec)}, state_(result_.state) {
    for (int w = 0; w < simulation.workers; ++w) {
      rooms_.push_back({"worker-" + std::to_string(w), simulation.slots, "storage-" + std::to_string(w)});
    }
  }

  SimulationResult Run() {
    for (const EarlierResult& earlier : simulation_.earlier) Record(earlier);
    if (simulation_.stop_after_seconds > 0) Push(simulation_.stop_after_seconds, StopRequested{"enough"});
    if (simulation_.wall_time_seconds > 0)
      Push(simulation_.wall_time_seconds, TimeLimitReached{TimeLimit::kWall});
    FillSlots();
    while ((!state_.ended() || Continue()) && (!events_.empty() || changed_ < simulation_.changes.size())) {
      if (IsChangeNext()) {
        if (!LimitsNodeTime(simulation_.changes[changed_].at_seconds)) Change();
        continue;
      }
      if (LimitsNodeTime(events_.top().at)) continue;
      Event event = events_.top();
      events_.pop();
      if (Cancelled(event.body)) continue;
      PassTo(event.at);
      if (const auto* ended = std::get_if<AttemptEnded>(&event.body)) Free(ended->trial);
      Record(std::move(event.body));
      StopEnded();
      FillSlots();
    }
    result_.stalled = !state_.ended();
    result_.elapsed_seconds = now_;
    result_.idle_slot_seconds = now_ * simulation_.workers * simulation_.slots - result_.busy_slot_seconds;
    return std::move(result_);
  }

 private:
  void Push(double at, FactBody body) { events_.push({at, ++events_pushed_, std::move(body)}); }

  int64_t Micros(double seconds) const { return static_cast<int64_t>(seconds * 1e6) + 1; }

  void Record(FactBody body) {
    std::vector<Fact> facts = Advance(state_, Micros(now_), std::move(body));
    std::move(facts.begin(), facts.end(), std::back_inserter(result_.facts));
    if (simulation_.on_settled) simulation_.on_settled(state_);
  }

  bool IsChangeNext() const {
    if (changed_ == simulation_.changes.size()) return false;
    return events_.empty() || simulation_.changes[changed_].at_seconds <= events_.top().at;
  }

  // Whether a job that has ended goes on.
  bool Continue() {
    if (!simulation_.on_ended) return false;
    for (FactBody& fact : simulation_.on_ended(state_)) Record(std::move(fact));
    FillSlots();
    return !state_.ended();
  }

  void Change() {
    const Simulation::Change& change = simulation_.changes[changed_++];
    PassTo(std::max(now_, change.at_seconds));
    std::optional<FactBody> body = change.make(state_);
    if (!body || !state_.Contradiction({state_.last_sequence() + 1, 0, *body}).empty()) return;
    Record(*std::move(body));
    StopEnded();
    FillSlots();
  }

  // Events of an attempt that was stopped come no more.
  bool Cancelled(const FactBody& body) const {
    const auto stopped = [this](TrialNumber trial, int64_t attempt, bool is_stop) {
      const auto found = stopped_.find(trial);
      return found != stopped_.end() && found->second == attempt && !is_stop;
    };
    if (const auto* reported = std::get_if<Reported>(&body)) {
      return stopped(reported->trial, reported->attempt, false);
    }
    if (const auto* ended = std::get_if<AttemptEnded>(&body)) {
      return stopped(ended->trial, ended->attempt, ended->outcome == AttemptOutcome::kStopped);
    }
    return false;
  }

  void PassTo(double at) {
    node_time_ += (at - now_) * static_cast<double>(state_.totals().live_nodes);
    now_ = at;
  }

  // Whether the job's node time is used up before `until`; then it is recorded, at its time.
  bool LimitsNodeTime(double until) {
    const double left = simulation_.node_time_seconds - node_time_;
    const auto rate = static_cast<double>(state_.totals().live_nodes);
    if (simulation_.node_time_seconds <= 0 || state_.closing() || (until - now_) * rate < left) return false;
    PassTo(rate > 0 ? now_ + std::max(0.0, left) / rate : now_);
    Record(TimeLimitReached{TimeLimit::kNode});
    StopEnded();
    FillSlots();
    return true;
  }

  // Live attempts of ended trials go a little later, as a worker would stop them.
  void StopEnded() {
    for (const auto& [number, running] : running_) {
      const TrialState& trial = state_.trial(number);
      if (!trial.ended() || stopped_.count(number) > 0) continue;
      stopped_[number] = trial.attempts;
      const double at = now_ + simulation_.stop_seconds;
      Push(at, AttemptEnded{number, trial.attempts, AttemptOutcome::kStopped, "stopped",
                            Micros(running.started), Micros(at)});
    }
  }

  void Free(TrialNumber number) {
    const Running& running = running_.at(number);
    for (const std::string& rank : running.ranks) {
      for (WorkerRoom& room : rooms_) room.free_slots += room.worker_id == rank ? 1 : 0;
    }
    const auto ranks = static_cast<double>(running.ranks.size());
    result_.busy_slot_seconds += (now_ - running.started) * ranks;
    result_.startup_slot_seconds += std::min(now_ - running.started, simulation_.start_seconds) * ranks;
    running_.erase(number);
  }

  void FillSlots() {
    while (!state_.ended()) {
      if (!Place(rooms_, {state_.spec().LeastNodes()})) return;
      auto admission = Admit(state_);
      if (!admission && WantsSuggestion(state_)) {
        Record(Suggest(state_));
        continue;
      }
      if (!admission) {
        if (simulation_.on_idle) simulation_.on_idle(state_);
        return;
      }
      const auto ranks = admission->trial == 0 ? std::nullopt : Place(rooms_, {NodesOf(state_, *admission)});
      if (admission->trial > 0 && !ranks) return;
      if (admission->decision) Record(ToBody(*admission->decision));
      if (!ranks) continue;
      if (LosesCheckpoint(*admission)) {
        Record(CheckpointLost{admission->trial});
        continue;
      }
      const int64_t attempt = state_.trial(admission->trial).attempts + 1;
      Record(AttemptStarted{admission->trial, attempt, admission->from, admission->to});
      if (state_.trial(admission->trial).has_to_take) Record(CheckpointTaken{admission->trial});
      for (const std::string& rank : *ranks) {
        for (WorkerRoom& room : rooms_) room.free_slots -= room.worker_id == rank ? 1 : 0;
      }
      running_[admission->trial] = {*ranks, now_};
      Train(state_.trial(admission->trial), *ranks);
    }
  }

  double Draw(const TrialState& trial, uint64_t what) const {
    return RandomUnit(simulation_.seed, trial.number, Purpose::kSimulation,
                      static_cast<uint64_t>(trial.attempts) * 8 + what);
  }

  bool LosesCheckpoint(const Admission& admission) const {
    return admission.from > 0 && simulation_.checkpoint_loss_rate > 0 &&
           Draw(state_.trial(admission.trial), 2) < simulation_.checkpoint_loss_rate;
  }

  // How much longer than others the trial takes on these workers: a gang goes at the pace of its slowest.
  double Slowness(const TrialState& trial, const std::vector<std::string>& ranks) const {
    const double own = simulation_.slowness ? simulation_.slowness(trial.configuration) : 1;
    if (simulation_.slow_trials == 0 && simulation_.slow_workers == 0) return own;
    const auto is_slow = [this](int64_t who, uint64_t what, double rate) {
      return RandomUnit(simulation_.seed, who, Purpose::kSimulation, what) < rate;
    };
    bool slow = is_slow(trial.number, 1, simulation_.slow_trials);
    for (size_t w = 0; w < rooms_.size(); ++w) {
      const bool holds = std::find(ranks.begin(), ranks.end(), rooms_[w].worker_id) != ranks.end();
      slow = slow || (holds && is_slow(static_cast<int64_t>(w), 2, simulation_.slow_workers));
    }
    return slow ? own * simulation_.slow_factor : own;
  }

  // Plans every report of the attempt, and how it ends.
  void Train(const TrialState& trial, const std::vector<std::string>& ranks) {
    const SearchSpec& spec = state_.spec();
    const int64_t known_end = spec.OwnEnd(trial.configuration);
    const int64_t end = known_end > 0 ? known_end : simulation_.own_end;
    const int64_t from = trial.attempt_from;
    int64_t last = trial.to > 0 ? std::min(end, trial.to) : end;

    AttemptOutcome outcome = AttemptOutcome::kFinished;
    const double fate = Draw(trial, 0);
    const double failed = simulation_.failure_rate, lost = failed + simulation_.loss_rate;
    if (fate < failed) {
      outcome = AttemptOutcome::kFailed;
    } else if (fate < lost) {
      outcome = AttemptOutcome::kLost;
    } else if (fate < lost + simulation_.hand_back_rate) {
      outcome = AttemptOutcome::kHandedBack;
    }
    if (outcome != AttemptOutcome::kFinished && last > from) {
      last = from + static_cast<int64_t>(Draw(trial, 1) * static_cast<double>(last - from + 1));
    }
    const double speed = RandomUnit(simulation_.seed, trial.number, Purpose::kSimulation, 0);
    const double unit = simulation_.unit_seconds * (1 + simulation_.jitter * speed) * Slowness(trial, ranks);
    const int64_t every = simulation_.report_every;
    double at = now_ + simulation_.start_seconds;
    for (int64_t level = from; level < last;) {
      const int64_t next = std::min(last, (level / every + 1) * every);
      at += unit * static_cast<double>(next - level);
      level = next;
      for (auto metric = static_cast<int64_t>(state_.metrics().size()) - 1; metric > 0; --metric) {
        if (const auto value = simulation_.further(trial.configuration, level, metric))
          Push(at, Reported{trial.number, trial.attempts, level, *value, metric});
      }
      Push(at,
           Reported{trial.number, trial.attempts, level, simulation_.objective(trial.configuration, level)});
    }
    at += simulation_.end_seconds;
    const std::string reason = outcome == AttemptOutcome::kFinished ? "" : "drawn by the simulation";
    Push(at, AttemptEnded{trial.number, trial.attempts, outcome, reason, Micros(now_), Micros(at)});
  }

  const Simulation& simulation_;
  SimulationResult result_;
  JobState& state_;
  double now_ = 0;
  double node_time_ = 0;  // of all ranks up to now
  int64_t events_pushed_ = 0;
  size_t changed_ = 0;  // of simulation_.changes
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<WorkerRoom> rooms_;
  std::map<TrialNumber, Running> running_;
  std::map<TrialNumber, int64_t> stopped_;  // the attempt that was told to stop
};

}  // namespace

SimulationResult Simulate(const SearchSpec& spec, const Simulation& simulation) {
  return Simulator(spec, simulation).Run();
}

}  // namespace winnow
