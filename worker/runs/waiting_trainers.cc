#include "worker/runs/waiting_trainers.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "base/mutant.h"
#include "fmt/format.h"
#include "spdlog/spdlog.h"
#include "worker/host/process_tree.h"

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

// What is the same in two parts of a trial if one program can serve both, as bytes: protobuf's comparison of
// messages takes as long as a short part.
std::string WithoutPart(v1::Assignment assignment) {
  for (const char* name :
       {"id", "attempt", "resource_from", "resource_to", "master_address", "master_port", "peers",
        "keep_checkpoints", "take_checkpoint", "max_attempt_time", "grace_period", "metrics", "warm"}) {
    assignment.GetReflection()->ClearField(&assignment, v1::Assignment::descriptor()->FindFieldByName(name));
  }
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    assignment.SerializeToCodedStream(&coded);
  }
  return bytes;
}

// A forked process shares memory with its parent.
int64_t PrivateMemoryOf(pid_t pid) {
  return BytesIn(fmt::format("/proc/{}/smaps_rollup", pid), "Private_Dirty");
}

// What the program takes at most. A suspended program may be a shell whose child is the trainer. All programs
// are not looked through for those that wait, which would take longer than some of their parts.
int64_t MostMemoryOf(TrainerProcess& trainer) {
  const pid_t pid = trainer.program().value_or(trainer.process().pid());
  if (!trainer.suspended()) return AnonymousMemoryOf(pid);
  int64_t bytes = 0;
  for (const pid_t process : ProcessTree(pid, trainer.mark()).Find(AllProcesses()))
    bytes += AnonymousMemoryOf(process);
  return bytes;
}

}  // namespace

class WaitingTrainers::Trainer : public TrainerProcess::Listener {
 public:
  Trainer(WaitingTrainers* all, v1::Assignment assignment, std::unique_ptr<TrainerProcess> process)
      : all_(all), assignment_(std::move(assignment)), process_(std::move(process)) {
    process_->Listen(this);
  }

  const v1::Assignment& assignment() const { return assignment_; }
  bool suspended() const { return process_->suspended(); }
  TrainerProcess& process() { return *process_; }
  std::unique_ptr<TrainerProcess> Release() { return std::move(process_); }
  int64_t bytes() const { return bytes_.value_or(0); }
  void Measure() {
    if (!bytes_.has_value()) bytes_ = MostMemoryOf(*process_);
  }
  // Leaves out what a forked program shares with its parent, which takes the kernel longer.
  void MeasureOwn() {
    if (!process_->is_forked() || std::exchange(is_own_, true)) return;
    bytes_ = PrivateMemoryOf(process_->program().value_or(process_->process().pid()));
  }
  std::string Name() const {
    return fmt::format("{} trial {} at {}", assignment_.job_id(), assignment_.trial(),
                       assignment_.resource_to());
  }

 private:
  void Output(Process::Stream /*stream*/, std::string_view /*bytes*/) override {}  // no part has written it
  void Waits(int64_t /*level*/) override {}
  void Saves(int64_t /*level*/) override {}
  void CanFork() override {}
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
  std::optional<int64_t> bytes_;  // of its memory, once it was measured
  bool is_own_ = false;           // they are its own
};

bool IsShortOfMemory() {
  const int64_t all = BytesIn("/proc/meminfo", "MemTotal");
  const int64_t free = BytesIn("/proc/meminfo", "MemAvailable");
  return all > 0 && free > 0 && static_cast<double>(free) < kLeastFree * static_cast<double>(all);
}

// "SIZE RESIDENT SHARED …" in pages; what is shared is that of files and of shared memory.
int64_t AnonymousMemoryOf(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/statm", pid));
  int64_t size = 0, resident = 0, shared = 0;
  return file >> size >> resident >> shared ? (resident - shared) * sysconf(_SC_PAGESIZE) : 0;
}

WaitingTrainers::WaitingTrainers(EventLoop* loop, WarmLimits limits) : loop_(loop), limits_(limits) {}

WaitingTrainers::~WaitingTrainers() {
  loop_->Cancel(memory_timer_);
  loop_->Cancel(limit_timer_);
}

bool MayWaitAfter(const v1::Assignment& part) {
  if (part.warm() == v1::TrainerSpec::OFF) return false;
  if (!part.gpus().empty() && part.warm() != v1::TrainerSpec::GPU) return false;
  // A pipe belongs to one part.
  const auto piped = [](const auto& channel) { return channel.channel().mode() == "pipe"; };
  if (std::any_of(part.channels().begin(), part.channels().end(), piped)) return false;
  return part.resumes() && part.resource_to() > 0 && part.world_size() <= 1 && !part.has_repeat();
}

