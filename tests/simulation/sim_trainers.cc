#include "tests/simulation/sim_trainers.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "scheduler/placement.h"
#include "server/engine/answers/requester.h"
#include "worker/runs/trainer_parents.h"
#include "worker/runs/waiting_trainers.h"

namespace winnow {
namespace {

using google::protobuf::util::TimeUtil;
using std::chrono::microseconds;

constexpr int64_t kMostPrepareUs = 300'000;
constexpr int64_t kMostStartUs = 500'000;
constexpr int64_t kMostForkUs = 5'000;
constexpr double kSaves = 0.5;  // of the parts that may, those whose program says that it saves
constexpr int64_t kMostSaveUs = 100'000;
constexpr int64_t kMostImportUs = 2'000'000;  // of a parent, before it is ready
// Interval at which a rank checks for its peers, and the number of checks before it gives up.
constexpr int64_t kPeerWaitUs = 200'000;
constexpr int kMostPeerWaits = 150;
// The built-in trainers' exit code when they lose their peers.
constexpr int kRanksGone = 75;
constexpr int64_t kMostWaitUs = 20'000'000;
constexpr int64_t kHangUs = 40'000'000;
constexpr int64_t kGraceUs = 3'000'000;
constexpr int kFirstPort = 20'000;
constexpr int kPorts = 1'000;

class SimTrainer : public RankRun {
 public:
  SimTrainer(Setting* setting, Timers* timers, const HostProfile* host, const int64_t* clock_skew_us,
             v1::Assignment assignment, int64_t level, Events events, v1::PartStart start,
             std::function<void(const v1::Assignment&)> keep)
      : setting_(setting),
        timers_(timers),
        host_(host),
        clock_skew_us_(clock_skew_us),
        assignment_(std::move(assignment)),
        events_(std::move(events)),
        keep_(std::move(keep)),
        level_(level),
        end_level_(assignment_.resource_to() > 0 ? assignment_.resource_to() : kOwnEnd),
        start_us_(WallUs()),
        start_(start) {
    const Profile& profile = setting_->profile;
    Dice& dice = setting_->dice;
    if (setting_->Strikes(Fault::kTrainerFails, profile.trainer_fails)) {
      fails_at_ = dice.Between(level_, end_level_);
      if (setting_->Strikes(Fault::kTrainerOutOfMemory, 0.3)) out_of_memory_ = true;
    }
    if (setting_->Strikes(Fault::kTrainerHangs, profile.trainer_hangs)) {
      hangs_at_ = dice.Between(level_, end_level_);
    }
    const int64_t limit_us = TimeUtil::DurationToMicroseconds(assignment_.max_attempt_time());
    if (limit_us > 0) {
      limit_timer_ = timers_->After(microseconds(limit_us), [this] {
        limit_timer_ = 0;
        Fail(v1::Outcome::TIME_LIMIT, "out of time");
      });
    }
    const int64_t most_us = start_ == v1::FORKED ? kMostForkUs : kMostStartUs;
    Later(start_ == v1::CONTINUED ? 1 : dice.Skewed(1, most_us));
  }

  ~SimTrainer() override {
    timers_->Cancel(timer_);
    timers_->Cancel(limit_timer_);
    setting_->ledger.Ended(assignment_.id());
  }

  void Stop(Why why) override { EndFor(why, setting_->dice.Skewed(1, kGraceUs)); }
  void Kill(Why why) override { EndFor(why, setting_->dice.Between(1, 1000)); }
  v1::PartStart part_start() const override { return start_; }

 private:
  static constexpr int64_t kOwnEnd = 3;  // the last level of a trainer without a given one

  int64_t WallUs() const { return setting_->time.now_us() + *clock_skew_us_; }

  void Later(int64_t us) {
    timers_->Cancel(timer_);
    timer_ = timers_->After(microseconds(us), [this] {
      timer_ = 0;
      Go();
    });
  }

  void EndFor(Why why, int64_t after_us) {
    if (!stopping_) {
      stopping_ = true;
      why_ = why;
    }
    Later(after_us);
  }

