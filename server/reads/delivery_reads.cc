#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/time_util.h>

#include <limits>

#include "base/utf8.h"
#include "server/reads/paging.h"
#include "server/reads/reads.h"
#include "store/tables/deliveries.h"

namespace winnow {
namespace {

using google::protobuf::util::TimeUtil;

v1::Delivery::State DeliveryStateMessage(DeliveryState state) {
  switch (state) {
    case DeliveryState::kWaiting:
      return v1::Delivery::WAITING;
    case DeliveryState::kDelivered:
      return v1::Delivery::DELIVERED;
    case DeliveryState::kGivenUp:
      return v1::Delivery::GIVEN_UP;
  }
  return v1::Delivery::STATE_UNSPECIFIED;
}

// Absent for STATE_UNSPECIFIED. INVALID_ARGUMENT for a number without a name.
absl::StatusOr<std::optional<DeliveryState>> DeliveryStateOf(v1::Delivery::State state) {
  if (state == v1::Delivery::STATE_UNSPECIFIED) return std::nullopt;
  for (const DeliveryState each :
       {DeliveryState::kWaiting, DeliveryState::kDelivered, DeliveryState::kGivenUp}) {
    if (DeliveryStateMessage(each) == state) return each;
  }
  return absl::InvalidArgumentError(
      fmt::format("state: {} is none; expected WAITING, DELIVERED or GIVEN_UP", static_cast<int>(state)));
}

void ToMessage(const DeliveryRow& row, v1::Delivery& delivery) {
  delivery.set_number(row.number);
  delivery.set_webhook(row.webhook);
  (void)google::protobuf::util::JsonStringToMessage(row.event, delivery.mutable_event());
  delivery.set_state(DeliveryStateMessage(row.state));
  delivery.set_attempts(static_cast<int32_t>(row.attempts));
  *delivery.mutable_create_time() = TimeUtil::MicrosecondsToTimestamp(row.create_us);
  if (row.end_us == 0) {
    *delivery.mutable_next_time() = TimeUtil::MicrosecondsToTimestamp(row.next_us);
  } else {
    *delivery.mutable_end_time() = TimeUtil::MicrosecondsToTimestamp(row.end_us);
  }
  delivery.set_answer(ValidUtf8(row.answer));  // older versions kept the bytes that a program printed
}

}  // namespace

absl::StatusOr<v1::ListDeliveriesResponse> Reads::ListDeliveries(const v1::ListDeliveriesRequest& request) {
  constexpr int64_t kDeliveries = 100, kMostDeliveries = 1'000;
  const absl::StatusOr<int64_t> size = PageSize(request.page_size(), kDeliveries, kMostDeliveries);
  if (!size.ok()) return size.status();
  const auto state = DeliveryStateOf(request.state());
  if (!state.ok()) return state.status();
  const DeliveryFilter filter{request.webhook(), request.job_id(), *state};
  const std::string kind = fmt::format("deliveries {} {} {} {}", filter.webhook.size(), filter.webhook,
                                       filter.job, static_cast<int>(request.state()));
  const auto page = ReadPageToken(request.page_token(), kind, 1);
  if (!page.ok()) return page.status();
  const absl::StatusOr<int64_t> before = PageNumber(*page, 0, std::numeric_limits<int64_t>::max());
  if (!before.ok()) return before.status();
  const absl::StatusOr<std::vector<DeliveryRow>> rows =
      DeliveryTable(store_.database()).List(filter, *before, *size + 1);
  if (!rows.ok()) return rows.status();
  v1::ListDeliveriesResponse response;
  for (const DeliveryRow& row : *rows) {
    if (response.deliveries_size() == *size) {
      const int64_t last = response.deliveries(response.deliveries_size() - 1).number();
      response.set_next_page_token(MakePageToken(kind, {std::to_string(last)}));
      break;
    }
    ToMessage(row, *response.add_deliveries());
  }
  return response;
}

}  // namespace winnow
