#include "tests/simulation/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "scheduler/simulate.h"
#include "spec/search_spec.h"
#include "tests/simulation/setting.h"
#include "tests/simulation/sim_host.h"
#include "tests/simulation/sim_person.h"
#include "tests/simulation/sim_server.h"
#include "tests/simulation/virtual_time.h"

namespace winnow {
namespace {

// Virtual time without any fault: every job must end within it.
constexpr int64_t kPatienceUs = 6 * 3600 * kSecondUs;
// A worker waits up to 20 s for an answer that was lost, and is told by the next what to let go.
constexpr int64_t kLetGoUs = 60 * kSecondUs;
constexpr int64_t kMostServerDownUs = 40 * kSecondUs;
constexpr int64_t kMostClockJumpUs = 3600 * kSecondUs;

class World {
 public:
  World(uint64_t seed, Scale scale, bool trace, SimDatabase* database)
      : setting_(seed, scale, trace, database), database_(database), server_(&setting_, database) {
    for (const HostProfile& host : setting_.profile.hosts) hosts_.emplace_back(&setting_, &server_, &host);
    ids_.resize(setting_.profile.jobs.size());
  }

  RunResult Run() {
    const Profile& profile = setting_.profile;
    if (setting_.trace.prints()) {
      for (const JobProfile& job : profile.jobs) fmt::print("{}\n", job.spec.ShortDebugString());
    }
    server_.on_commit = [this](Engine& engine) { LookForEnd(engine); };
    server_.Start();
    for (SimHost& host : hosts_) {
      setting_.time.After(setting_.dice.Skewed(0, kSecondUs), [&host] { host.Start(true); });
    }
    for (size_t i = 0; i < profile.jobs.size(); ++i) {
      setting_.time.At(profile.jobs[i].submit_us, [this, i] { Submit(i); });
      if (profile.jobs[i].stop_us > 0) setting_.time.At(profile.jobs[i].stop_us, [this, i] { Stop(i); });
    }
    person_.Begin();
    if (!profile.faults.empty()) PlanFault();
    setting_.time.At(profile.faults_until_us, [this] { Heal(); });
    RunResult result;
    while (!ended_ && setting_.ledger.violation().empty()) {
      if (!setting_.time.Step()) setting_.ledger.Fail("nothing is left to happen and a job has not ended");
      ++result.steps;
      if (setting_.time.now_us() > profile.faults_until_us + kPatienceUs) {
        setting_.ledger.Fail("a job has not ended long after the last fault");
      }
    }
    AwaitLetGo();
    if (setting_.ledger.violation().empty()) CheckEnd();
    result.violation = setting_.ledger.violation();
    result.hash = setting_.trace.hash();
    result.batches = server_.batches();
    result.decisions = setting_.ledger.decisions();
    result.facts = setting_.ledger.facts();
    result.reports = setting_.ledger.reports();
    result.changes = person_.changes();
    result.virtual_us = setting_.time.now_us();
    result.faults = setting_.faults;
    return result;
  }

 private:
  // A client resends it until it is answered, always with the same request id.
  void Submit(size_t job) {
    if (!ids_[job].empty()) return;
    auto id = std::make_shared<absl::StatusOr<std::string>>();
    server_.Use(
        [this, job, id](Engine& engine) {
          const JobProfile& profile = setting_.profile.jobs[job];
          *id =
              engine.CreateJob(profile.spec, fmt::format("request{}", job), {}, "", nullptr, profile.project);
        },
        [this, job, id](const absl::Status& committed) {
          if (!committed.ok()) return;
          if (!id->ok()) return setting_.ledger.Fail("a job is refused: " + id->status().ToString());
          if (!ids_[job].empty() && ids_[job] != **id) {
            setting_.ledger.Fail(fmt::format("one request made two jobs, {} and {}", ids_[job], **id));
          }
          ids_[job] = **id;
        });
    setting_.time.After(kResendUs, [this, job] { Submit(job); });
  }

