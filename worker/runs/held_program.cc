#include "worker/runs/held_program.h"

#include "base/status_text.h"
#include "spdlog/spdlog.h"
#include "worker/host/process_tree.h"
#include "worker/runs/secrets.h"

namespace winnow {
namespace {

// More output before the first level is not kept: the program ends, and another is started.
constexpr size_t kMostWrittenEarly = 1 << 20;

}  // namespace

std::unique_ptr<HeldProgram> HeldProgram::Fork(EventLoop* loop, const TrainerPlace& place,
                                               const v1::Assignment& assignment, const TrainerSeat& seat,
                                               bool may_wait, TrainerParents* parents) {
  const auto secrets = ReadSecrets(place.secrets, place.worker, assignment);
  if (!secrets.ok()) return nullptr;  // its start will tell
  std::unique_ptr<HeldProgram> held(new HeldProgram);
  auto process = TrainerProcess::Start(loop, place, assignment, seat, *secrets, nullptr, may_wait, parents,
                                       held.get(), TrainerProcess::Turn::kAwaited);
  if (!process.ok()) {
    spdlog::debug("{}: not forked before there is a slot: {}", assignment.id(), MessageOf(process.status()));
    return nullptr;
  }
  held->process_ = *std::move(process);
  return held;
}

std::unique_ptr<TrainerProcess> HeldProgram::Begin(const v1::Assignment& assignment, const TrainerSeat& seat,
                                                   const std::map<std::string, std::string>& secrets,
                                                   TrainerProcess::Listener* listener, Written* written) {
  if (ended_ || !process_->Arrive() || IsStopped(process_->process().pid()) ||
      !process_->HasSecrets(secrets) || !process_->Begin(assignment, seat))
    return nullptr;
  process_->Listen(listener);
  *written = std::move(written_);
  return std::move(process_);
}

void HeldProgram::Output(Process::Stream stream, std::string_view bytes) {
  written_bytes_ += bytes.size();
  if (written_bytes_ > kMostWrittenEarly) return OverMemory();
  written_.emplace_back(stream, bytes);
}

// It was not told to train: it is no program to go on with.
void HeldProgram::Waits(int64_t /*level*/) { OverMemory(); }
void HeldProgram::Saves(int64_t /*level*/) { OverMemory(); }

void HeldProgram::OverMemory() {
  ended_ = true;
  process_->process().Stop(std::chrono::seconds(0));
}

void HeldProgram::Gone(const ProcessEnd& /*end*/) { ended_ = true; }

}  // namespace winnow
