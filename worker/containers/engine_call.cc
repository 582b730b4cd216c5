#include "worker/containers/engine_call.h"

#include <algorithm>
#include <utility>

namespace winnow {
namespace {

constexpr size_t kKeptBytes = 8 << 10;
constexpr size_t kToldLineBytes = 500;

void Keep(std::string_view bytes, std::string* tail) {
  *tail += bytes.substr(bytes.size() - std::min(bytes.size(), kKeptBytes));
  if (tail->size() > kKeptBytes) tail->erase(0, tail->size() - kKeptBytes);
}

}  // namespace

absl::StatusOr<std::unique_ptr<EngineCall>> EngineCall::Start(
    EventLoop* loop, std::vector<std::string> command, const std::vector<std::string>& environment,
    std::chrono::seconds patience, std::function<void(std::string_view)> told, Done done) {
  std::unique_ptr<EngineCall> call(new EngineCall(loop));
  EngineCall* const self = call.get();
  ProcessSpec spec;
  spec.command = std::move(command);
  spec.environment = environment;
  auto process = Process::Start(
      loop, spec,
      {[self, told = std::move(told)](Process::Stream stream, std::string_view bytes) {
         std::string& tail = stream == Process::kStdout ? self->result_.output : self->result_.errors;
         Keep(bytes, &tail);
         if (told) told(LastLine(tail));
       },
       [self, loop, done = std::move(done)](const ProcessEnd& end) {
         self->result_.exit_code = end.exit_code;
         // Not within the process's own callback, which its deletion would end.
         loop->Post([self, alive = self->alive_, done] {
           if (!*alive) return;
           const Result result = std::move(self->result_);
           done(result);
         });
       }});
  if (!process.ok()) return process.status();
  call->process_ = *std::move(process);
  call->timer_ = loop->After(patience, [self] {
    self->timer_ = 0;
    self->result_.out_of_time = true;
    self->process_->Stop(std::chrono::seconds(0));
  });
  return call;
}

EngineCall::~EngineCall() {
  *alive_ = false;
  loop_->Cancel(timer_);
}

std::string LastLine(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t last = text.find_last_not_of(kBlank);
  if (last == std::string_view::npos) return "";
  text = text.substr(0, last + 1);
  const size_t begin = text.find_last_of("\r\n");
  if (begin != std::string_view::npos) text.remove_prefix(begin + 1);
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  return std::string(text.substr(0, kToldLineBytes));
}

}  // namespace winnow
