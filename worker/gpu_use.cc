#include "worker/gpu_use.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "base/gpus.h"
#include "worker/runs/trainer_environment.h"

namespace winnow {
namespace {

constexpr size_t kMostUseText = 1 << 20;

}  // namespace

GpuUseMeter::GpuUseMeter(EventLoop* loop, std::vector<v1::Gpu> gpus, std::chrono::milliseconds interval,
                         std::function<void(const std::vector<v1::Gpu>&)> measured,
                         std::chrono::milliseconds patience)
    : loop_(loop),
      gpus_(std::move(gpus)),
      interval_(interval),
      measured_(std::move(measured)),
      patience_(patience) {
  if (!gpus_.empty()) next_timer_ = loop_->At(loop_->Now(), [this] { Ask(); });
}

GpuUseMeter::~GpuUseMeter() {
  for (const EventLoop::Id timer : {next_timer_, hang_timer_}) loop_->Cancel(timer);
}

void GpuUseMeter::Ask() {
  next_timer_ = 0;
  output_.clear();
  ProcessSpec spec;
  spec.command = {"nvidia-smi", "--query-gpu=index,uuid,utilization.gpu,memory.used,memory.total",
                  "--format=csv,noheader,nounits"};
  if (asks_rocm_) spec.command = {"rocm-smi", "--showuse", "--showmemuse", "--csv"};
  spec.environment = OwnEnvironment();
  auto process =
      Process::Start(loop_, spec,
                     {[this](Process::Stream stream, std::string_view bytes) {
                        if (stream == Process::kStdout)
                          output_ += bytes.substr(0, kMostUseText - std::min(kMostUseText, output_.size()));
                      },
                      [this](const ProcessEnd& end) { Answered(end); }});
  if (!process.ok()) {
    const bool transient = absl::IsResourceExhausted(process.status());
    if (!transient && std::exchange(asks_rocm_, true)) return;  // there is neither
    next_timer_ = loop_->After(transient ? interval_ : std::chrono::milliseconds(0), [this] { Ask(); });
    return;
  }
  process_ = *std::move(process);
  hang_timer_ = loop_->After(patience_, [this] {
    hang_timer_ = 0;
    process_->Stop(std::chrono::seconds(0));
    Tell("");  // it may be in uninterruptible sleep; another would hang, too
  });
}

void GpuUseMeter::Answered(const ProcessEnd& end) {
  loop_->Cancel(std::exchange(hang_timer_, 0));
  process_.reset();
  next_timer_ = loop_->After(interval_, [this] { Ask(); });
  Tell(end.exit_code == 0 ? output_ : "");
}

void GpuUseMeter::Tell(const std::string& answer) {
  const std::vector<GpuUse> uses = asks_rocm_ ? ReadRocmSmiUse(answer) : ReadNvidiaSmiUse(answer);
  for (v1::Gpu& gpu : gpus_) {
    gpu.clear_utilization();
    gpu.clear_memory();
    for (const GpuUse& use : uses) {
      if (gpu.id() != use.id && (use.uuid.empty() || gpu.id() != use.uuid)) continue;
      if (use.utilization) gpu.set_utilization(*use.utilization);
      if (use.memory) gpu.set_memory(*use.memory);
    }
  }
  measured_(gpus_);
}

}  // namespace winnow
