#include "tests/simulation/sim_person.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace winnow {
namespace {

constexpr int64_t kLargest = 1000;  // of the parameters

v1::ChangeTuningJobRequest ChangeOf(const std::string& id) {
  v1::ChangeTuningJobRequest request;
  request.set_id(id);
  request.set_reason("simulated");
  return request;
}

}  // namespace

void SimPerson::Begin() {
  const std::vector<JobProfile>& jobs = setting_->profile.jobs;
  for (size_t job = 0; job < jobs.size(); ++job) {
    continuations_[job].left = jobs[job].continuations;
    for (const int64_t at_us : jobs[job].changes_us) setting_->time.At(at_us, [this, job] { Change(job); });
  }
}

void SimPerson::Heal() {
  for (size_t job = 0; job < ids_->size(); ++job) {
    if (!setting_->profile.jobs[job].changes_us.empty()) Resume(job);
  }
}

bool SimPerson::ContinuesOne() {
  bool waits = false;
  for (size_t job = 0; job < ids_->size(); ++job) {
    Continuations& of = continuations_[job];
    if (of.left > 0 && !of.asked) {
      --of.left;
      of.asked = true;
      setting_->time.After(1, [this, job] { Continue(job); });
    }
    waits |= of.asked;
  }
  return waits;
}

bool SimPerson::Ask(Engine& engine, const v1::ChangeTuningJobRequest& request) {
  const absl::Status status = engine.ChangeJob(request, {});
  setting_->Note("a job is changed", request.id(), request.change_case(),
                 static_cast<int64_t>(status.code()));
  // Aborted: the disk is full, and an error has rolled the batch back.
  if (!status.ok() && !absl::IsInvalidArgument(status) && !absl::IsFailedPrecondition(status) &&
      !absl::IsAborted(status))
    setting_->ledger.Fail(fmt::format("{} cannot be changed: {}", request.id(), status.ToString()));
  changes_ += status.ok() ? 1 : 0;
  return status.ok();
}

void SimPerson::Change(size_t job) {
  const std::string& id = (*ids_)[job];
  if (id.empty() || setting_->healed) return;
  server_->Use([this, id](Engine& engine) { ChangeNow(engine, id); }, [](const absl::Status&) {});
}

void SimPerson::ChangeNow(Engine& engine, const std::string& id) {
  const OpenJob* job = engine.jobs().Find(id);
  if (job == nullptr) return;
  const JobState& state = job->state;
  Dice& dice = setting_->dice;
  v1::ChangeTuningJobRequest request = ChangeOf(id);
  switch (dice.Between(0, 9)) {
    case 0:
      request.set_pause(true);
      break;
    case 1:
    case 2:
      request.set_resume(true);
      break;
    case 3: {
      v1::ChangedLimits& limits = *request.mutable_limits();
      // Never without a limit, which is 0.
      if (dice.Chance(0.5))
        limits.set_max_trials(std::max<int64_t>(1, state.next_trial() - 1 + dice.Between(0, 4)));
      if (dice.Chance(0.5)) limits.set_max_parallel_trials(dice.Between(0, 3));
      const int64_t units = state.totals().resource + state.totals().reserved_resource;
      if (dice.Chance(0.3)) limits.set_max_total_resource(units + dice.Between(-2, 20));
      break;
    }
    case 4:
      request.set_stop_trial(dice.Between(1, std::max<int64_t>(1, state.next_trial() - 1)));
      break;
    case 5:
      request.mutable_scheduling()->set_priority(static_cast<int32_t>(dice.Between(-1, 1)));
      break;
    case 6:
    case 7: {
      v1::ChangedRange& range = *request.mutable_range();
      range.set_parameter(dice.Chance(0.5) ? "a" : "b");
      const int64_t low = dice.Between(-kLargest, kLargest);
      if (dice.Chance(0.7)) range.set_min(std::to_string(low));
      if (dice.Chance(0.7)) range.set_max(std::to_string(low + dice.Between(-10, kLargest)));
      break;
    }
    case 8: {
      const int64_t trial = dice.Between(1, std::max<int64_t>(1, state.next_trial() - 1));
      dice.Chance(0.7) ? request.set_keep_trial(trial) : request.set_release_trial(trial);
      break;
    }
    default:
      for (const char* name : {"a", "b"})
        (*request.mutable_enqueue()->mutable_hyperparameters())[name] =
            std::to_string(dice.Between(0, kLargest));
  }
  Ask(engine, request);
}

void SimPerson::Resume(size_t job) {
  const std::string& id = (*ids_)[job];
  auto over = std::make_shared<bool>(false);
  if (!id.empty()) {
    server_->Use(
        [this, id](Engine& engine) {
          const OpenJob* open = engine.jobs().Find(id);
          if (open == nullptr || !open->state.paused()) return;
          v1::ChangeTuningJobRequest request = ChangeOf(id);
          request.set_resume(true);
          Ask(engine, request);
        },
        [over](const absl::Status& committed) { *over = committed.ok(); });
  }
  setting_->time.After(kResendUs, [this, job, over] {
    if (!*over) Resume(job);
  });
}

// Asks once: if no answer comes, the job may have been continued.
void SimPerson::Continue(size_t job) {
  server_->Use(
      [this, id = (*ids_)[job], job](Engine& engine) {
        Dice& dice = setting_->dice;
        const v1::LimitsSpec& submitted = setting_->profile.jobs[job].spec.limits();
        v1::ChangeTuningJobRequest request = ChangeOf(id);
        v1::ChangedLimits& limits = *request.mutable_continue_with();
        limits.set_max_trials(submitted.max_trials() + dice.Between(1, 8));
        limits.set_max_total_resource(dice.Chance(0.5) ? 0 : dice.Between(10, 60));
        if (!Ask(engine, request) || !engine.jobs().Find(id)->state.paused()) return;
        request.set_resume(true);
        Ask(engine, request);
      },
      [](const absl::Status&) {});
  setting_->time.After(kResendUs, [this, job] { continuations_[job].asked = false; });
}

}  // namespace winnow
