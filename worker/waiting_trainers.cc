#include "worker/waiting_trainers.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>

#include "fmt/format.h"
#include "spdlog/spdlog.h"

namespace winnow {
namespace {

constexpr std::chrono::seconds kMemoryPause(1);
constexpr std::chrono::seconds kWaitingGrace(2);  // between SIGTERM and SIGKILL; it has saved already
// The part of the host's memory below which waiting programs are ended, one at a time.
constexpr double kLeastFree = 0.1;
constexpr double kGibibyte = 1 << 30;

// Returns the value of "NAME:   123 kB" in bytes; 0: not there.
int64_t BytesIn(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ':')
      return std::strtoll(line.c_str() + name.size() + 1, nullptr, 10) * 1024;
  }
  return 0;
}

bool IsShortOfMemory() {
  const int64_t all = BytesIn("/proc/meminfo", "MemTotal");
  const int64_t free = BytesIn("/proc/meminfo", "MemAvailable");
  return all > 0 && free > 0 && static_cast<double>(free) < kLeastFree * static_cast<double>(all);
}

// What is the same in two parts of a trial if one program can serve both.
v1::Assignment WithoutPart(v1::Assignment assignment) {
  for (const char* name : {"id", "attempt", "resource_from", "resource_to", "master_address", "master_port",
                           "peers", "keep_checkpoints", "max_attempt_time", "grace_period", "metrics"}) {
    assignment.GetReflection()->ClearField(&assignment, v1::Assignment::descriptor()->FindFieldByName(name));
  }
  return assignment;
}

}  // namespace

class WaitingTrainers::Trainer : public TrainerProcess::Listener {
 public:
  Trainer(WaitingTrainers* all, v1::Assignment assignment, std::unique_ptr<TrainerProcess> process)
      : all_(all),
        assignment_(std::move(assignment)),
        process_(std::move(process)),
        bytes_(AnonymousMemoryOf(process_->process().pid())) {
    process_->Listen(this);
  }

  const v1::Assignment& assignment() const { return assignment_; }
  TrainerProcess& process() { return *process_; }
  std::unique_ptr<TrainerProcess> Release() { return std::move(process_); }
  int64_t bytes() const { return bytes_; }
  std::string Name() const {
    return fmt::format("{} trial {} at {}", assignment_.job_id(), assignment_.trial(),
                       assignment_.resource_to());
  }

 private:
  void Output(Process::Stream /*stream*/, std::string_view /*bytes*/) override {}  // no part has written it
  void Waits(int64_t /*level*/) override {}
  void OverMemory() override { process_->process().Stop(std::chrono::seconds(0)); }
  void Gone(const ProcessEnd& /*end*/) override {
    spdlog::debug("the waiting trainer of {} has ended", Name());
    for (std::list<Trainer>* list : {&all_->trainers_, &all_->ending_}) {
      const auto found =
          std::find_if(list->begin(), list->end(), [this](const Trainer& other) { return &other == this; });
      if (found == list->end()) continue;
      list->erase(found);  // *this is destroyed
      return;
    }
  }

  WaitingTrainers* const all_;
  const v1::Assignment assignment_;
  std::unique_ptr<TrainerProcess> process_;
  const int64_t bytes_;
};

int64_t AnonymousMemoryOf(pid_t pid) { return BytesIn(fmt::format("/proc/{}/status", pid), "RssAnon"); }

WaitingTrainers::WaitingTrainers(EventLoop* loop, WarmLimits limits) : loop_(loop), limits_(limits) {}

WaitingTrainers::~WaitingTrainers() { loop_->Cancel(memory_timer_); }

bool MayWaitAfter(const v1::Assignment& part) {
  if (part.warm() == v1::TrainerSpec::OFF) return false;
  if (!part.gpus().empty() && part.warm() != v1::TrainerSpec::GPU) return false;
  return part.resumes() && part.resource_to() > 0 && part.world_size() <= 1 && !part.has_repeat();
}