  void Go() {
    if (stopping_) {
      v1::Outcome outcome;
      outcome.set_kind(why_ == Why::kLeaving ? v1::Outcome::HANDED_BACK : v1::Outcome::STOPPED);
      if (why_ == Why::kLeaving && reported_ && level_ >= end_level_) outcome.set_kind(v1::Outcome::FINISHED);
      End(std::move(outcome));
      return;
    }
    // All ranks are as far as rank 0, which advances only while all run.
    if (assignment_.rank() != 0) level_ = std::max(level_, setting_->ledger.Reached(assignment_));
    if (hangs_at_ == level_) {
      hangs_at_ = -1;
      Later(kHangUs);
      return;
    }
    if (fails_at_ == level_) {
      Fail(out_of_memory_ ? v1::Outcome::OUT_OF_MEMORY : v1::Outcome::CAUSE_UNSPECIFIED, "exit code 1");
      return;
    }
    if (level_ >= end_level_) {
      if (unsaved_ && !saved_from_us_.has_value()) {
        saved_from_us_ = WallUs();
        setting_->Note("process saves", assignment_.id(), level_);
        setting_->ledger.Saves(assignment_.id());
        events_.saves();
        Later(setting_->dice.Skewed(1, kMostSaveUs));
        return;
      }
      v1::Outcome outcome;
      outcome.set_kind(v1::Outcome::FINISHED);
      if (level_ == assignment_.resource_to()) keep_(assignment_);
      End(std::move(outcome));
      return;
    }
    if (setting_->ledger.RunningRanks(assignment_) < assignment_.world_size()) {
      if (++waits_ > kMostPeerWaits) {
        Fail(v1::Outcome::CAUSE_UNSPECIFIED, "its peers are gone", kRanksGone);
      } else {
        Later(kPeerWaitUs);
      }
      return;
    }
    TrainUnit();
    Later(setting_->dice.Between(setting_->profile.unit_us / 2, setting_->profile.unit_us));
  }

  bool MaySave() const {
    return assignment_.resumes() && level_ == assignment_.resource_to() && assignment_.world_size() <= 1 &&
           assignment_.cpus() == 0 && assignment_.memory_gib() == 0 && assignment_.gpus().empty();
  }

  void TrainUnit() {
    if (assignment_.rank() != 0) return;
    ++level_;
    // A program that saves beside the next part has the checkpoint of its last level only at its end.
    unsaved_ = level_ >= end_level_ && MaySave() && setting_->dice.Chance(kSaves);
    if (unsaved_) {
      setting_->ledger.Writes(host_->storage, assignment_, level_);
    } else {
      setting_->ledger.Saved(host_->storage, assignment_, level_);
    }
    v1::Report report;
    report.set_assignment_id(assignment_.id());
    report.set_resource(level_);
    v1::MetricValue* metric = report.add_metrics();
    metric->set_name("loss");
    metric->set_value(
        ObjectiveAt(std::stoll(assignment_.command(1)), std::stoll(assignment_.command(2)), level_));
    *report.mutable_time() = TimeUtil::MicrosecondsToTimestamp(WallUs());
    setting_->ledger.Emitted(assignment_, level_, metric->value());
    reported_ = true;
    events_.report(std::move(report));
    if (setting_->dice.Chance(setting_->profile.log)) {
      const std::string line = fmt::format("level {}\n", level_);
      events_.log(v1::GetLogsRequest::STDOUT, log_bytes_, line, false);
      log_bytes_ += static_cast<int64_t>(line.size());
    }
  }

  void Fail(v1::Outcome::Cause cause, const std::string& reason, int exit_code = 1) {
    v1::Outcome outcome;
    outcome.set_kind(v1::Outcome::FAILED);
    outcome.set_cause(cause);
    outcome.set_exit_code(exit_code);
    outcome.set_reason(reason);
    End(std::move(outcome));
  }

  void End(v1::Outcome outcome) {
    *outcome.mutable_start_time() = TimeUtil::MicrosecondsToTimestamp(std::max<int64_t>(1, start_us_));
    const int64_t end_us =
        outcome.kind() == v1::Outcome::FINISHED ? saved_from_us_.value_or(WallUs()) : WallUs();
    *outcome.mutable_end_time() = TimeUtil::MicrosecondsToTimestamp(std::max<int64_t>(1, end_us));
    outcome.set_part_start(start_);
    setting_->Note("process ends", assignment_.id(), outcome.kind(), level_);
    if (unsaved_ && outcome.kind() == v1::Outcome::FINISHED)
      setting_->ledger.Saved(host_->storage, assignment_, level_);
    setting_->ledger.Ended(assignment_.id());
    const auto ended = events_.ended;
    ended(std::move(outcome));  // *this is destroyed
  }

