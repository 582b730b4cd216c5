#include "worker/runs/trainer_parents.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/status_text.h"
#include "fmt/format.h"
#include "spdlog/spdlog.h"
#include "worker/host/process_tree.h"

namespace winnow {
namespace {

constexpr size_t kMostParents = 8;
constexpr int kMostFailures = 2;
constexpr std::chrono::seconds kParentsPause(1);  // between two looks at them and at the memory
// Waiting trainers end first, one a second.
constexpr int kPatientLooks = 3;
constexpr double kParentsGib = 1 << 30;

}  // namespace

bool MayFork(const v1::Assignment& assignment) {
  return assignment.warm() == v1::TrainerSpec::FORK && assignment.world_size() <= 1 &&
         !assignment.has_container() &&
         std::none_of(assignment.channels().begin(), assignment.channels().end(),
                      [](const v1::ChannelToPrepare& channel) { return channel.channel().mode() == "pipe"; });
}

TrainerParents::TrainerParents(EventLoop* loop, const TrainerPlace* place, WarmLimits limits)
    : loop_(loop), place_(place), limits_(limits) {}

TrainerParents::~TrainerParents() { loop_->Cancel(look_timer_); }

bool TrainerParents::May(const v1::Assignment& assignment) const {
  if (limits_.trainers == 0 || leaving_ || place_->users != nullptr || !MayFork(assignment)) return false;
  const auto failures = failures_.find(assignment.job_id());
  return failures == failures_.end() || failures->second < kMostFailures;
}

TrainerParent* TrainerParents::Find(const v1::Assignment& assignment,
                                    const std::map<std::string, std::string>& secrets) {
  if (!May(assignment)) return nullptr;
  const ParentKey key = ParentKeyOf(assignment, secrets);
  const auto found = std::find_if(parents_.begin(), parents_.end(), [&key](const auto& parent) {
    return parent->is_ready() && parent->key() == key;
  });
  if (found == parents_.end()) return nullptr;
  parents_.splice(parents_.end(), parents_, found);
  return found->get();
}

void TrainerParents::Offer(const v1::Assignment& assignment,
                           const std::map<std::string, std::string>& secrets,
                           std::shared_ptr<const void> needed) {
  if (!May(assignment)) return;
  const ParentKey key = ParentKeyOf(assignment, secrets);
  if (std::any_of(parents_.begin(), parents_.end(),
                  [&key](const auto& parent) { return parent->key() == key; }))
    return;
  if (limits_.memory_gib > 0 && static_cast<double>(bytes()) >= limits_.memory_gib * kParentsGib) return;
  auto self = std::make_shared<TrainerParent*>(nullptr);
  auto parent = TrainerParent::Start(loop_, *place_, assignment, secrets,
                                     [this, self](const std::string& words) { Gone(*self, words); });
  if (!parent.ok()) {
    ++failures_[assignment.job_id()];
    spdlog::warn("{}: no parent for its trials: {}", assignment.job_id(), MessageOf(parent.status()));
    return;
  }
  *self = parent->get();
  (*parent)->Hold(std::move(needed));
  parents_.push_back(*std::move(parent));
  spdlog::debug("{}: a parent for its trials is started", assignment.job_id());
  if (parents_.size() > kMostParents) parents_.pop_front();
  if (look_timer_ == 0) look_timer_ = loop_->After(kParentsPause, [this] { Look(); });
}

void TrainerParents::Gone(const TrainerParent* parent, const std::string& words) {
  const std::string& job = parent->key().job;
  if (parent->was_ready()) {
    failures_.erase(job);
  } else {
    ++failures_[job];
  }
  spdlog::info("{}: the parent of its trials has ended{}{}", job, words.empty() ? "" : ": ", words);
  std::erase_if(parents_, [parent](const auto& other) { return other.get() == parent; });
}

void TrainerParents::Forked(const v1::Assignment& assignment) { unanswered_.erase(assignment.job_id()); }

// The loop waited for an answer that did not come in time, and must not again and again.
void TrainerParents::Failed(const TrainerParent* parent, const v1::Assignment& assignment,
                            const absl::Status& why) {
  const bool silent = absl::IsDeadlineExceeded(why) && ++unanswered_[assignment.job_id()] >= kMostFailures;
  const bool refused = absl::IsFailedPrecondition(why) || silent;
  spdlog::warn("{} trial {}: the parent has forked no process ({}); one is started{}", assignment.job_id(),
               assignment.trial(), MessageOf(why), refused ? ", and so are those of the other trials" : "");
  if (refused) failures_[assignment.job_id()] = kMostFailures;
  std::erase_if(parents_, [parent](const auto& other) { return other.get() == parent; });
}

std::vector<v1::WaitingTrainer> TrainerParents::List() const {
  std::vector<v1::WaitingTrainer> list;
  for (const auto& parent : parents_) list.emplace_back().set_job_id(parent->key().job);
  return list;
}

void TrainerParents::LetGo(const v1::WaitingTrainer& parent) {
  if (parent.trial() != 0) return;
  failures_.erase(parent.job_id());
  unanswered_.erase(parent.job_id());
  std::erase_if(parents_, [&parent](const auto& other) { return other->key().job == parent.job_id(); });
}

void TrainerParents::LetGoAll(bool leaves) {
  leaving_ = leaving_ || leaves;
  parents_.clear();
  failures_.clear();
  unanswered_.clear();
}

int64_t TrainerParents::bytes() const {
  int64_t sum = 0;
  for (const auto& parent : parents_) sum += parent->bytes();
  return sum;
}

// Trials are started as usual until it is ready, so that nothing waits for it. One that is stopped at two
// looks is not awaited longer: the next trial that is started brings another.
void TrainerParents::GiveUpStopped() {
  std::set<const TrainerParent*> stopped;
  std::erase_if(parents_, [&](const auto& parent) {
    if (parent->was_ready() || !IsStopped(parent->pid())) return false;
    if (!stopped_.contains(parent.get())) {
      stopped.insert(parent.get());
      return false;
    }
    spdlog::warn("{}: the parent of its trials was stopped before it was ready, and is ended",
                 parent->key().job);
    return true;
  });
  stopped_ = std::move(stopped);
}

void TrainerParents::Look() {
  look_timer_ = 0;
  GiveUpStopped();
  short_looks_ = IsShortOfMemory() ? short_looks_ + 1 : 0;
  if (short_looks_ > kPatientLooks && !parents_.empty()) {
    spdlog::info("{}: the host is short of memory, and the parent of its trials is ended",
                 parents_.front()->key().job);
    parents_.pop_front();
  }
  if (!parents_.empty()) look_timer_ = loop_->After(kParentsPause, [this] { Look(); });
}

}  // namespace winnow