bool CanGoOn(const v1::Assignment& before, const v1::Assignment& next) {
  const bool follows = before.attempt() + 1 == next.attempt() && before.resource_to() == next.resource_from();
  const bool has_more = next.resource_to() == 0 || next.resource_to() > next.resource_from();
  return follows && has_more && !next.has_restore() &&
         google::protobuf::util::MessageDifferencer::Equals(WithoutPart(before), WithoutPart(next));
}

bool WaitingTrainers::MayWait(const v1::Assignment& assignment) const {
  return limits_.trainers > 0 && !leaving_ && MayWaitAfter(assignment);
}

void WaitingTrainers::Keep(const v1::Assignment& assignment, std::unique_ptr<TrainerProcess> trainer) {
  trainers_.emplace_back(this, assignment, std::move(trainer));
  spdlog::debug("the trainer of {} waits", trainers_.back().Name());
  if (leaving_) return LetGoAll(true);
  double bytes = 0;
  for (const Trainer& waiting : trainers_) bytes += static_cast<double>(waiting.bytes());
  while (!trainers_.empty() && (static_cast<int>(trainers_.size()) > limits_.trainers ||
                                (limits_.memory_gib > 0 && bytes > limits_.memory_gib * kGibibyte))) {
    bytes -= static_cast<double>(trainers_.front().bytes());
    End(trainers_.begin());
  }
  if (memory_timer_ == 0 && !trainers_.empty())
    memory_timer_ = loop_->After(kMemoryPause, [this] { LookAtMemory(); });
}

void WaitingTrainers::LookAtMemory() {
  memory_timer_ = 0;
  if (trainers_.empty()) return;
  if (IsShortOfMemory()) {
    spdlog::info("the host is short of memory: the waiting trainer of {} is ended", trainers_.front().Name());
    KillOldest();
  }
  if (!trainers_.empty()) memory_timer_ = loop_->After(kMemoryPause, [this] { LookAtMemory(); });
}

std::unique_ptr<TrainerProcess> WaitingTrainers::Take(const v1::Assignment& assignment) {
  const auto found = std::find_if(trainers_.begin(), trainers_.end(), [&assignment](const Trainer& waiting) {
    return waiting.assignment().job_id() == assignment.job_id() &&
           waiting.assignment().trial() == assignment.trial();
  });
  if (found == trainers_.end()) return nullptr;
  if (!CanGoOn(found->assignment(), assignment)) {
    End(found);
    return nullptr;
  }
  std::unique_ptr<TrainerProcess> process = found->Release();
  trainers_.erase(found);
  return process;
}

std::vector<v1::WaitingTrainer> WaitingTrainers::List() const {
  std::vector<v1::WaitingTrainer> list;
  for (const Trainer& waiting : trainers_) {
    v1::WaitingTrainer& entry = list.emplace_back();
    entry.set_job_id(waiting.assignment().job_id());
    entry.set_trial(waiting.assignment().trial());
    entry.set_resource(waiting.assignment().resource_to());
  }
  return list;
}

void WaitingTrainers::LetGo(const v1::WaitingTrainer& trainer) {
  for (auto waiting = trainers_.begin(); waiting != trainers_.end(); ++waiting) {
    const v1::Assignment& assignment = waiting->assignment();
    if (assignment.job_id() != trainer.job_id() || assignment.trial() != trainer.trial() ||
        assignment.resource_to() != trainer.resource())
      continue;
    return End(waiting);
  }
}

void WaitingTrainers::LetGoAll(bool leaves) {
  leaving_ = leaving_ || leaves;
  while (!trainers_.empty()) End(trainers_.begin());
}

bool WaitingTrainers::KillOldest() {
  std::list<Trainer>& oldest = ending_.empty() ? trainers_ : ending_;
  if (oldest.empty()) return false;
  oldest.pop_front();
  return true;
}

void WaitingTrainers::End(std::list<Trainer>::iterator trainer) {
  trainer->process().End(kWaitingGrace);
  ending_.splice(ending_.end(), trainers_, trainer);
}

}  // namespace winnow
