#include "worker/gpu_health.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "fmt/format.h"
#include "spdlog/spdlog.h"
#include "worker/runs/trainer_environment.h"

namespace winnow {
namespace {

constexpr size_t kMostFaultText = 200;

}  // namespace

std::vector<v1::Gpu> BeforeCheck(const GpuCheck& check, std::vector<v1::Gpu> gpus) {
  for (v1::Gpu& gpu : gpus) gpu.set_fault(check.command.empty() ? "" : kUnchecked);
  return gpus;
}

GpuHealth::GpuHealth(EventLoop* loop, GpuCheck check, std::vector<v1::Gpu> gpus,
                     std::function<void(const std::vector<v1::Gpu>&)> changed)
    : loop_(loop),
      check_(std::move(check)),
      gpus_(std::move(gpus)),
      changed_(std::move(changed)),
      hung_(gpus_.size()) {
  if (!check_.command.empty() && !gpus_.empty())
    next_timer_ = loop_->At(loop_->Now(), [this] { CheckNext(); });
}

GpuHealth::~GpuHealth() {
  for (const EventLoop::Id timer : {next_timer_, hang_timer_}) loop_->Cancel(timer);
}

void GpuHealth::CheckNext() {
  next_timer_ = 0;
  if (hung_[next_] != nullptr) return GoOn();
  output_.clear();
  ProcessSpec spec;
  spec.command = {"/bin/sh", "-c", check_.command};
  spec.environment = OwnEnvironment();
  for (const auto& [name, value] : GpuVariables({gpus_[next_].id()})) {
    std::erase_if(spec.environment,
                  [prefix = name + "="](const std::string& entry) { return entry.starts_with(prefix); });
    spec.environment.push_back(name + "=" + value);
  }
  auto process =
      Process::Start(loop_, spec,
                     {[this, device = next_](Process::Stream, std::string_view bytes) {
                        if (hung_[device] != nullptr) return;
                        output_ += bytes.substr(0, kMostFaultText - std::min(kMostFaultText, output_.size()));
                      },
                      [this, device = next_](const ProcessEnd& end) {
                        hung_[device] == nullptr ? Checked(end) : hung_[device].reset();
                      }});
  if (!process.ok()) {
    output_ = "the health command cannot be run: " + std::string(process.status().message());
    Checked({1, 0});
    return;
  }
  process_ = *std::move(process);
  hang_timer_ = loop_->After(check_.patience, [this] { Hangs(); });
}

// A program in uninterruptible sleep is not gone soon.
void GpuHealth::Hangs() {
  hang_timer_ = 0;
  process_->Stop(std::chrono::seconds(0));
  hung_[next_] = std::move(process_);
  SetFault(fmt::format("the health command did not end within {} s",
                       std::chrono::duration<double>(check_.patience).count()));
  GoOn();
}

void GpuHealth::Checked(const ProcessEnd& end) {
  loop_->Cancel(std::exchange(hang_timer_, 0));
  process_.reset();
  const std::string line = output_.substr(0, output_.find_first_of("\r\n"));
  if (end.exit_code == 0 && end.signal == 0) {
    SetFault("");
  } else if (!line.empty()) {
    SetFault(line);
  } else {
    SetFault(end.signal != 0 ? fmt::format("the health command was killed by signal {}", end.signal)
                             : fmt::format("the health command failed with exit code {}", end.exit_code));
  }
  GoOn();
}

void GpuHealth::GoOn() {
  next_ = (next_ + 1) % gpus_.size();
  next_timer_ =
      loop_->After(next_ == 0 ? check_.interval : std::chrono::milliseconds(0), [this] { CheckNext(); });
}

void GpuHealth::SetFault(const std::string& fault) {
  v1::Gpu& gpu = gpus_[next_];
  if (gpu.fault() == fault) return;
  const bool first = gpu.fault() == kUnchecked;
  gpu.set_fault(fault);
  if (!fault.empty()) {
    spdlog::warn("GPU {} gets no trials: {}", gpu.id(), fault);
  } else if (!first) {
    spdlog::info("GPU {} is healthy again", gpu.id());
  }
  changed_(gpus_);
}

}  // namespace winnow
