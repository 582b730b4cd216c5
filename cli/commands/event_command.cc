#include "cli/commands/event_command.h"

#include <errno.h>
#include <fmt/core.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/spawn.h"
#include "cli/output/format.h"
#include "cli/output/progress.h"
#include "json/message_json.h"

namespace winnow::cli {
namespace {

// The text in a decision to end a job whose first trials have failed.
constexpr char kFirstFailuresRule[] = "limits.max_first_failures";

bool IsBetter(const v1::TuningJob& job, double value, const std::optional<double>& than) {
  if (!than) return true;
  return job.spec().objective().goal() == v1::MINIMIZE ? value < *than : value > *than;
}

std::string LowerState(v1::TuningJob::State state) {
  std::string text = v1::TuningJob::State_IsValid(state) ? v1::TuningJob::State_Name(state) : "UNKNOWN";
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// A file in memory with this text, at its begin; -1: there can be none.
int FileWith(const std::string& text) {
  const int file = memfd_create("event", MFD_CLOEXEC);
  if (file < 0) return -1;
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = write(file, text.data() + written, text.size() - written);
    if (count <= 0) break;
    written += static_cast<size_t>(count);
  }
  lseek(file, 0, SEEK_SET);
  return file;
}

}  // namespace

EventCommand::EventCommand(Session& session, std::string command, const v1::TuningJob& job)
    : session_(session), command_(std::move(command)) {
  if (job.has_best()) best_ = job.best().objective();
}

EventCommand::~EventCommand() {
  thread_.reset();
  PrintFailures();
}

void EventCommand::PrintFailures() {
  std::vector<std::string> failures;
  {
    MutexLock lock(mutex_);
    failures.swap(failures_);
  }
  for (const std::string& failure : failures) session_.err.Print(failure);
}

void EventCommand::Abandon() {
  thread_->Clear();
  MutexLock lock(mutex_);
  abandoned_ = true;
  if (running_ > 0) kill(-running_, SIGTERM);
}

void EventCommand::Look(const v1::TuningJob& job, const v1::TuningJobEvent* after) {
  if (command_.empty()) return;
  PrintFailures();
  if (job.has_best() && best_ != job.best().objective()) {
    const double value = job.best().objective();
    if (IsBetter(job, value, best_)) {
      Tell(v1::Event::BEST_IMPROVED, job,
           fmt::format("Trial {} has {} {}.", job.best().trial(), job.spec().objective().metric(), value));
    }
    best_ = value;
  }
  if (after != nullptr && after->kind() == "completion_met" &&
      after->text().find(kFirstFailuresRule) != std::string::npos) {
    Tell(v1::Event::JOB_FAILING_EARLY, job, after->text());
  }
  if (HasEnded(job) && !ended_) {
    ended_ = true;
    Tell(v1::Event::JOB_ENDED, job, job.state_reason());
  }
}

void EventCommand::Tell(v1::Event::Kind kind, const v1::TuningJob& job, const std::string& text) {
  v1::Event event;
  event.set_kind(kind);
  event.mutable_time()->set_seconds(absl::ToUnixSeconds(absl::Now()));
  event.set_job_id(job.id());
  event.set_owner(job.owner());
  event.set_state(LowerState(job.state()));
  event.set_metric(job.spec().objective().metric());
  if (job.has_best()) {
    event.set_trial(job.best().trial());
    event.set_value(job.best().objective());
  }
  event.set_text(text);
  thread_->Post([this, event = std::move(event)] { Run(event); });
}

void EventCommand::Run(const v1::Event& event) {
  const std::string kind = v1::Event::Kind_Name(event.kind());
  std::vector<std::string> environment =
      EnvironmentWithout([](std::string_view entry) { return entry.starts_with("WINNOW_TOKEN="); });
  environment.push_back("WINNOW_EVENT=" + kind);
  environment.push_back("WINNOW_JOB=" + event.job_id());
  environment.push_back("WINNOW_STATE=" + event.state());
  if (event.trial() > 0) {
    environment.push_back(fmt::format("WINNOW_TRIAL={}", event.trial()));
    environment.push_back(fmt::format("WINNOW_VALUE={}", event.value()));
  }
  const int input = FileWith(MessageJson(event, JsonLayout::kOneLine) + "\n");
  pid_t pid = 0;
  int error = input < 0 ? errno : 0;
  {
    MutexLock lock(mutex_);
    if (error == 0 && !abandoned_) {
      error = Spawn({"/bin/sh", "-c", command_}, environment, {input, STDERR_FILENO, STDERR_FILENO}, &pid);
    }
    running_ = pid;
  }
  if (input >= 0) close(input);
  std::string failure;
  if (error != 0) {
    failure = fmt::format("could not be started: {}", strerror(error));
  } else if (pid > 0) {
    // It is not reaped before running_ is 0, so that Abandon ends no other process.
    siginfo_t info;
    while (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    MutexLock lock(mutex_);
    running_ = 0;
    int status = 0;
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {
      failure = fmt::format("ended with exit code {}", WEXITSTATUS(status));
    } else if (WIFSIGNALED(status)) {
      failure = fmt::format("was ended by signal {}", WTERMSIG(status));
    }
  }
  MutexLock lock(mutex_);
  if (!failure.empty() && !abandoned_)
    failures_.push_back(fmt::format("winnow: the command of --exec for {} {}\n", kind, failure));
}

}  // namespace winnow::cli
