#pragma once

#include <cstdint>
#include <string>

#include "cli/session/session.h"

namespace winnow::cli {

// Prints the server's webhooks and what waits for them.
Exit ListWebhooks(Session& session);

struct DeliveriesOptions {
  std::string webhook;                                          // "": all
  std::string job;                                              // "": all
  v1::Delivery::State state = v1::Delivery::STATE_UNSPECIFIED;  // all
  int64_t limit = 100;
};
// Prints the delivery log, the newest first.
Exit ListDeliveries(Session& session, const DeliveriesOptions& options);

// Has the server send the event TEST to a webhook.
Exit TestWebhook(Session& session, const std::string& webhook);

}  // namespace winnow::cli
