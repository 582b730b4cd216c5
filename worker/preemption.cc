#include "worker/preemption.h"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "fmt/format.h"
#include "spdlog/spdlog.h"
#include "worker/runs/trainer_environment.h"

namespace winnow {
namespace {

// A check for a file is cheap, and some providers give only 30 s of notice.
constexpr std::chrono::milliseconds kFileInterval(1'000);
constexpr size_t kMostText = 200;                     // characters of the reason
constexpr size_t kMostHung = 10;                      // commands that cannot be killed
constexpr int kCannotExecute = 126, kNotFound = 127;  // exit codes of a shell

std::string FirstLine(std::string_view text) {
  const size_t end = std::min(text.find_first_of("\r\n"), kMostText);
  return std::string(text.substr(0, end));
}

}  // namespace

PreemptionWatch::PreemptionWatch(EventLoop* loop, PreemptionSource source,
                                 std::function<void(std::string)> notice)
    : loop_(loop), source_(std::move(source)), notice_(std::move(notice)) {
  if (!source_.file.empty()) file_timer_ = loop_->At(loop_->Now(), [this] { LookForFile(); });
  if (!source_.command.empty()) command_timer_ = loop_->At(loop_->Now(), [this] { RunCommand(); });
}

PreemptionWatch::~PreemptionWatch() {
  for (const EventLoop::Id timer : {file_timer_, command_timer_, hang_timer_}) loop_->Cancel(timer);
}

void PreemptionWatch::LookForFile() {
  file_timer_ = 0;
  std::error_code error;
  if (!std::filesystem::exists(source_.file, error)) {
    file_timer_ = loop_->After(std::min(kFileInterval, source_.interval), [this] { LookForFile(); });
    return;
  }
  std::string text;
  if (std::filesystem::is_regular_file(source_.file, error)) std::getline(std::ifstream(source_.file), text);
  Notice(source_.file.string(), text);
}

void PreemptionWatch::RunCommand() {
  command_timer_ = 0;
  if (noticed_) return;
  if (hung_.size() >= kMostHung) {
    command_timer_ = loop_->After(source_.interval, [this] { RunCommand(); });
    return;
  }
  output_.clear();
  ProcessSpec spec;
  spec.command = {"/bin/sh", "-c", source_.command};
  spec.environment = OwnEnvironment();
  const int64_t run = ++run_;
  auto process = Process::Start(loop_, spec,
                                {[this, run](Process::Stream stream, std::string_view bytes) {
                                   if (stream == Process::kStdout && run == run_)
                                     output_ +=
                                         bytes.substr(0, kMostText - std::min(kMostText, output_.size()));
                                 },
                                 [this, run](const ProcessEnd& end) {
                                   if (hung_.erase(run) == 0) CommandEnded(end);
                                 }});
  if (!process.ok()) {
    CommandEnded({kNotFound, 0});
    return;
  }
  process_ = *std::move(process);
  hang_timer_ = loop_->After(source_.patience, [this] { CommandHangs(); });
}

// A program in uninterruptible sleep is not gone soon.
void PreemptionWatch::CommandHangs() {
  hang_timer_ = 0;
  spdlog::warn("the preemption command hangs; killing it: {}", source_.command);
  process_->Stop(std::chrono::seconds(0));
  hung_[run_] = std::move(process_);
  command_timer_ = loop_->After(source_.interval, [this] { RunCommand(); });
}

void PreemptionWatch::CommandEnded(const ProcessEnd& end) {
  loop_->Cancel(std::exchange(hang_timer_, 0));
  process_.reset();
  if (end.exit_code == 0) {
    Notice("its command", output_);
    return;
  }
  const bool cannot_run = end.exit_code == kCannotExecute || end.exit_code == kNotFound;
  if (cannot_run && !std::exchange(complained_, true)) {
    spdlog::warn("the preemption command cannot be run (exit code {}), so it gives no notice: {}",
                 end.exit_code, source_.command);
  }
  command_timer_ = loop_->After(source_.interval, [this] { RunCommand(); });
}

void PreemptionWatch::Notice(const std::string& source, const std::string& text) {
  if (std::exchange(noticed_, true)) return;
  const std::string line = FirstLine(text);
  notice_(line.empty() ? fmt::format("preempted: notice by {}", source) : fmt::format("preempted: {}", line));
}

}  // namespace winnow
