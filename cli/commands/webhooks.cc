#include "cli/commands/webhooks.h"

#include <fmt/core.h>

#include <utility>

#include "cli/output/format.h"
#include "cli/output/json.h"
#include "cli/output/table.h"
#include "cli/output/text.h"

namespace winnow::cli {
namespace {

std::string KindsText(const v1::Webhook& webhook) {
  std::string text;
  for (const int kind : webhook.events()) {
    text += (text.empty() ? "" : ",") + (v1::Event::Kind_IsValid(kind)
                                             ? v1::Event::Kind_Name(static_cast<v1::Event::Kind>(kind))
                                             : std::string("UNKNOWN"));
  }
  return text;
}

Table::Cell DeliveryStateCell(const v1::Delivery& delivery) {
  switch (delivery.state()) {
    case v1::Delivery::DELIVERED:
      return {"DELIVERED", Style::kGood};
    case v1::Delivery::GIVEN_UP:
      return {"GIVEN_UP", Style::kBad};
    case v1::Delivery::WAITING:
      return {"WAITING", Style::kPlain};
    default:
      return {"UNKNOWN", Style::kDim};
  }
}

std::string SubjectText(const v1::Event& event) {
  if (!event.job_id().empty()) return event.job_id();
  if (!event.worker().empty()) return "worker " + event.worker();
  if (!event.person().empty()) return fmt::format("{} in project {}", event.person(), event.project());
  if (!event.project().empty()) return "project " + event.project();
  return event.pool().empty() ? "" : "pool " + event.pool();
}

}  // namespace

Exit ListWebhooks(Session& session) {
  const auto list = session.client().Webhooks();
  if (!list.ok()) return list.status();
  if (PrintsJson(session, *list, list->webhooks())) return kSuccess;
  if (list->webhooks().empty()) {
    session.out.Print("This server has no webhooks. Declare them with: winnow-server --webhooks FILE\n");
    return kSuccess;
  }
  using Align = Table::Align;
  Table table({{"WEBHOOK"},
               {"ADDRESS"},
               {"JOBS", Align::kLeft, 1},
               {"WAITING", Align::kRight},
               {"SINCE", Align::kLeft, 2},
               {"EVENTS", Align::kLeft, 3}});
  for (const v1::Webhook& webhook : list->webhooks()) {
    table.Add({{webhook.name(), Style::kBold},
               {webhook.address()},
               {webhook.jobs().empty() ? "all" : webhook.jobs()},
               {std::to_string(webhook.waiting()), webhook.waiting() == 0 ? Style::kPlain : Style::kBad},
               {webhook.has_oldest_waiting_time() ? TimeText(webhook.oldest_waiting_time()) : ""},
               {KindsText(webhook)}});
  }
  session.out.Print(table.Text(session.out, 0, session.Hint("webhooks --output json")));
  return kSuccess;
}

Exit ListDeliveries(Session& session, const DeliveriesOptions& options) {
  v1::ListDeliveriesRequest request;
  request.set_webhook(options.webhook);
  request.set_job_id(options.job);
  request.set_state(options.state);
  const auto list = session.client().Deliveries(std::move(request), options.limit);
  if (!list.ok()) return list.status();
  if (PrintsJson(session, *list, list->deliveries())) return kSuccess;
  if (list->deliveries().empty()) {
    session.out.Print("There are no such deliveries.\n");
    return kSuccess;
  }
  using Align = Table::Align;
  Table table({{"DELIVERY", Align::kRight},
               {"TIME"},
               {"WEBHOOK"},
               {"EVENT"},
               {"ABOUT"},
               {"STATE"},
               {"ATTEMPTS", Align::kRight, 1},
               {"NEXT", Align::kLeft, 2},
               {"ANSWER"}});
  for (const v1::Delivery& delivery : list->deliveries()) {
    table.Add(
        {{std::to_string(delivery.number()), Style::kBold},
         {TimeText(delivery.create_time())},
         {delivery.webhook()},
         {v1::Event::Kind_IsValid(delivery.event().kind()) ? v1::Event::Kind_Name(delivery.event().kind())
                                                           : std::string("UNKNOWN")},
         {SubjectText(delivery.event())},
         DeliveryStateCell(delivery),
         {std::to_string(delivery.attempts())},
         {delivery.has_next_time() && delivery.attempts() > 0 ? TimeText(delivery.next_time()) : ""},
         {delivery.answer()}});
  }
  session.out.Print(table.Text(session.out, 0, session.Hint("webhooks deliveries --output json")));
  if (!list->next_page_token().empty()) session.err.Print("There are older deliveries; see --limit.\n");
  return kSuccess;
}

Exit TestWebhook(Session& session, const std::string& webhook) {
  const auto delivery = session.client().TestWebhook(webhook);
  if (!delivery.ok()) return delivery.status();
  session.out.Print(session.output == Output::kJson
                        ? ToJson(*delivery)
                        : fmt::format("Delivery {} is recorded. See what came of it with: {}\n",
                                      delivery->number(), session.Hint("webhooks deliveries")));
  return kSuccess;
}

}  // namespace winnow::cli
