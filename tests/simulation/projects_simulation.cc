#include "tests/simulation/projects_simulation.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "server/engine/batches.h"
#include "server/engine/engine.h"
#include "store/store.h"
#include "store/tables/projects.h"
#include "tests/simulation/dice.h"
#include "tests/simulation/virtual_time.h"

namespace winnow {
namespace {

using google::protobuf::util::TimeUtil;

constexpr int64_t kHourUs = 3600 * kSecondUs;
constexpr int64_t kMostStopUs = 3 * kSecondUs;
constexpr int64_t kMostCallUs = 50'000;
constexpr int64_t kLeaseUs = 120 * kSecondUs, kHoldUs = 30 * kSecondUs;
// How long the slot of a stopped rank counts as held if its worker never says that it has the rank: as long
// as the answer that named it may be under way (SyncCalls), until the worker's next request.
constexpr int64_t kMostUnstatedUs = 10 * kSecondUs + kLeaseUs / 3 + kHoldUs + 2 * kMostCallUs;
constexpr int64_t kNewYearUs = 1'767'225'600 * kSecondUs;  // of 2026
constexpr int64_t kPatienceUs = 40 * kHourUs;
constexpr double kMostDifference = 0.05;

using ProjectKey = std::pair<std::string, std::string>;  // project, person ("": all of it)

struct PlayedJob {
  v1::TuningJobSpec spec;
  std::string project, owner;
  int64_t submit_us = 0;
  int64_t unit_us = 0;  // time of a unit
  std::string id = {};
};

struct PlayedRun {
  v1::Assignment assignment;
  v1::RunningAssignment state;
  std::vector<v1::Report> reports;
  int64_t start_us = 0;
  bool stops = false;
};

struct PlayedHost {
  std::string name, id;
  int slots = 1;
  int gpus = 0;
  std::map<std::string, PlayedRun> runs;
  int64_t call = 0;  // the newest
};

enum class Kind {
  kContended,  // all projects always have work
  kLimited,    // with quotas
  kClasses,    // with quotas, and classes that preempt
};

v1::TuningJobSpec SpecOf(int index, int64_t trials, int64_t units) {
  v1::TuningJobSpec spec;
  spec.set_name(fmt::format("job{}", index));
  spec.mutable_trainer()->add_command("/bin/true");
  v1::MetricDefinition* metric = spec.mutable_trainer()->add_metrics();
  metric->set_name("loss");
  metric->set_regex("loss=([0-9.e+-]+)");
  v1::ParameterSpec* x = spec.add_parameters();
  x->set_name("x");
  x->mutable_continuous()->set_max(1);
  spec.mutable_objective()->set_metric("loss");
  spec.mutable_objective()->set_goal(v1::MINIMIZE);
  spec.mutable_sampler()->set_kind(v1::SamplerSpec::RANDOM);
  spec.mutable_pruner()->set_kind(v1::PrunerSpec::NONE);
  spec.mutable_limits()->set_max_trials(trials);
  spec.mutable_limits()->set_max_trial_resource(units);
  spec.set_working_directory("/");
  return spec;
}

class ProjectsWorld {
 public:
  explicit ProjectsWorld(uint64_t seed) : dice_(seed) {
    auto store = Store::Open(":memory:");
    if (!store.ok()) {
      Fail("no store can be opened");
      return;
    }
    store_ = *std::move(store);
    Draw();
  }

  ProjectsResult Run() {
    if (!result_.violation.empty()) return result_;
    Start();
    Declare();
    for (PlayedHost& host : hosts_) Call(host);
    for (PlayedJob& job : jobs_) time_.At(job.submit_us, [this, &job] { Submit(job); });
    const int64_t end_us = kind_ == Kind::kContended ? kHourUs : kPatienceUs;
    if (lowers_us_ > 0) time_.At(lowers_us_, [this] { Lower(); });
    PlanKill();
    while (result_.violation.empty() && time_.now_us() < end_us && !Over()) {
      if (!time_.Step()) Fail("nothing is left to happen");
    }
    if (result_.violation.empty()) CheckEnd();
    return result_;
  }

 private:
  void Fail(const std::string& what) {
    if (result_.violation.empty())
      result_.violation =
          fmt::format("{} at {:.3f} s", what, static_cast<double>(time_.now_us()) / kSecondUs);
  }

  // ---- the world