  Setting* const setting_;
  Timers* const timers_;
  const HostProfile* const host_;
  const int64_t* const clock_skew_us_;
  const v1::Assignment assignment_;
  const Events events_;
  const std::function<void(const v1::Assignment&)> keep_;
  int64_t level_;
  const int64_t end_level_;
  const int64_t start_us_;
  const v1::PartStart start_;
  int64_t fails_at_ = -1;
  int64_t hangs_at_ = -1;
  bool out_of_memory_ = false;
  bool reported_ = false;
  bool unsaved_ = false;  // its last level is in no checkpoint yet
  std::optional<int64_t> saved_from_us_;
  bool stopping_ = false;
  Why why_ = Why::kUnwanted;
  int waits_ = 0;
  int64_t log_bytes_ = 0;
  Timers::Id timer_ = 0;
  Timers::Id limit_timer_ = 0;
};

}  // namespace

SimTrainers::SimTrainers(Setting* setting, Timers* timers, const HostProfile* host,
                         const int64_t* clock_skew_us)
    : setting_(setting), timers_(timers), host_(host), clock_skew_us_(clock_skew_us) {}

SimTrainers::~SimTrainers() { *alive_ = false; }

void SimTrainers::Prepare(const v1::Assignment& assignment,
                          std::function<void(absl::StatusOr<Prepared>)> done) {
  timers_->After(microseconds(setting_->dice.Skewed(1, kMostPrepareUs)), [this, alive = alive_, assignment,
                                                                          done = std::move(done)] {
    if (!*alive) return;
    if (setting_->Strikes(Fault::kPrepareFails, setting_->profile.prepare_fails)) {
      done(absl::ResourceExhaustedError("no room for its folders"));
      return;
    }
    setting_->Note("prepared", assignment.id());
    setting_->ledger.Prepared(assignment);
    if (assignment.rank() == 0) setting_->ledger.TakeCheckpoint(host_->storage, assignment);
    done(Prepared{assignment.rank() == 0 ? kFirstPort + static_cast<int>(last_port_++ % kPorts) : 0});
  });
}

absl::StatusOr<std::unique_ptr<RankRun>> SimTrainers::Start(const v1::Assignment& assignment,
                                                            RankRun::Events events) {
  if (setting_->Strikes(Fault::kStartFails, setting_->profile.start_fails)) {
    return absl::InternalError("no process can be started");
  }
  const bool goes_on = GoesOn(assignment);
  if (GoesOnSuspended(assignment) && !goes_on) {
    if (suspended_.count({assignment.job_id(), assignment.trial()}) == 0)
      setting_->ledger.Fail(fmt::format("{} is to go on where no program of its trial was", assignment.id()));
    return absl::AbortedError("its program is gone");
  }
  const v1::PartStart start = goes_on ? v1::CONTINUED : (Forks(assignment) ? v1::FORKED : v1::NEW_PROCESS);
  setting_->Note(start == v1::CONTINUED ? "process goes on"
                 : start == v1::FORKED  ? "process is forked"
                                        : "process starts",
                 assignment.id(), assignment.resource_from(), assignment.resource_to());
  setting_->ledger.Started(host_->name, {host_->slots, host_->cpus, host_->gpus}, assignment);
  if (!MayRun(host_->projects, ProjectOfJob(assignment.job_id()))) {
    setting_->ledger.Fail(
        fmt::format("{} may not run {}, of job {}", host_->name, assignment.id(), assignment.job_id()));
  }
  if (!Reaches(assignment)) {
    setting_->ledger.Fail(
        fmt::format("{} has a rank on {}, which others of it cannot reach", assignment.id(), host_->name));
  }
  std::optional<int64_t> level = assignment.resource_from();
  if (!goes_on) level = setting_->ledger.Checkpoint(host_->storage, assignment);
  if (!level) {
    setting_->ledger.Fail(fmt::format("{} is to go on from {}, of which there is no checkpoint on {}",
                                      assignment.id(), assignment.resource_from(), host_->name));
  }
  return std::unique_ptr<RankRun>(new SimTrainer(
      setting_, timers_, host_, clock_skew_us_, assignment, level.value_or(assignment.resource_from()),
      std::move(events), start, [this](const v1::Assignment& part) { Keep(part); }));
}

bool SimTrainers::Reaches(const v1::Assignment& assignment) const {
  const std::vector<HostProfile>& hosts = setting_->profile.hosts;
  return std::all_of(assignment.peers().begin(), assignment.peers().end(), [&](const v1::Peer& peer) {
    return std::any_of(hosts.begin(), hosts.end(), [&](const HostProfile& host) {
      return host.name == peer.host() && host.loopback_of == host_->loopback_of;
    });
  });
}

bool SimTrainers::Forks(const v1::Assignment& assignment) {
  if (leaving_ || setting_->profile.warm_trainers == 0 || !MayFork(assignment)) return false;
  const auto parent = std::find_if(parents_.begin(), parents_.end(), [&assignment](const Parent& one) {
    return one.job == assignment.job_id();
  });
  if (parent != parents_.end()) return parent->ready;
  const int64_t number = ++last_program_;
  parents_.push_back({number, assignment.job_id()});
  timers_->After(microseconds(setting_->dice.Skewed(1, kMostImportUs)), [this, alive = alive_, number] {
    if (!*alive) return;
    for (Parent& one : parents_) one.ready = one.ready || one.number == number;
  });
  if (setting_->Strikes(Fault::kParentDies, setting_->profile.parent_dies)) {
    timers_->After(microseconds(setting_->dice.Skewed(1, kMostWaitUs)), [this, alive = alive_, number] {
      if (*alive) std::erase_if(parents_, [number](const Parent& one) { return one.number == number; });
    });
  }
  return false;
}

void SimTrainers::Keep(const v1::Assignment& part) {
  if (leaving_ || setting_->profile.warm_trainers == 0) return;
  if (!MayWaitAfter(part) && !MaySuspendAfter(part)) return;
  if (MaySuspendAfter(part)) suspended_.emplace(part.job_id(), part.trial());
  const int64_t number = ++last_program_;
  waiting_.push_back({number, part});
  if (waiting_.size() > setting_->profile.warm_trainers) waiting_.pop_front();
  if (!setting_->Strikes(Fault::kWaitingDies, setting_->profile.waiting_dies)) return;
  timers_->After(microseconds(setting_->dice.Skewed(1, kMostWaitUs)), [this, alive = alive_, number] {
    if (*alive)
      std::erase_if(waiting_, [number](const Program& program) { return program.number == number; });
  });
}

bool SimTrainers::GoesOn(const v1::Assignment& assignment) {
  const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&assignment](const Program& program) {
    return program.part.job_id() == assignment.job_id() && program.part.trial() == assignment.trial();
  });
  if (found == waiting_.end()) return false;
  const v1::Assignment part = found->part;
  waiting_.erase(found);
  if (!CanGoOn(part, assignment)) return false;
  if (part.resource_to() != assignment.resource_from() || part.attempt() + 1 != assignment.attempt()) {
    setting_->ledger.Fail(fmt::format("the program of {}, which has trained to {}, goes on with {} from {}",
                                      part.id(), part.resource_to(), assignment.id(),
                                      assignment.resource_from()));
  }
  return true;
}

std::vector<v1::WaitingTrainer> SimTrainers::Waiting() const {
  std::vector<v1::WaitingTrainer> list;
  for (const Program& program : waiting_) {
    v1::WaitingTrainer& entry = list.emplace_back();
    entry.set_job_id(program.part.job_id());
    entry.set_trial(program.part.trial());
    entry.set_resource(program.part.resource_to());
    entry.set_suspended(MaySuspendAfter(program.part));
  }
  for (const Parent& parent : parents_) list.emplace_back().set_job_id(parent.job);
  return list;
}

void SimTrainers::LetGo(const v1::WaitingTrainer& trainer) {
  std::erase_if(waiting_, [&trainer](const Program& program) {
    return program.part.job_id() == trainer.job_id() && program.part.trial() == trainer.trial() &&
           program.part.resource_to() == trainer.resource();
  });
  if (trainer.trial() == 0)
    std::erase_if(parents_, [&trainer](const Parent& parent) { return parent.job == trainer.job_id(); });
}

void SimTrainers::LetGoAll(bool leaves) {
  leaving_ = leaving_ || leaves;
  waiting_.clear();
  parents_.clear();
}

}  // namespace winnow