bool MaySuspendAfter(const v1::Assignment& part) {
  return part.warm() == v1::TrainerSpec::SUSPEND && !part.resumes() && part.resource_to() > 0 &&
         part.world_size() <= 1 && !part.has_repeat() && part.gpus().empty() && !part.has_container() &&
         part.metrics_file().empty();
}

bool GoesOnSuspended(const v1::Assignment& part) { return !part.resumes() && part.resource_from() > 0; }

bool CanGoOn(const v1::Assignment& before, const v1::Assignment& next) {
  const bool follows =
      (before.attempt() + 1 == next.attempt() && before.resource_to() == next.resource_from()) ||
      WINNOW_MUTANT("a suspended program goes on from any level");
  const bool has_more = next.resource_to() == 0 || next.resource_to() > next.resource_from();
  return follows && has_more && !next.has_restore() && WithoutPart(before) == WithoutPart(next);
}

bool WaitingTrainers::MayWait(const v1::Assignment& assignment) const {
  return limits_.trainers > 0 && !leaving_ && (MayWaitAfter(assignment) || MaySuspendAfter(assignment));
}

void WaitingTrainers::Keep(const v1::Assignment& assignment, std::unique_ptr<TrainerProcess> trainer,
                           int64_t others) {
  trainers_.emplace_back(this, assignment, std::move(trainer));
  spdlog::debug("the trainer of {} {}", trainers_.back().Name(),
                trainers_.back().suspended() ? "is suspended" : "waits");
  if (leaving_) return LetGoAll(true);
  while (static_cast<int>(trainers_.size()) > limits_.trainers) End(BestSpared());
  // Not before what follows from the end of the part, because measuring takes as long as a short part.
  others_ = others;
  if (limit_timer_ == 0) limit_timer_ = loop_->After(std::chrono::seconds(0), [this] { KeepMemoryLimit(); });
}

void WaitingTrainers::KeepMemoryLimit() {
  limit_timer_ = 0;
  const double most = limits_.memory_gib * kGibibyte;
  const auto sum = [this](void (Trainer::*measure)()) {
    auto bytes = static_cast<double>(others_);
    for (Trainer& waiting : trainers_) {
      (waiting.*measure)();
      bytes += static_cast<double>(waiting.bytes());
    }
    return bytes;
  };
  double bytes = most > 0 ? sum(&Trainer::Measure) : 0;
  if (bytes > most) bytes = sum(&Trainer::MeasureOwn);
  while (!trainers_.empty() && bytes > most) {
    const auto spared = BestSpared();
    bytes -= static_cast<double>(spared->bytes());
    End(spared);
  }
  if (memory_timer_ == 0 && !trainers_.empty())
    memory_timer_ = loop_->After(kMemoryPause, [this] { LookAtMemory(); });
}

void WaitingTrainers::LookAtMemory() {
  memory_timer_ = 0;
  if (trainers_.empty()) return;
  if (IsShortOfMemory()) {
    spdlog::info("the host is short of memory: the waiting trainer of {} is ended", BestSpared()->Name());
    KillOne();
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
    entry.set_suspended(waiting.suspended());
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

bool WaitingTrainers::KillOne() {
  if (!ending_.empty()) {
    ending_.pop_front();
    return true;
  }
  if (trainers_.empty()) return false;
  trainers_.erase(BestSpared());
  return true;
}

// What a suspended program has trained is lost with it.
std::list<WaitingTrainers::Trainer>::iterator WaitingTrainers::BestSpared() {
  for (const v1::WaitingTrainer& spare : spare_) {
    const auto found = std::find_if(trainers_.begin(), trainers_.end(), [&spare](const Trainer& waiting) {
      const v1::Assignment& part = waiting.assignment();
      return !waiting.suspended() && part.job_id() == spare.job_id() && part.trial() == spare.trial() &&
             part.resource_to() == spare.resource();
    });
    if (found != trainers_.end()) return found;
  }
  const auto loss = [](const Trainer& waiting) {
    return waiting.suspended() ? waiting.assignment().resource_to() : 0;
  };
  return std::min_element(
      trainers_.begin(), trainers_.end(),
      [&loss](const Trainer& one, const Trainer& other) { return loss(one) < loss(other); });
}

// A suspended program is killed: it has nothing to save from which it could resume, and must not train on.
void WaitingTrainers::End(std::list<Trainer>::iterator trainer) {
  if (trainer->suspended()) {
    trainer->process().process().Stop(std::chrono::seconds(0));
  } else {
    trainer->process().End(kWaitingGrace);
  }
  ending_.splice(ending_.end(), trainers_, trainer);
}

}  // namespace winnow