  void Draw() {
    kind_ = static_cast<Kind>(dice_.Between(0, 2));
    const int64_t hosts = dice_.Between(1, 3);
    for (int64_t i = 0; i < hosts; ++i) {
      hosts_.push_back({fmt::format("host{}", i),
                        fmt::format("{:032d}", i),
                        static_cast<int>(dice_.Between(2, 4)),
                        static_cast<int>(dice_.Between(0, 2)),
                        {}});
    }
    rules_.preemption = kind_ == Kind::kClasses;
    rules_.half_life_s = dice_.Chance(0.5) ? 7 * 86'400 : 1800;
    const int64_t projects = dice_.Between(2, 4);
    constexpr double kWeights[] = {0.5, 1, 1, 2, 3};
    for (int64_t p = 0; p < projects; ++p) {
      const std::string name = p == 0 ? "" : fmt::format("project{}", p);
      QuotaRow row{name, ""};
      row.weight = kWeights[dice_.Between(0, 4)];
      if (kind_ == Kind::kClasses) row.job_class = static_cast<int32_t>(dice_.Between(0, 2));
      if (kind_ != Kind::kContended) row.quota = DrawQuota();
      quotas_[{name, ""}] = row;
      const int64_t jobs = dice_.Between(1, 3);
      for (int64_t j = 0; j < jobs; ++j) DrawJob(name, j == 0);
      if (kind_ != Kind::kContended && dice_.Chance(0.4))
        quotas_[{name, "ana"}] = {
            name, "ana", {.slots = dice_.Between(2, 3), .running_jobs = dice_.Between(0, 1)}};
    }
    epoch_us_ = kNewYearUs - dice_.Between(0, kHourUs);
    if (kind_ == Kind::kLimited && dice_.Chance(0.5)) lowers_us_ = dice_.Between(1, kHourUs / 4);
  }

  Quota DrawQuota() {
    Quota quota;
    if (dice_.Chance(0.6)) quota.slots = dice_.Between(2, 5);
    if (dice_.Chance(0.3)) quota.gpus = 1;
    if (dice_.Chance(0.3)) quota.running_jobs = dice_.Between(1, 2);
    if (dice_.Chance(0.3)) {
      quota.node_hours = 0.05 * static_cast<double>(dice_.Between(1, 8));
      has_node_hours_ = true;
    }
    return quota;
  }

