#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "server/engine/coordinator.h"
#include "server/engine/hub.h"
#include "server/webhooks/outbox.h"

namespace winnow {

// Sends what waits for webhooks, a thread for each of them, so that one that hangs delays no other. It can be
// killed at any point: what was not recorded as delivered is sent again by the next server.
class WebhookSender {
 public:
  // Begins, also with no webhook, for what waited for others. `coordinator` and `hub` outlive it.
  WebhookSender(Coordinator& coordinator, Hub& hub, std::shared_ptr<WebhookOutbox> outbox);
  ~WebhookSender();

  // Nothing is sent any more; what is being sent now is abandoned.
  void Stop();

 private:
  void Tidy();
  void Run(const DeclaredWebhook& webhook);
  // Sends what is due. The time until it is to be called again, in microseconds; -1: when something is
  // recorded.
  int64_t SendDue(const DeclaredWebhook& webhook);

  Coordinator& coordinator_;
  Hub& hub_;
  const std::shared_ptr<WebhookOutbox> outbox_;
  int64_t subscription_ = 0;
  std::atomic<bool> stopping_ = false;
  Mutex mutex_;
  CondVar wake_;
  int64_t recorded_ ABSL_GUARDED_BY(mutex_) = 0;  // increases when deliveries were recorded
  std::vector<std::thread> threads_;
};

}  // namespace winnow