  void Stop(size_t job) {
    if (!ids_[job].empty()) {
      server_.Use([id = ids_[job]](Engine& engine) { (void)engine.StopJob(id, {}); },
                  [this, job](const absl::Status& committed) { stopped_[job] |= committed.ok(); });
    }
    setting_.time.After(kResendUs, [this, job] {
      if (!stopped_[job]) Stop(job);
    });
  }

  void LookForEnd(Engine& engine) {
    if (setting_.trace.prints()) PrintFacts(engine);
    const bool all = std::all_of(ids_.begin(), ids_.end(), [&](const std::string& id) {
      return !id.empty() && engine.jobs().Find(id) == nullptr;
    });
    ended_ = all && !person_.ContinuesOne();
  }

  void PrintFacts(Engine& engine) {
    for (const auto& [key, job] : engine.jobs().all()) {
      const auto facts = database_->store().facts.Load(key, printed_[key]);
      if (!facts.ok()) continue;
      for (const Fact& fact : *facts) {
        fmt::print("             {} {}: {}\n", job->row.id, fact.sequence, Describe(fact.body));
        printed_[key] = fact.sequence;
      }
    }
  }

  void SetScheduling(const std::string& host, v1::Worker::Scheduling scheduling) {
    setting_.Note("worker's scheduling", host, scheduling);
    server_.Use(
        [host, scheduling](Engine& engine) {
          v1::SetWorkerSchedulingRequest request;
          request.set_name(host);
          request.set_scheduling(scheduling);
          request.set_reason("simulated");
          (void)engine.SetWorkerScheduling(request);
        },
        [this, host, scheduling](const absl::Status& committed) {
          if (committed.ok() || scheduling != v1::Worker::OPEN) return;
          setting_.time.After(kResendUs, [this, host] { SetScheduling(host, v1::Worker::OPEN); });
        });
  }

  // A sender is not notified when the server dies before it answers: then it opens it again.
  void KeepOpening(int times) {
    for (const SimHost& host : hosts_) SetScheduling(host.name(), v1::Worker::OPEN);
    if (times > 1) setting_.time.After(kResendUs, [this, times] { KeepOpening(times - 1); });
  }

  void PlanFault() {
    const int64_t mean = setting_.profile.fault_every_us;
    setting_.time.After(setting_.dice.Between(1, 2 * mean), [this] {
      if (setting_.healed) return;
      const std::vector<Fault>& faults = setting_.profile.faults;
      Strike(faults[static_cast<size_t>(setting_.dice.Between(0, static_cast<int64_t>(faults.size()) - 1))]);
      PlanFault();
    });
  }

  void Strike(Fault fault) {
    Dice& dice = setting_.dice;
    SimHost& host = hosts_[static_cast<size_t>(dice.Between(0, static_cast<int64_t>(hosts_.size()) - 1))];
    const int64_t down_us = dice.Skewed(0, kMostServerDownUs);
    const int64_t long_us = dice.Between(1, 3 * setting_.profile.lease_us);
    switch (fault) {
      case Fault::kServerKilled:
        return server_.Die(SimServer::Death::kAtOnce, down_us);
      case Fault::kServerKilledBeforeCommit:
        return server_.Die(SimServer::Death::kBeforeCommit, down_us);
      case Fault::kServerKilledAfterCommit:
        return server_.Die(SimServer::Death::kAfterCommit, down_us);
      case Fault::kServerStalled:
        return server_.Stall(long_us);
      case Fault::kCommitFails:
        return server_.FailNextCommit();
      case Fault::kDiskFull:
        server_.FillDisk(true);
        setting_.time.After(down_us, [this] { server_.FillDisk(false); });
        return;
      case Fault::kServerClockJumps:
        setting_.Count(fault);
        return server_.JumpClock(dice.Between(-kMostClockJumpUs, kMostClockJumpUs));
      case Fault::kAgentKilled:
        return host.Kill();
      case Fault::kAgentStalled:
        return host.Stall(long_us);
      case Fault::kWorkerClockJumps:
        setting_.Count(fault);
        return host.JumpClock(dice.Between(-kMostClockJumpUs, kMostClockJumpUs));
      case Fault::kCutOff:
        return host.CutOff(long_us, true);
      case Fault::kAnswersCutOff:
        return host.CutOff(long_us, false);
      case Fault::kWorkerLeaves:
        return host.Leave();
      case Fault::kCordon:
      case Fault::kDrain:
        setting_.Count(fault);
        SetScheduling(host.name(), fault == Fault::kCordon ? v1::Worker::CORDONED : v1::Worker::DRAINING);
        setting_.time.After(long_us, [this, name = host.name()] { SetScheduling(name, v1::Worker::OPEN); });
        return;
      default:
        return;  // drawn where they happen
    }
  }