  void DrawJob(const std::string& project, bool first) {
    const bool contended = kind_ == Kind::kContended;
    const int index = static_cast<int>(jobs_.size());
    const int64_t units = dice_.Between(1, 4);
    v1::TuningJobSpec spec = SpecOf(index, contended ? 100'000 : dice_.Between(1, 30), units);
    int64_t slots_in_all = 0, gpus_in_all = 0;
    for (const PlayedHost& host : hosts_) slots_in_all += host.slots, gpus_in_all += host.gpus;
    const bool gang = !first && slots_in_all >= 8 && dice_.Chance(0.3);
    if (gang) spec.mutable_cluster()->set_nodes(2);
    if (!contended && gpus_in_all > 0 && !gang && dice_.Chance(0.2))
      spec.mutable_cluster()->set_gpu_share(0.5);
    spec.mutable_scheduling()->set_priority(contended ? 0 : static_cast<int32_t>(dice_.Between(0, 1)));
    const int64_t submit_us = contended ? 0 : dice_.Between(0, 1200 * kSecondUs);
    jobs_.push_back({spec, project, dice_.Chance(0.5) ? "ana" : "ben", submit_us,
                     dice_.Between(5, 120) * kSecondUs / units});
  }

  // ---- the server

  void Start() {
    EngineOptions options;
    options.lease_us = kLeaseUs;
    options.short_part_us = 0;
    options.projects = rules_;
    const int64_t started_us = time_.now_us();
    options.clock = {[this] { return epoch_us_ + time_.now_us(); },
                     [this, started_us] { return time_.now_us() - started_us; }};
    options.random_bits = [this] { return dice_.Bits(); };
    engine_ = std::make_unique<Engine>(*store_, std::move(options));
    if (!engine_->Load().ok()) Fail("the server cannot load what it stored");
    batches_ = std::make_unique<Batches>(*store_, *engine_);
    started_us_ = started_us;
    PlanTurn();
  }

  void PlanKill() {
    if (!dice_.Chance(0.5)) return;
    time_.After(dice_.Between(1, kHourUs / 2), [this] {
      const auto before = Uses();
      ++life_;
      unstated_.clear();  // they count anew from the start of the next server
      batches_ = nullptr;
      engine_ = nullptr;
      Start();
      ++result_.restarts;
      if (Uses() != before) Fail("after a kill something else was used than before");
      for (PlayedHost& host : hosts_) Call(host);
      PlanKill();
    });
  }

  std::map<ProjectKey, ProjectUse> Uses() {
    std::map<ProjectKey, ProjectUse> uses;
    for (const auto& [key, standing] : engine_->projects().all()) {
      const ProjectUse use = engine_->projects().UseNow(standing, epoch_us_ + time_.now_us());
      if (standing.used.until_us != 0) uses[key] = use;
    }
    return uses;
  }

  void PlanTurn() {
    time_.Cancel(turn_);
    const std::optional<int64_t> next = batches_->next_deadline();
    turn_ = 0;
    if (next) turn_ = time_.At(started_us_ + *next, [this] { Use(nullptr); });
  }

  // A batch of one use case.
  void Use(const std::function<void(Engine&)>& run) {
    std::deque<UseCase> batch;
    if (run) batch.push_back({run, [](const absl::Status&) {}});
    if (!batches_->Run(batch, engine_->context().steady_us()).ok()) Fail("a batch cannot be recorded");
    (void)engine_->TakeEffects();
    CheckNow();
    PlanTurn();
  }

  void Declare() {
    Use([this](Engine& engine) {
      ProjectTable table(engine.context().store.database());
      for (const auto& [key, row] : quotas_) {
        if (!key.first.empty() && key.second.empty() && !table.Insert({key.first, 1}).ok())
          Fail("a project cannot be stored");
        if (!engine.projects().Put(row).ok()) Fail("a quota cannot be stored");
      }
      if (!engine.ReloadProjects().ok()) Fail("quotas cannot be read");
    });
  }

  // Halves every quota of slots; what runs goes on.
  void Lower() {
    Use([this](Engine& engine) {
      for (auto& [key, row] : quotas_) {
        if (row.quota.slots < 4) continue;
        row.quota.slots = 2;
        if (!engine.projects().Put(row).ok()) Fail("a quota cannot be stored");
      }
      if (!engine.ReloadProjects().ok()) Fail("quotas cannot be read");
    });
  }

  void Submit(PlayedJob& job) {
    Use([this, &job](Engine& engine) {
      const auto id = engine.CreateJob(job.spec, "", {}, job.owner, nullptr, job.project);
      if (!id.ok()) {
        // Only what could never run.
        const Quota& quota = quotas_[{job.project, ""}].quota;
        const bool is_too_much = quota.slots > 0 && job.spec.cluster().nodes() > quota.slots;
        if (!is_too_much && job.spec.cluster().nodes() < 2)
          Fail("a job is refused: " + id.status().ToString());
        job.id = "refused";
        return;
      }
      job.id = *id;
      by_id_[*id] = &job;
    });
  }

  // ---- the workers

  void Call(PlayedHost& host) {
    const int64_t call = ++host.call;
    v1::SyncRequest request;
    request.set_worker_id(host.id);
    request.set_name(host.name);
    request.set_host("localhost");
    request.set_slots(host.slots);
    request.set_storage_id("shared");
    request.mutable_hold()->set_seconds(kHoldUs / kSecondUs);
    for (int gpu = 0; gpu < host.gpus; ++gpu) request.add_gpus()->set_id(std::to_string(gpu));
    for (const auto& [id, run] : host.runs) {
      *request.add_running() = run.state;
      for (const v1::Report& report : run.reports) *request.add_reports() = report;
    }
    Use([this, &host, call, request](Engine& engine) {
      engine.Sync(request, [this, &host, call, life = life_](absl::StatusOr<v1::SyncResponse> answer) {
        if (life != life_ || !answer.ok()) return;
        // The answer travels; the next call may have been made meanwhile.
        time_.After(dice_.Skewed(1000, kMostCallUs), [this, &host, call, life, said = *std::move(answer)] {
          if (life == life_ && call == host.call) Act(host, said);
        });
      });
    });
  }

  void Act(PlayedHost& host, const v1::SyncResponse& answer) {
    std::map<std::string, const v1::Assignment*> wanted;
    for (const v1::Assignment& assignment : answer.assignments()) wanted[assignment.id()] = &assignment;
    for (auto at = host.runs.begin(); at != host.runs.end();) {
      PlayedRun& run = at->second;
      const bool is_wanted = wanted.count(at->first) > 0;
      if (run.state.state() == v1::RunningAssignment::ENDED && !is_wanted) {
        at = host.runs.erase(at);
        continue;
      }
      if (!is_wanted && !run.stops) {
        run.stops = true;
        time_.After(dice_.Between(1, kMostStopUs), [this, &host, id = at->first] { End(host, id, true); });
      }
      ++at;
    }
    for (const auto& [id, assignment] : wanted) {
      auto [at, fresh] = host.runs.try_emplace(id);
      PlayedRun& run = at->second;
      const bool waited = run.state.state() == v1::RunningAssignment::PREPARED;
      if (!fresh && !(waited && !assignment->await_start())) continue;
      run.assignment = *assignment;
      run.state.set_assignment_id(id);
      if (assignment->await_start()) {
        run.state.set_state(v1::RunningAssignment::PREPARED);
        if (assignment->rank() == 0) run.state.set_rendezvous_port(29'500);
        continue;
      }
      run.state.set_state(v1::RunningAssignment::RUNNING);
      run.start_us = time_.now_us();
      const int64_t units = assignment->resource_to() - FromOf(*assignment);
      const int64_t takes_us = std::max<int64_t>(1, units) * by_id_.at(assignment->job_id())->unit_us;
      time_.After(takes_us, [this, &host, id = id] { End(host, id, false); });
    }
    // The host reports an ended or prepared run at once.
    const bool tells = std::any_of(host.runs.begin(), host.runs.end(), [](const auto& entry) {
      return entry.second.state.state() != v1::RunningAssignment::RUNNING;
    });
    time_.After(tells ? 1000 : 2000, [this, &host, call = host.call] {
      if (call == host.call) Call(host);
    });
  }

  static int64_t FromOf(const v1::Assignment& assignment) {
    return assignment.resumes() ? assignment.resource_from() : 0;
  }

  void End(PlayedHost& host, const std::string& id, bool stopped) {
    const auto at = host.runs.find(id);
    if (at == host.runs.end() || at->second.state.state() == v1::RunningAssignment::ENDED) return;
    PlayedRun& run = at->second;
    if (run.stops && !stopped) return;
    const v1::Assignment& assignment = run.assignment;
    const bool ran = run.state.state() == v1::RunningAssignment::RUNNING;
    const int64_t unit_us = by_id_.at(assignment.job_id())->unit_us;
    int64_t reached = stopped ? FromOf(assignment) : assignment.resource_to();
    if (stopped && ran)
      reached = std::min(assignment.resource_to(), reached + (time_.now_us() - run.start_us) / unit_us);
    for (int64_t level = FromOf(assignment) + 1; ran && assignment.rank() == 0 && level <= reached; ++level) {
      v1::Report& report = run.reports.emplace_back();
      report.set_assignment_id(id);
      report.set_resource(level);
      v1::MetricValue& loss = *report.add_metrics();
      loss.set_name("loss");
      loss.set_value(1.0 / static_cast<double>(level + assignment.trial()));
      *report.mutable_time() = TimeUtil::MicrosecondsToTimestamp(epoch_us_ + time_.now_us());
    }
    run.state.set_state(v1::RunningAssignment::ENDED);
    v1::Outcome& outcome = *run.state.mutable_outcome();
    outcome.set_kind(stopped ? v1::Outcome::STOPPED : v1::Outcome::FINISHED);
    if (ran) {
      *outcome.mutable_start_time() = TimeUtil::MicrosecondsToTimestamp(epoch_us_ + run.start_us);
      *outcome.mutable_end_time() = TimeUtil::MicrosecondsToTimestamp(epoch_us_ + time_.now_us());
    }
    Call(host);
  }

  // ---- the promises

  struct Tally {
    QuotaUse use;
    int64_t nodes = 0;
    int64_t allowed_slots = 0;  // by a quota that was lowered since
    int64_t node_us = 0;        // in month_us
    int64_t unstated = 0;       // stopped ranks that their workers never stated
    int64_t unstated_us = 0;    // the part of node_us that is theirs
    double slot_seconds = 0, decayed = 0;
    int64_t month_us = 0;
  };

  // Counts what was held since the last batch, and looks at what is held now.
  void CheckNow() {
    const int64_t now_us = epoch_us_ + time_.now_us();
    const int64_t took_us = now_us - counted_us_;
    for (auto& [key, tally] : tallies_) {
      const int64_t month_us = MonthOf(now_us);
      if (tally.month_us != month_us) tally.node_us = tally.unstated_us = 0;
      tally.month_us = month_us;
      tally.node_us += tally.nodes * std::min(took_us, now_us - month_us);
      tally.unstated_us += tally.unstated * std::min(took_us, now_us - month_us);
      const double took_s = static_cast<double>(took_us) / kSecondUs, half_life_s = rules_.half_life_s;
      const auto slots = static_cast<double>(tally.use.slots);
      tally.slot_seconds += slots * took_s;
      const double left = std::exp(-std::numbers::ln2 * took_s / half_life_s);
      tally.decayed = tally.decayed * left + slots * half_life_s / std::numbers::ln2 * (1 - left);
      tally.use = {};
      tally.nodes = 0;
      tally.unstated = 0;
    }
    counted_us_ = now_us;
    CountUnstated();
    for (const auto& [number, job] : engine_->jobs().all()) {
      const JobTotals& totals = job->state.totals();
      for (const char* person : {"", job->row.owner.c_str()}) {
        Tally& tally = tallies_[{job->row.project, person}];
        if (tally.month_us == 0) tally.month_us = MonthOf(now_us);
        tally.nodes += totals.live_nodes;
        tally.use.Add({totals.live_nodes * job->shape.slots,
                       static_cast<double>(totals.live_nodes) *
                           (job->shape.gpu_share > 0 ? job->shape.gpu_share : job->shape.gpus),
                       0, totals.live_attempts > 0 ? 1 : 0});
      }
    }
    for (auto& [key, tally] : tallies_) CheckQuota(key, tally);
  }

  void CountUnstated() {
    std::map<std::string, int64_t> since;
    for (const auto& [id, worker] : engine_->workers().all()) {
      for (const auto& [assignment, rank] : worker.held) {
        if (!rank->revoked() || rank->stated) continue;
        const OpenJob& job = *engine_->jobs().FindKey(rank->row.job);
        for (const char* person : {"", job.row.owner.c_str()}) ++tallies_[{job.row.project, person}].unstated;
        const auto known = unstated_.find(assignment);
        const int64_t from_us = known == unstated_.end() ? counted_us_ : known->second;
        since[assignment] = from_us;
        if (counted_us_ - from_us > kMostUnstatedUs) Fail("a rank that no worker has holds its slot");
      }
    }
    unstated_ = std::move(since);
  }

  void CheckQuota(const ProjectKey& key, Tally& tally) {
    const auto found = quotas_.find(key);
    const Quota quota = found == quotas_.end() ? Quota() : found->second.quota;
    const std::string who = key.second.empty() ? key.first : key.second + "@" + key.first;
    const auto refuse = [&](const char* what) {
      Fail(fmt::format("{} has more {} than its quota", who, what));
    };
    if (quota.slots > 0 && tally.use.slots > std::max(quota.slots, tally.allowed_slots)) refuse("slots");
    tally.allowed_slots = tally.use.slots;
    if (quota.gpus > 0 && tally.use.gpus > quota.gpus + 1e-9) refuse("GPUs");
    if (quota.running_jobs > 0 && tally.use.running_jobs > quota.running_jobs) refuse("running jobs");
    const int64_t most_us = NodeTimeOf(quota);
    // How many ranks may be stopping when the node-hours are used up.
    constexpr int64_t kStops = 20;
    if (most_us > 0 && tally.node_us - tally.unstated_us > most_us + kStops * (kMostStopUs + 2 * kMostCallUs))
      refuse("node-hours");
    if (most_us > 0 && tally.node_us > most_us && AnyWanted(key)) refuse("node-hours that nothing ends");
    const auto standing = engine_->projects().all().find(key);
    if (standing == engine_->projects().all().end()) return;
    const ProjectUse use = engine_->projects().UseNow(standing->second, counted_us_);
    if (standing->second.used.until_us == 0) return;
    if (use.node_us != tally.node_us)
      Fail(fmt::format("{} has used {} us of nodes, and {} are counted", who, tally.node_us, use.node_us));
    if (std::abs(use.slot_seconds - tally.decayed) > 1e-6 * (1 + tally.decayed))
      Fail(fmt::format("{} has used {} slot-seconds, and {} are counted", who, tally.decayed,
                       use.slot_seconds));
  }

  // Whether a rank of theirs runs that was not told to stop.
  bool AnyWanted(const ProjectKey& key) const {
    for (const auto& [id, worker] : engine_->workers().all()) {
      for (const auto& [assignment, rank] : worker.held) {
        const OpenJob& job = *engine_->jobs().FindKey(rank->row.job);
        const bool its = job.row.project == key.first && (key.second.empty() || job.row.owner == key.second);
        if (its && rank->wanted()) return true;
      }
    }
    return false;
  }

  bool Over() const {
    if (kind_ == Kind::kContended) return false;
    if (has_node_hours_ && time_.now_us() > 3 * kHourUs) return true;
    return std::all_of(jobs_.begin(), jobs_.end(), [this](const PlayedJob& job) {
      return job.id == "refused" || (!job.id.empty() && engine_->jobs().Find(job.id) == nullptr);
    });
  }

  void CheckEnd() {
    if (kind_ == Kind::kContended) CheckShares();
    if (kind_ != Kind::kContended && !Over()) Fail("a job has not ended");
    for (const PlayedJob& job : jobs_) {
      if (job.id != "refused" && !job.id.empty()) CheckFacts(job);
    }
  }

  void CheckShares() {
    double all = 0, weights = 0;
    for (const auto& [key, tally] : tallies_) {
      if (key.second.empty()) all += tally.slot_seconds, weights += quotas_[key].weight;
    }
    for (const auto& [key, tally] : tallies_) {
      if (!key.second.empty()) continue;
      const double difference = std::abs(tally.slot_seconds / all - quotas_[key].weight / weights);
      result_.worst_difference = std::max(result_.worst_difference, difference);
      if (difference > kMostDifference) {
        Fail(fmt::format("project \"{}\" had {:.3f} of the slots, and {:.3f} is due", key.first,
                         tally.slot_seconds / all, quotas_[key].weight / weights));
      }
    }
  }

  void CheckFacts(const PlayedJob& job) {
    const auto row = store_->jobs.Find(job.id);
    const auto facts = store_->facts.Load((*row)->key);
    std::map<TrialNumber, int64_t> from;  // of the newest attempt
    int64_t started = 0;
    for (const Fact& fact : *facts) {
      if (const auto* start = std::get_if<AttemptStarted>(&fact.body)) {
        ++started;
        if (from.contains(start->trial) && start->from < from[start->trial])
          Fail(fmt::format("{}: trial {} lost more than a rung", job.id, start->trial));
        from[start->trial] = start->from;
      }
      const auto* end = std::get_if<AttemptEnded>(&fact.body);
      if (end == nullptr) continue;
      ++result_.attempts;
      if (end->outcome == AttemptOutcome::kFailed || end->outcome == AttemptOutcome::kLost)
        Fail(fmt::format("{}: an attempt counts as a failure: {}", job.id, end->reason));
      if (end->outcome != AttemptOutcome::kHandedBack || !end->reason.starts_with("preempted by ")) continue;
      ++result_.preempted;
      const int by = end->reason[end->reason.find("(class ") + 7] - '0';
      if (by <= quotas_[{job.project, ""}].job_class)
        Fail(fmt::format("{}: a trial was {}", job.id, end->reason));
    }
    // Where all projects always have work, the first job of one may have all its trials. CheckShares looks at
    // projects.
    const bool may_wait = has_node_hours_ || kind_ == Kind::kContended;
    if (started == 0 && !may_wait) Fail(fmt::format("{} never had a trial", job.id));
  }

  Dice dice_;
  VirtualTime time_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Batches> batches_;
  int64_t started_us_ = 0;
  int64_t life_ = 0;  // of the server
  VirtualTime::Id turn_ = 0;

  Kind kind_ = Kind::kContended;
  ProjectRules rules_;
  int64_t epoch_us_ = 0;
  int64_t lowers_us_ = 0;
  bool has_node_hours_ = false;
  std::deque<PlayedHost> hosts_;
  std::deque<PlayedJob> jobs_;
  std::map<std::string, PlayedJob*> by_id_;
  std::map<ProjectKey, QuotaRow> quotas_;

  int64_t counted_us_ = 0;
  std::map<ProjectKey, Tally> tallies_;
  std::map<std::string, int64_t> unstated_;  // assignments of stopped ranks that no worker stated, since when
  ProjectsResult result_;
};

}  // namespace

ProjectsResult PlayProjects(uint64_t seed) { return ProjectsWorld(seed).Run(); }

}  // namespace winnow