  void Heal() {
    setting_.Note("everything heals");
    setting_.healed = true;
    server_.Heal();
    person_.Heal();
    for (SimHost& host : hosts_) {
      host.Heal();
      if (!host.running()) host.Start(false);
    }
    KeepOpening(3);
  }

  // Soon after the last job and the last fault, no program waits for a trial.
  void AwaitLetGo() {
    const Profile& profile = setting_.profile;
    const int64_t latest_us = std::max(setting_.time.now_us(), profile.faults_until_us) + kLetGoUs;
    const auto waits = [](const SimHost& host) { return host.Waits(); };
    while (setting_.ledger.violation().empty() && std::any_of(hosts_.begin(), hosts_.end(), waits)) {
      if (!setting_.time.Step() || setting_.time.now_us() > latest_us)
        setting_.ledger.Fail("a program waits for a trial of a job that has ended");
    }
  }

  void CheckEnd() {
    for (const std::string& id : ids_) setting_.ledger.CheckStored(id);
    setting_.ledger.CheckReleased();
    for (size_t i = 0; i < ids_.size(); ++i) {
      if (setting_.profile.jobs[i].comparable) CompareUndisturbed(i);
    }
  }

  // Compares with a run without faults: the same trials, ended in the same way, and the same best one.
  void CompareUndisturbed(size_t job) {
    const SearchSpec spec = ToSearchSpec(setting_.profile.jobs[job].spec);
    Simulation calm;
    calm.slots = spec.nodes;
    calm.objective = [](const Configuration& configuration, int64_t resource) {
      return ObjectiveAt(std::get<int64_t>(configuration[0]), std::get<int64_t>(configuration[1]), resource);
    };
    const JobState undisturbed = Simulate(spec, calm).state;
    const auto row = database_->store().jobs.Find(ids_[job]);
    const auto facts = database_->store().facts.Load((*row)->key);
    JobState state(spec);
    for (const Fact& fact : *facts) state.Apply(fact);
    if (state.trials().size() != undisturbed.trials().size()) {
      return setting_.ledger.Fail(fmt::format("{} has {} trials, and {} without faults", ids_[job],
                                              state.trials().size(), undisturbed.trials().size()));
    }
    for (const TrialState& trial : state.trials()) {
      const TrialState& other = undisturbed.trial(trial.number);
      if (!Identical(trial.configuration, other.configuration) || trial.phase != other.phase) {
        return setting_.ledger.Fail(
            fmt::format("{}: trial {} is not what it is without faults", ids_[job], trial.number));
      }
    }
    if (state.best_trial() != undisturbed.best_trial()) {
      setting_.ledger.Fail(fmt::format("{}: another trial is best than without faults", ids_[job]));
    }
  }

  Setting setting_;
  SimDatabase* const database_;
  SimServer server_;
  std::deque<SimHost> hosts_;
  std::vector<std::string> ids_;  // of jobs; "": its creation was not answered yet
  SimPerson person_{&setting_, &server_, &ids_};
  std::map<size_t, bool> stopped_;
  std::map<int64_t, int64_t> printed_;  // the newest fact of each job
  bool ended_ = false;
};

}  // namespace

Simulator::Simulator(const std::string& address) : database_(SimDatabase::Open(address)) {}
Simulator::~Simulator() = default;

RunResult Simulator::Run(uint64_t seed, Scale scale, bool trace) {
  absl::Status cleared = database_.ok() ? (*database_)->Clear() : database_.status();
  if (!cleared.ok()) {
    RunResult result;
    result.violation = "no store can be opened: " + cleared.ToString();
    return result;
  }
  return World(seed, scale, trace, database_->get()).Run();
}

}  // namespace winnow
